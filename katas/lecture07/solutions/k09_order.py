"""Perf: find out which batch to copy first."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Sequence


class Batch(NamedTuple):
    """How long it takes to copy a batch, and how long a kernel works on it."""

    copy: int
    kernel: int


def finish(batches: Sequence[Batch], order: Sequence[int]) -> int:
    """Return when the last kernel ends. Given."""
    copied = done = 0
    for i in order:
        copied += batches[i].copy
        done = max(done, copied) + batches[i].kernel
    return done


def best_order(batches: Sequence[Batch]) -> list[int]:
    """Return the indices of all batches, in an order with the earliest `finish`."""

    def key(i: int) -> tuple[bool, int]:
        copy, kernel = batches[i]
        # First those whose copy is shorter than their kernel, shortest copy first; then the others.
        return (False, copy) if copy < kernel else (True, -kernel)

    return sorted(range(len(batches)), key=key)
