"""What an all-reduce costs: four formulas and the size at which they cross.

A message of s bytes takes ``alpha + beta * s`` seconds: alpha to get going, beta for each byte.
The numbers of one network, 16 ranks:

    4 B       ring 150 us     recursive doubling  20 us
    100 MB    ring  19 ms     recursive doubling  40 ms

At which size do they cross? Every communication library contains such a table.

1. `ring`, `tree` and `doubling`: count what one rank does, one message after the other.
2. `crossover`: both times are linear in the size.

About 10 lines, plain Python. A rank sends and receives at the same time, one message each, and
begins its next step once its incoming message has arrived. Adding takes no time.

Begin with the first line of the table: alpha is 5 us. How many messages does a ring of 16 take?
Afterwards read ``allreduce_cost`` in ``torch/distributed/tensor/_collective_utils.py``: whose
formula is it?
Real life differs: links are shared, and sums take time on a CPU.
"""

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
    # TODO: how many steps, of how many bytes?
    raise NotImplementedError("ring")


def tree(n: int, size: float, link: Link) -> float:
    """Return the seconds of a reduction and a broadcast along a binomial tree, any n >= 1."""
    # TODO: how many rounds?
    raise NotImplementedError("tree")


def doubling(n: int, size: float, link: Link) -> float:
    """Return the seconds of an all-reduce by recursive doubling; n is a power of two."""
    # TODO: everything, in each round.
    raise NotImplementedError("doubling")


def crossover(n: int, link: Link) -> float:
    """Return the size at which `ring` takes as long as `doubling`; n is a power of two, n >= 2.

    Doubling is faster below it, the ring above. Return ``math.inf`` if the ring is never faster.
    """
    # TODO: two straight lines; where do they meet?
    raise NotImplementedError("crossover")
