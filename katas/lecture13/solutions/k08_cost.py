"""The cost of all-reduces in seconds, by latency and bandwidth."""

from __future__ import annotations

import math
from typing import NamedTuple


class Link(NamedTuple):
    """What a message costs: seconds, and seconds per byte. Given."""

    alpha: float
    beta: float

    def time(self, size: float) -> float:
        """Return the seconds that a message of `size` bytes takes."""
        return self.alpha + self.beta * size


def ring(n: int, size: float, link: Link) -> float:
    """Return the seconds of an all-reduce of `size` bytes in a ring of n ranks, any n >= 1."""
    return 2 * (n - 1) * link.time(size / n)


def tree(n: int, size: float, link: Link) -> float:
    """Return the seconds of a reduction and a broadcast along a binomial tree, any n >= 1."""
    return 2 * (n - 1).bit_length() * link.time(size)


def doubling(n: int, size: float, link: Link) -> float:
    """Return the seconds of an all-reduce by recursive doubling; n is a power of two."""
    return (n - 1).bit_length() * link.time(size)


def crossover(n: int, link: Link) -> float:
    """Return the size at which `ring` takes as long as `doubling`; n is a power of two, n >= 2.

    Doubling is faster below it, the ring above. Return ``math.inf`` if the ring is never faster.
    """
    later = ring(n, 0, link) - doubling(n, 0, link)
    slopes = Link(0, link.beta)
    faster = doubling(n, 1, slopes) - ring(n, 1, slopes)
    return later / faster if faster > 0 else math.inf
