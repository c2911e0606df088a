"""When all gradients are reduced, and for how many buckets that is soonest."""

from __future__ import annotations

from collections.abc import Sequence


def step_time(sizes: Sequence[float], compute: float, alpha: float, beta: float) -> float:
    """Return the seconds from the beginning of backward until all buckets are reduced.

    Backward takes `compute` seconds, during which the bytes of all buckets become ready at a steady
    rate, in the order of `sizes`. The all-reduce of s bytes takes ``alpha + beta * s``; it begins
    when its bucket is full and the all-reduce before it has ended.
    """
    full, end = 0.0, 0.0
    for size in sizes:
        full += size
        end = max(end, compute * full / sum(sizes)) + alpha + beta * size
    return end


def best_count(total: float, compute: float, alpha: float, beta: float) -> int:
    """Return the number of equal buckets, at least 1, for which `step_time` is shortest.

    `alpha` is above 0. A time within a millionth of the shortest one will do.
    """

    def end(count: int) -> float:
        # The link is busy from the first bucket on, or it waits for the last one.
        busy = compute / count + count * alpha + beta * total
        return max(busy, compute + alpha + beta * total / count)

    # Both are convex, so their maximum is: while one more bucket helps, the best is above.
    low, high = 1, 1_000_000_000
    while low < high:
        middle = (low + high) // 2
        if end(middle + 1) < end(middle):
            low = middle + 1
        else:
            high = middle
    return low
