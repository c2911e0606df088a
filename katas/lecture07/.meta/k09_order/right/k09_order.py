"""Perf: two lists, one sorted by the copies, the other by the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Sequence


class Batch(NamedTuple):
    """How long a batch is copied, and how long a kernel works on it."""

    copy: int
    kernel: int


def finish(batches: Sequence[Batch], order: Sequence[int]) -> int:
    """Return when the last kernel ends."""
    copied = done = 0
    for i in order:
        copied += batches[i].copy
        done = max(done, copied) + batches[i].kernel
    return done


def best_order(batches: Sequence[Batch]) -> list[int]:
    """Return the indices of all batches."""
    first = [i for i, batch in enumerate(batches) if batch.copy <= batch.kernel]
    last = [i for i, batch in enumerate(batches) if batch.copy > batch.kernel]
    first.sort(key=lambda i: batches[i].copy)
    last.sort(key=lambda i: batches[i].kernel, reverse=True)
    return first + last
