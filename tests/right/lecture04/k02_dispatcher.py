"""The same dispatcher with the table as data, sets as loops and one guard for both."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field
from functools import partial
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


# From the lowest to the highest: backends, then what is decided once per call on top of them.
PRIORITY: Final[tuple[str, ...]] = (
    "CPU",
    "CUDA",
    "Meta",
    "SparseCPU",
    "BackendSelect",
    "Python",
    "Functionalize",
    "Conjugate",
    "Negative",
    "ZeroTensor",
    "ADInplaceOrView",
    "AutogradOther",
    "AutogradCPU",
    "AutogradCUDA",
    "AutogradMeta",
    "AutocastCPU",
    "AutocastCUDA",
    "FuncTorchBatched",
    "PythonTLSSnapshot",
    "PythonDispatcher",
)


@dataclass(frozen=True)
class KeySet:
    """A set of dispatch keys in one integer."""

    bits: int = 0

    @classmethod
    def of(cls, *keys: str) -> KeySet:
        """Return the set of these keys."""
        bits = 0
        for key in keys:
            bits |= 1 << PRIORITY.index(key)
        return cls(bits)

    def __contains__(self, key: str) -> bool:
        return bool(self.bits >> PRIORITY.index(key) & 1)

    def __or__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits | other.bits)

    def __sub__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits & ~other.bits)

    @property
    def highest(self) -> str:
        """The key of the highest priority; "Undefined" if the set is empty."""
        return next((key for key in reversed(PRIORITY) if key in self), "Undefined")

    def below(self, key: str) -> KeySet:
        """Return the keys of this set that have a lower priority than `key`."""
        return KeySet.of(*(each for each in PRIORITY[: PRIORITY.index(key)] if each in self))


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
def _changed(name: str, keys: tuple[str, ...]) -> Iterator[None]:
    before = getattr(tls, name)
    setattr(tls, name, before | KeySet.of(*keys))
    try:
        yield
    finally:
        setattr(tls, name, before)


@contextmanager
def include(*keys: str) -> Iterator[None]:
    """Add keys to every call of this thread, as long as the block lasts."""
    with _changed("included", keys):
        yield


@contextmanager
def exclude(*keys: str) -> Iterator[None]:
    """Take keys from every call of this thread, as long as the block lasts."""
    with _changed("excluded", keys):
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
        has = self.kernels.keys()
        own = bool(has & AUTOGRAD.get(key, set()))
        shared = own or "CompositeExplicitAutograd" in has
        rules = (
            (key, "kernel", True),
            ("CompositeExplicitAutograd", "default backend kernel", True),
            (
                "CompositeImplicitAutograd",
                "ambiguous autogradother",
                own and key == "AutogradOther",
            ),
            ("CompositeImplicitAutograd", "math kernel", not shared),
            ("Autograd", "autograd kernel", True),
        )
        for registered, origin, applies in rules:
            covers = registered == key or key in ALIASES[registered]
            if registered in has and covers and applies:
                is_ambiguous = origin.startswith("ambiguous")
                return (ambiguous if is_ambiguous else self.kernels[registered]), origin
        fallback = self.dispatcher.fallbacks.get(key)
        if fallback is None:
            return None, "missing"
        kernel = fallback if fallback is fallthrough else partial(fallback, self)
        return kernel, "backend fallback"

    def call(self, *args: Any) -> Any:
        """Run the kernel of the highest key that arguments and thread ask for."""
        keys = tls.included
        waiting = list(args)
        while waiting:
            arg = waiting.pop()
            if isinstance(arg, Tensor):
                keys |= arg.keys
            elif isinstance(arg, list):
                waiting += arg
        return self.redispatch(keys - tls.excluded, *args)

    def redispatch(self, keys: KeySet, *args: Any) -> Any:
        """Run the kernel of the highest key of `keys` that is not passed over.

        Raises
        ------
        NotImplementedError
            If there is none for that key.
        """
        for key in PRIORITY:
            if key in keys and self.lookup(key)[0] is fallthrough:
                keys -= KeySet.of(key)
        kernel = self.lookup(keys.highest)[0]
        if kernel is None:
            raise NotImplementedError(f"no kernel of {self.name} for {keys.highest}")
        return kernel(keys, *args)
