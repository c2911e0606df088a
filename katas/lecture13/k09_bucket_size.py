"""Perf: find how many buckets to split the gradients into.

Gradients become ready during backward. One large bucket starts when backward has ended; a thousand
small ones pay the latency a thousand times. 400 MB, 100 ms of backward, 10 GB/s, 1 ms latency:

    1 bucket        141 ms
    4               ?
    200             241 ms

DistributedDataParallel uses 25 MB buckets for any model and network. Do better.

1. `step_time`: bucket by bucket. When is it full, and when is the link free?
2. `best_count`: the number of equal buckets that takes least time.

About 15 lines, plain Python. The best number may be a million, so do not try them all.

Begin on paper with two buckets: what two things does the second wait for?
Afterwards read ``kDefaultFirstBucketBytes`` and its neighbour in
``torch/csrc/distributed/c10d/reducer.hpp``: in site-packages the file is under ``torch/include``.
Why is the first bucket small?
"""

from __future__ import annotations

from collections.abc import Sequence


def step_time(sizes: Sequence[float], compute: float, alpha: float, beta: float) -> float:
    """Return the seconds from the beginning of backward until all buckets are reduced.

    Backward takes `compute` seconds, during which the bytes of all buckets become ready at a steady
    rate, in the order of `sizes`. The all-reduce of s bytes takes ``alpha + beta * s``; it begins
    when its bucket is full and the all-reduce before it has ended.
    """
    # TODO: two clocks: how far backward is, and how far the link is.
    raise NotImplementedError("step_time")


def best_count(total: float, compute: float, alpha: float, beta: float) -> int:
    """Return the number of equal buckets, at least 1, for which `step_time` is shortest.

    `alpha` is above 0. A time within a millionth of the shortest one will do.
    """
    # TODO: either the link is busy from the first bucket on, or the last bucket decides.
    raise NotImplementedError("best_count")
