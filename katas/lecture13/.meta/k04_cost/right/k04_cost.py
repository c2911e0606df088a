"""Another solution: rounds are added up one by one, and the best numbers are worked out."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    import torch

    # What sizes may be where a model is traced.
    Size = int | torch.SymInt


class Link(NamedTuple):
    """What a message costs: seconds, and seconds for each byte. Given."""

    alpha: float
    beta: float

    def time(self, size: float) -> float:
        """Return the seconds that a message of so many bytes takes."""
        return self.alpha + self.beta * size


def ring(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of an all-reduce in a ring."""
    chunk = size / n
    scatter = sum(link.time(chunk) + gamma * chunk for _ in range(n - 1))
    return scatter + sum(link.time(chunk) for _ in range(n - 1))


def tree(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of a reduction and a broadcast along a binomial tree."""
    seconds, reached = 0.0, 1
    while reached < n:
        seconds += 2 * link.time(size) + gamma * size
        reached *= 2
    return seconds


def doubling(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of an all-reduce by recursive doubling."""
    return math.log2(n) * (link.time(size) + gamma * size)


def halving(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of an all-reduce by recursive halving and doubling."""
    parts = [size / 2**k for k in range(1, n.bit_length())]
    return sum(2 * link.time(part) + gamma * part for part in parts)


def hierarchical(
    nodes: int, per_node: int, size: float, links: tuple[Link, Link], gamma: float
) -> float:
    """Return the seconds of an all-reduce within nodes, between them, and within them again."""
    part = size / per_node
    within = (per_node - 1) * (2 * links[0].time(part) + gamma * part)
    return within + ring(nodes, part, links[1], gamma)


def crossover(n: int, link: Link, gamma: float) -> float:
    """Return the size from which on a ring is faster than recursive doubling."""
    log, part = math.log2(n), (n - 1) / n
    slope = link.beta * (log - 2 * part) + gamma * (log - part)
    return math.inf if slope <= 0 else link.alpha * (2 * (n - 1) - log) / slope


def chain(n: int, size: float, segments: int, link: Link) -> float:
    """Return the seconds of a broadcast along a chain, in segments."""
    return (n - 1) * link.time(size / segments) + (segments - 1) * link.time(size / segments)


def best_segments(n: int, size: float, link: Link) -> int:
    """Return the number of segments for which the chain is fastest."""
    # m is the best if m * (m + 1) is the first that is no less than the square of the optimum.
    square = (n - 2) * size * link.beta / link.alpha
    return max(1, math.ceil(math.sqrt(square + 0.25) - 0.5))


def step_time(total: float, first: float, bucket: float, compute: float, link: Link) -> float:
    """Return the seconds until all gradients are reduced."""
    sizes = [min(first, total)]
    while (left := total - sum(sizes)) > 0:
        sizes.append(min(bucket, left))
    ready = [compute * full / total for full in accumulate(sizes)]
    # Whichever bucket the link waits for last: from then on it is busy.
    return max(at + sum(map(link.time, sizes[j:])) for j, at in enumerate(ready))


def best_count(total: float, compute: float, link: Link) -> int:
    """Return the number of equal buckets for which all gradients are reduced first."""

    def end(count: int) -> float:
        busy = compute / count + count * link.alpha + link.beta * total
        return max(busy, compute + link.alpha + link.beta * total / count)

    # The least of a busy link, and where both times are equal: one of these, or next to it.
    root = math.sqrt(compute / link.alpha)
    p = compute + link.alpha - link.beta * total
    cross = (p + math.sqrt(max(0.0, p * p - 4 * link.alpha * (compute - link.beta * total)))) / (
        2 * link.alpha
    )
    around = {int(at) + d for at in (root, cross) for d in (-1, 0, 1, 2)} | {1}
    return min((n for n in around if n >= 1), key=end)
