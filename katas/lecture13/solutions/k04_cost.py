"""The cost of collectives in seconds, by latency, bandwidth and arithmetic."""

from __future__ import annotations

import math
from typing import NamedTuple


class Link(NamedTuple):
    """What a message costs: seconds, and seconds for each byte. Given."""

    alpha: float
    beta: float

    def time(self, size: float) -> float:
        """Return the seconds that a message of so many bytes takes."""
        return self.alpha + self.beta * size


def ring(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of an all-reduce in a ring."""
    return (n - 1) * (2 * link.time(size / n) + gamma * size / n)


def tree(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of a reduction and a broadcast along a binomial tree."""
    return _rounds(n) * (2 * link.time(size) + gamma * size)


def doubling(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of an all-reduce by recursive doubling."""
    return _rounds(n) * (link.time(size) + gamma * size)


def halving(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of an all-reduce by recursive halving and doubling."""
    # 1/2 + 1/4 + ... + 1/n
    moved = size * (n - 1) / n
    return 2 * (_rounds(n) * link.alpha + link.beta * moved) + gamma * moved


def hierarchical(
    nodes: int, per_node: int, size: float, links: tuple[Link, Link], gamma: float
) -> float:
    """Return the seconds of an all-reduce within nodes, between them, and within them again."""
    inner, outer = links
    # Reduce-scatter and all-gather are the two halves of a ring.
    return ring(per_node, size, inner, gamma) + ring(nodes, size / per_node, outer, gamma)


def _rounds(n: int) -> int:
    """Return the logarithm to base 2, rounded up."""
    return (n - 1).bit_length()


def crossover(n: int, link: Link, gamma: float) -> float:
    """Return the size from which on a ring is faster than recursive doubling."""
    later = ring(n, 0, link, gamma) - doubling(n, 0, link, gamma)
    slopes = Link(0, link.beta)
    faster = doubling(n, 1, slopes, gamma) - ring(n, 1, slopes, gamma)
    return later / faster if faster > 0 else math.inf


def chain(n: int, size: float, segments: int, link: Link) -> float:
    """Return the seconds of a broadcast along a chain, in segments."""
    # The last segment leaves as number `segments`, and is passed on by n - 2 others.
    return (segments + n - 2) * link.time(size / segments)


def best_segments(n: int, size: float, link: Link) -> int:
    """Return the number of segments for which the chain is fastest."""
    # m * alpha + (n - 2) * beta * size / m is least where both terms are equal.
    best = int(math.sqrt((n - 2) * link.beta * size / link.alpha))
    return min(max(best, 1), best + 1, key=lambda segments: chain(n, size, segments, link))


def step_time(total: float, first: float, bucket: float, compute: float, link: Link) -> float:
    """Return the seconds until all gradients are reduced."""
    full, end, size = 0.0, 0.0, first
    while full < total:
        size = min(size, total - full)
        full += size
        end = max(end, compute * full / total) + link.time(size)
        size = bucket
    return end


def best_count(total: float, compute: float, link: Link) -> int:
    """Return the number of equal buckets for which all gradients are reduced first."""

    def end(count: int) -> float:
        # The link is busy from the first bucket on, or it waits for the last one.
        busy = compute / count + count * link.alpha + link.beta * total
        return max(busy, compute + link.alpha + link.beta * total / count)

    # Both are convex, so their maximum is: while one more bucket helps, the best is above.
    low, high = 1, 2
    while end(high) < end(high - 1):
        high *= 2
    while low < high:
        middle = (low + high) // 2
        if end(middle + 1) < end(middle):
            low = middle + 1
        else:
            high = middle
    return low
