"""What communication costs: seconds from latencies, bandwidths, sizes and numbers of ranks.

A message of s bytes takes ``alpha + beta * s`` seconds: alpha to get going, beta for each byte. To
add s bytes that have arrived to s bytes of one's own takes ``gamma * s``. A rank can send one
message and receive another at the same time, but not send two, nor receive two; it begins its next
step when its messages have arrived and been added up. Messages between different ranks do not
disturb each other. Bytes are real numbers, so any size can be divided by any n. Write functions
that return seconds, as plain Python without torch; each takes one line or a few.

**1. All-reduce** of `size` bytes by n ranks, each with `link` to all others:

- ``ring(n, size, link, gamma)``: 2(n - 1) steps of one chunk; n - 1 of them add. Any n >= 1.
- ``tree(n, size, link, gamma)``: a reduction to rank 0 along a binomial tree, then a broadcast
  along it, of whole tensors. Any n >= 1. A rank receives one child's tensor, adds it, then the
  next one's.
- ``doubling(n, size, link, gamma)``: recursive doubling: in each round two ranks exchange all they
  have, and both add. n is a power of two, here and in the next one.
- ``halving(n, size, link, gamma)``: Rabenseifner's. Two ranks at distance n/2 exchange halves, so
  that each adds up one of them; then quarters at distance n/4, until each rank has 1/n of the sum.
  Then all that in reverse, without adding: 1/n, ..., quarters, halves.
- ``hierarchical(nodes, per_node, size, links, gamma)``: of the two `links` the ranks of a node have
  the first to each other, and each the second to ranks of other nodes: a network card of its own.
  First a ring reduce-scatter in each node; then each rank all-reduces its part, in a ring, with
  those that have the same part in the other nodes; then a ring all-gather in each node.

**2. Crossing**: ``crossover(n, link, gamma)`` returns the size in bytes at which `ring` takes as
long as `doubling`, n a power of two, n >= 2: doubling is faster below, the ring above. ``math.inf``
if the ring never is.

**3. Pipeline**: rank 0 broadcasts to n - 1 others, n >= 2, that stand in a chain, each passing on
what it gets. The tensor is cut into `segments` of equal size; a rank passes one on while it
receives the next.

- ``chain(n, size, segments, link)``: until the last rank has it all.
- ``best_segments(n, size, link)``: an integer, at least 1, for which `chain` takes the least. There
  may be millions: do not try them all. alpha, beta and size are above 0.

**4. Buckets**: DistributedDataParallel reduces gradients in buckets while backward still runs. Let
`link` be that of the whole all-reduce: of s bytes it takes ``alpha + beta * s``. Gradients of
`total` bytes become ready evenly over `compute` seconds. The first bucket takes `first` bytes, all
others `bucket` bytes, the last one what is left. A bucket's all-reduce begins when the bucket is
full (the last one at the end of backward), and the one before has ended.

- ``step_time(total, first, bucket, compute, link)``: until the last all-reduce ends. Sizes are
  whole numbers, at least 1.
- ``best_count(total, compute, link)``: into how many buckets of equal size, at least 1, to cut so
  that `step_time` is least, up to rounding. alpha is above 0. Again, there may be millions.

About 50 lines. For 3 and 4: what is the shape of the time, as a function of the number? Out of
scope: contention, pipelining within a step, protocols that trade alpha for beta.

In PyTorch: ``torch/distributed/tensor/_collective_utils.py`` (``allreduce_cost``) is a ring's,
``torch/_inductor/comm_analysis.py`` (``estimate_nccl_collective_runtime``) NCCL's own model; for
buckets ``torch/csrc/distributed/c10d/reducer.hpp`` (``kDefaultFirstBucketBytes``). Thakur,
Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005), has
the formulas; Patarasuk and Yuan (2009) show that, with messages alone, none needs less of beta.
"""

from __future__ import annotations

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
    # TODO: how many steps, of how many bytes?
    raise NotImplementedError("ring")


def tree(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of a reduction and a broadcast along a binomial tree."""
    # TODO: how many rounds?
    raise NotImplementedError("tree")


def doubling(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of an all-reduce by recursive doubling."""
    # TODO: everything, in each round.
    raise NotImplementedError("doubling")


def halving(n: int, size: float, link: Link, gamma: float) -> float:
    """Return the seconds of an all-reduce by recursive halving and doubling."""
    # TODO: add up the halves.
    raise NotImplementedError("halving")


def hierarchical(
    nodes: int, per_node: int, size: float, links: tuple[Link, Link], gamma: float
) -> float:
    """Return the seconds of an all-reduce within nodes, between them, and within them again."""
    # TODO: how much is left for the slow links?
    raise NotImplementedError("hierarchical")


def crossover(n: int, link: Link, gamma: float) -> float:
    """Return the size from which on a ring is faster than recursive doubling."""
    # TODO: both are straight lines.
    raise NotImplementedError("crossover")


def chain(n: int, size: float, segments: int, link: Link) -> float:
    """Return the seconds of a broadcast along a chain, in segments."""
    # TODO: when does the last segment leave rank 0, and when is it at the end?
    raise NotImplementedError("chain")


def best_segments(n: int, size: float, link: Link) -> int:
    """Return the number of segments for which the chain is fastest."""
    # TODO: one part of the time grows with the number, one shrinks.
    raise NotImplementedError("best_segments")


def step_time(total: float, first: float, bucket: float, compute: float, link: Link) -> float:
    """Return the seconds until all gradients are reduced."""
    # TODO: bucket by bucket: when is it full, and when is the link free?
    raise NotImplementedError("step_time")


def best_count(total: float, compute: float, link: Link) -> int:
    """Return the number of equal buckets for which all gradients are reduced first."""
    # TODO: which bucket is the one that decides?
    raise NotImplementedError("best_count")
