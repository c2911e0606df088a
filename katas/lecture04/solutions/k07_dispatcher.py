"""The part of a dispatcher that runs in a call."""

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


# The keys of this kata, from the lowest priority to the highest.
PRIORITY: Final = (
    *("Undefined", "CPU", "CUDA", "BackendSelect", "Python", "Negative", "ADInplaceOrView"),
    *("AutogradCPU", "AutogradCUDA", "AutocastCPU"),
)
Keys = frozenset[str]


def highest(keys: Keys) -> str:
    """Return the key of the highest priority; "Undefined" if there is none. Given."""
    return max(keys, key=PRIORITY.index, default="Undefined")


def below(keys: Keys, key: str) -> Keys:
    """Return the keys of a set that have a lower priority. Given."""
    return frozenset(each for each in keys if PRIORITY.index(each) < PRIORITY.index(key))


def fallthrough(*_: Any) -> Any:
    """Mark a key to skip, in place of a kernel. Given."""
    raise AssertionError("a fallthrough kernel is not called")


@dataclass(frozen=True)
class Tensor:
    """A stand-in for a tensor: its dispatch keys and a value. Given."""

    keys: Keys
    value: Any = None


class Tls(threading.local):
    """The keys that each thread adds to its calls, and removes from them. Given."""

    def __init__(self) -> None:
        self.included: Keys = frozenset()
        self.excluded: Keys = frozenset()


tls: Final = Tls()


@contextmanager
def include(*keys: str) -> Iterator[None]:
    """Add keys to ``tls.included`` inside the block; then restore the previous keys."""
    before = tls.included
    tls.included = before.union(keys)
    try:
        yield
    finally:
        tls.included = before


@contextmanager
def exclude(*keys: str) -> Iterator[None]:
    """Add keys to ``tls.excluded`` inside the block; then restore the previous keys."""
    before = tls.excluded
    tls.excluded = before.union(keys)
    try:
        yield
    finally:
        tls.excluded = before


@dataclass
class Operator:
    """An operator: its kernels by key, each called as ``kernel(keys, *args)``."""

    name: str
    kernels: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def redispatch(self, keys: Keys, *args: Any) -> Any:
        """Call the kernel of the highest of `keys` that does not fall through; return its result.

        Call ``kernel(keys, *args)`` with the keys that are left, including the kernel's own:
        it may redispatch below that key. If there is no kernel, raise NotImplementedError with the
        operator's name and the key.
        """
        left = frozenset(key for key in keys if self.kernels.get(key) is not fallthrough)
        kernel = self.kernels.get(highest(left))
        if kernel is None:
            raise NotImplementedError(f"{self.name} has no kernel for {highest(left)}")
        return kernel(left, *args)

    def call(self, *args: Any) -> Any:
        """Call the operator; arguments are tensors, lists that contain tensors, or other values.

        A key that the thread both includes and excludes is excluded.
        """
        keys = tls.included
        for arg in args:
            for each in arg if isinstance(arg, list) else [arg]:
                if isinstance(each, Tensor):
                    keys |= each.keys
        return self.redispatch(keys - tls.excluded, *args)
