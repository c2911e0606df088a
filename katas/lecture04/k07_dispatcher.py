"""Follow a call through the dispatcher: past autograd down to the CPU.

    x.add(1)      the keys of x            CPU, ADInplaceOrView, AutogradCPU, AutocastCPU
                  the thread includes      + BackendSelect, ...
                  the thread excludes      - AutocastCPU, ...
                  what falls through       - ADInplaceOrView, ...
                  the highest left         AutogradCPU: its kernel records, and redispatches
                                           CPU: its kernel adds

That is what PyTorch's dispatcher does on every call. Write it, about 22 lines:

1. `include` and `exclude`: what a mode changes in its thread, and restores.
2. `Operator.redispatch`: drop what falls through, run the kernel of the highest key left.
3. `Operator.call`: take the union, include, exclude; then continue as in 2.

Begin with the third step for a single tensor and no mode: given the second, it is one line.
Afterwards find your third step in ``aten/src/ATen/core/dispatch/DispatchKeyExtractor.h``
(``computeDispatchKeySet``); the wheel has it below ``torch/include/ATen``.

Real life differs: a set is one integer (k05), and the table is computed when a kernel is registered
(k06), so a call looks up one row. Only a call drops fallthrough keys: ``redispatch`` relies on
that, and fails an internal assert if a fallthrough key is the highest.
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
    # TODO
    raise NotImplementedError("include")
    yield


@contextmanager
def exclude(*keys: str) -> Iterator[None]:
    """Add keys to ``tls.excluded`` inside the block; then restore the previous keys."""
    # TODO
    raise NotImplementedError("exclude")
    yield


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
        # TODO
        raise NotImplementedError("Operator.redispatch")

    def call(self, *args: Any) -> Any:
        """Call the operator; arguments are tensors, lists that contain tensors, or other values.

        A key that the thread both includes and excludes is excluded.
        """
        # TODO
        raise NotImplementedError("Operator.call")
