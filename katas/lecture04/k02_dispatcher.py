"""A dispatcher: which kernel runs when an operator is called.

Every tensor carries a set of dispatch keys. A call unites the sets of its tensors, lets the
thread's state add and take away keys, and runs the kernel of the highest key that is left. A
kernel does its part (record for autograd, cast, log) and calls the operator again with the keys
below its own. Kernels get the set as their first argument.

1. ``PRIORITY``: the 20 keys of BACKENDS, AUTOGRAD and OTHERS from the lowest to the highest, as in
   ``c10/core/DispatchKey.h`` (backends in the order of ``enum class BackendComponent``; the keys
   whose name has a backend in it stand where that functionality stands; dense before sparse).
2. ``KeySet``: `bits` has bit i if ``PRIORITY[i]`` is in the set. ``of`` makes one; ``in``, ``|``
   and ``-`` are those of sets; ``highest`` is the name of the highest key, "Undefined" if there
   is none; ``below(key)`` holds the keys of this set that stand lower than `key`.
3. ``include(*keys)`` and ``exclude(*keys)``: context managers that add keys to
   ``tls.included`` or ``tls.excluded`` of this thread, and put back what was there before, even
   after an exception.
4. ``Operator.lookup(key)``: the kernel in the table for a key, and where it comes from. The first
   that applies:
   a. a kernel registered for this very key: "kernel";
   b. one for CompositeExplicitAutograd, if ALIASES has the key there: "default backend kernel";
   c. one for CompositeImplicitAutograd, likewise. For an autograd key it stands back if any of that
      key's backends (AUTOGRAD) has a kernel of its own, or if there is one for
      CompositeExplicitAutograd: then the search goes on with d. But AutogradOther with such a
      backend kernel of its own gives `ambiguous`, "ambiguous autogradother". Else: "math kernel";
   d. one for Autograd, if ALIASES has the key there: "autograd kernel";
   e. the dispatcher's fallback for the key, as a kernel that calls ``fallback(operator, keys,
      *args)`` (a registered `fallthrough` stays `fallthrough`): "backend fallback";
   f. ``(None, "missing")``.
5. ``Operator.call(*args)``: unite the `keys` of every Tensor among the arguments and in lists
   among them, add what is included, then take away what is excluded (exclusion wins), then go on
   as redispatch does.
6. ``Operator.redispatch(keys, *args)``: take away the keys for which `lookup` gives
   `fallthrough`, run the kernel of the highest key left, ``kernel(keys left, *args)``, and return
   its result. Without a kernel raise NotImplementedError with a message that contains the
   operator's name and that key.

An empty set is no error: "Undefined" is looked up as a key like any other. Out of scope: schemas,
speed (the real table is computed on registration), a bit for each functionality and each backend
apart, other alias keys. About 60 lines. In PyTorch: ``c10/core/DispatchKeySet.h``
(``highestPriorityTypeId``), ``aten/src/ATen/core/dispatch/OperatorEntry.cpp``
(``computeDispatchTableEntryWithDebug``), ``aten/src/ATen/core/dispatch/DispatchKeyExtractor.h``
(``computeDispatchKeySet``) and ``c10/core/impl/LocalDispatchKeySet.h``
(``IncludeDispatchKeyGuard``).
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any
from typing import Final


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


BACKENDS: Final = ("CPU", "CUDA", "Meta", "SparseCPU")
# The keys of autograd, each with the backends whose tensors have it.
AUTOGRAD: Final = {
    "AutogradCPU": {"CPU"},
    "AutogradCUDA": {"CUDA"},
    "AutogradMeta": {"Meta"},
    "AutogradOther": {"SparseCPU"},
}
OTHERS: Final = (
    "ADInplaceOrView",
    "AutocastCPU",
    "AutocastCUDA",
    "BackendSelect",
    "Conjugate",
    "FuncTorchBatched",
    "Functionalize",
    "Negative",
    "Python",
    "PythonDispatcher",
    "PythonTLSSnapshot",
    "ZeroTensor",
)
# What a kernel for an alias key is a kernel for.
ALIASES: Final = {
    "CompositeExplicitAutograd": {"Undefined", *BACKENDS},
    "CompositeImplicitAutograd": {"Undefined", *BACKENDS, *AUTOGRAD},
    "Autograd": {*AUTOGRAD},
}


def fallthrough(*_: Any) -> Any:
    """Register this in the place of a kernel: the key shall be passed over. Never called."""
    raise AssertionError("a fallthrough kernel is no kernel")


def ambiguous(*_: Any) -> Any:
    """Stands where a kernel for AutogradOther could mean two things. Given."""
    raise RuntimeError("ambiguous: register a kernel for AutogradOther")


# TODO: the keys of BACKENDS, AUTOGRAD and OTHERS, from the lowest to the highest.
PRIORITY: Final[tuple[str, ...]] = ()


@dataclass(frozen=True)
class KeySet:
    """A set of dispatch keys in one integer."""

    bits: int = 0

    @classmethod
    def of(cls, *keys: str) -> KeySet:
        """Return the set of these keys."""
        # TODO
        raise NotImplementedError("KeySet.of")

    def __contains__(self, key: str) -> bool:
        # TODO
        raise NotImplementedError("KeySet.__contains__")

    def __or__(self, other: KeySet) -> KeySet:
        # TODO
        raise NotImplementedError("KeySet.__or__")

    def __sub__(self, other: KeySet) -> KeySet:
        # TODO
        raise NotImplementedError("KeySet.__sub__")

    @property
    def highest(self) -> str:
        """The key of the highest priority; "Undefined" if the set is empty."""
        # TODO
        raise NotImplementedError("KeySet.highest")

    def below(self, key: str) -> KeySet:
        """Return the keys of this set that have a lower priority than `key`."""
        # TODO
        raise NotImplementedError("KeySet.below")


@dataclass(frozen=True)
class Tensor:
    """A stand-in for a tensor: its dispatch keys and a value. Given."""

    keys: KeySet
    value: Any = None


class Tls(threading.local):
    """The state of a thread that adds keys to its calls and takes keys away. Given."""

    def __init__(self) -> None:
        self.included = KeySet()
        self.excluded = KeySet()


tls: Final = Tls()


@contextmanager
def include(*keys: str) -> Iterator[None]:
    """Add keys to every call of this thread, as long as the block lasts."""
    # TODO
    raise NotImplementedError("include")
    yield


@contextmanager
def exclude(*keys: str) -> Iterator[None]:
    """Take keys from every call of this thread, as long as the block lasts."""
    # TODO
    raise NotImplementedError("exclude")
    yield


@dataclass
class Dispatcher:
    """The ``fallback(operator, keys, *args)`` of each key, shared by all operators. Given."""

    fallbacks: dict[str, Callable[..., Any]] = field(default_factory=dict)


@dataclass
class Operator:
    """An operator and its kernels, ``kernel(keys, *args)``, by key; alias keys too."""

    name: str
    dispatcher: Dispatcher = field(default_factory=Dispatcher)
    kernels: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def lookup(self, key: str) -> tuple[Callable[..., Any] | None, str]:
        """Return the kernel that the table has for this key, and where it comes from."""
        # TODO: go down the list of the brief; each rule returns or leaves it to the next.
        raise NotImplementedError("Operator.lookup")

    def call(self, *args: Any) -> Any:
        """Run the kernel of the highest key that arguments and thread ask for."""
        # TODO
        raise NotImplementedError("Operator.call")

    def redispatch(self, keys: KeySet, *args: Any) -> Any:
        """Run the kernel of the highest key of `keys` that is not passed over.

        Raises
        ------
        NotImplementedError
            If there is none for that key.
        """
        # TODO
        raise NotImplementedError("Operator.redispatch")
