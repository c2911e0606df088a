"""A dispatcher: which kernel runs when an operator is called."""

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
        return cls(sum(1 << PRIORITY.index(key) for key in set(keys)))

    def __contains__(self, key: str) -> bool:
        return bool(self.bits >> PRIORITY.index(key) & 1)

    def __or__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits | other.bits)

    def __sub__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits & ~other.bits)

    @property
    def highest(self) -> str:
        """The key of the highest priority; "Undefined" if the set is empty."""
        return PRIORITY[self.bits.bit_length() - 1] if self.bits else "Undefined"

    def below(self, key: str) -> KeySet:
        """Return the keys of this set that have a lower priority than `key`."""
        return KeySet(self.bits & ((1 << PRIORITY.index(key)) - 1))


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
    before = tls.included
    tls.included = before | KeySet.of(*keys)
    try:
        yield
    finally:
        tls.included = before


@contextmanager
def exclude(*keys: str) -> Iterator[None]:
    """Take keys from every call of this thread, as long as the block lasts."""
    before = tls.excluded
    tls.excluded = before | KeySet.of(*keys)
    try:
        yield
    finally:
        tls.excluded = before


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

    def lookup(self, key: str) -> tuple[Callable[..., Any] | None, str]:  # noqa: PLR0911 - rules
        """Return the kernel that the table has for this key, and where it comes from."""
        if key in self.kernels:
            return self.kernels[key], "kernel"
        explicit = self.kernels.get("CompositeExplicitAutograd")
        if explicit and key in ALIASES["CompositeExplicitAutograd"]:
            return explicit, "default backend kernel"
        implicit = self.kernels.get("CompositeImplicitAutograd")
        if implicit and key in ALIASES["CompositeImplicitAutograd"]:
            has_backend = not self.kernels.keys().isdisjoint(AUTOGRAD.get(key, ()))
            if has_backend and key == "AutogradOther":
                return ambiguous, "ambiguous autogradother"
            # A decomposition would be differentiated through kernels that have no derivative.
            if not has_backend and not explicit:
                return implicit, "math kernel"
        if "Autograd" in self.kernels and key in ALIASES["Autograd"]:
            return self.kernels["Autograd"], "autograd kernel"
        if key in self.dispatcher.fallbacks:
            fallback = self.dispatcher.fallbacks[key]
            if fallback is fallthrough:
                return fallthrough, "backend fallback"
            return (lambda *args: fallback(self, *args)), "backend fallback"
        return None, "missing"

    def call(self, *args: Any) -> Any:
        """Run the kernel of the highest key that arguments and thread ask for."""
        keys = KeySet()
        for arg in args:
            for each in arg if isinstance(arg, list) else [arg]:
                if isinstance(each, Tensor):
                    keys |= each.keys
        return self.redispatch((keys | tls.included) - tls.excluded, *args)

    def redispatch(self, keys: KeySet, *args: Any) -> Any:
        """Run the kernel of the highest key of `keys` that is not passed over.

        Raises
        ------
        NotImplementedError
            If there is none for that key.
        """
        passed = [key for key in PRIORITY if self.lookup(key)[0] is fallthrough]
        keys -= KeySet.of(*passed)
        kernel, _ = self.lookup(keys.highest)
        if kernel is None:
            raise NotImplementedError(f"{self.name} has no kernel for {keys.highest}")
        return kernel(keys, *args)
