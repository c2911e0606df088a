"""Scheduler: which loops run in one kernel, in which order, in which memory.

Lowering leaves one loop nest for each node: each reads buffers, and writes one. Run one by one,
they move every value to memory and back. Fused, a value stays in a register if the nodes that use
it stand in the same kernel, and what two nodes read is read once. A kernel runs the outer loops
once; in each iteration its nodes follow one another, each with its inner loops.

``Dep``, ``Node`` and ``Kernel`` are given: metadata alone, nothing is computed here. A ``Dep``
says which element is read or written: in dim d of the buffer, that of loop ``index[d]``. A node's
loops are `ranges` and then `reduced` (empty unless it is a reduction, which reduces these);
``node.write`` has the index (0, 1, ...) over `ranges`. A kernel is a tuple of nodes, each behind
those of them that it reads from. A list of nodes or kernels is in topological order: each stands
behind all that it reads from. What nobody writes is an input of the graph. `outputs` are names.
Write seven functions; none of them changes its arguments.

- ``prune(nodes, outputs)``: the nodes, in the same order, without those whose results no output
  needs, directly or through others.
- ``needs(kernels)``: for each kernel the set of the positions of all kernels that have to run
  before it, because it reads what they write, or because one that it needs does.
- ``saved(first, second)``: the ``bytes`` of every ``Dep`` that both kernels have among their
  reads and writes, each once. This is the score of a fusion.
- ``can_fuse(kernels, first, second)``: True if the kernels at these positions, ``first < second``,
  may become one, else False. All of these must hold:

  1. Neither has an `extern` node (a call of a library, of which nothing is known).
  2. Their loops are the same. Without a reduction among their nodes: all have equal `ranges`.
     With one: all reductions have equal `ranges` and equal `reduced`, and each other node has as
     `ranges` either the reductions' `ranges` or their ``ranges + reduced``.
  3. What second reads of a buffer that first writes is what first has written there: the read is
     equal to the write. (Else another iteration would have to be done first.)
  4. No third kernel stands between them: one that second needs and that itself needs first.

- ``fuse(nodes)``: a list of kernels. Begin with one for each node; as long as two kernels can be
  fused that save more than 0 bytes, fuse two of those that save most (of several, any). A later
  fusion sees the kernels as they are by then. The result is in topological order, of which there
  may be several: what stood between the two may have to move behind them.
- ``traffic(kernels, outputs)``: bytes that move. For each kernel: of the buffers that it does not
  write itself, each distinct ``Dep`` that it reads, once; and the writes of buffers that have to
  exist, because they are outputs or another kernel reads them.
- ``allocate(kernels, outputs)``: for each buffer that has to exist the number of its storage; two
  buffers of equal size in bytes may have the same one if the first is no longer needed. A storage
  is taken from the kernel that writes the buffer on, up to and including the last that reads it
  (so no kernel writes where it reads); an output's for ever. Use as few storages as can be,
  numbered 0, 1, ... without a gap.

Out of scope: writes in place, views, several outputs of a node, loops that could be swapped or
merged to become equal, and whether a large kernel is a good one. A row is taken to fit into the
registers: what Inductor calls a persistent reduction. Where a row is too long for that, it is
gone over in pieces, and read again. About 70 lines. Use nothing from ``torch._inductor``.

In PyTorch: ``torch/_inductor/scheduler.py`` (``Scheduler.dead_node_elimination``,
``compute_ancestors``, ``fuse_nodes``, ``can_fuse_vertical``, ``will_fusion_create_cycle``,
``score_fusion_memory``; one round there takes all pairs by score and tries each),
``torch/_inductor/codegen/simd.py`` (``SIMDScheduling.can_fuse``: the rule about loops, which
compares numbers of iterations there, since loops have been merged) and
``torch/_inductor/codegen/wrapper.py`` (``AllocateLine.plan``, which reuses what is free).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence


@dataclass(frozen=True)
class Dep:
    """An access to a buffer: dim d, of size ``size[d]``, at loop number ``index[d]``. Given."""

    name: str
    index: tuple[int, ...]
    size: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Four for each element that is touched."""
        return 4 * prod(dict(zip(self.index, self.size, strict=True)).values())


@dataclass(frozen=True)
class Node:
    """Loops that read buffers and write one, which has the node's name. Given."""

    name: str
    ranges: tuple[int, ...]
    reduced: tuple[int, ...]
    reads: tuple[Dep, ...]
    extern: bool = False

    @property
    def write(self) -> Dep:
        """What it writes."""
        return Dep(self.name, tuple(range(len(self.ranges))), self.ranges)


Kernel = tuple[Node, ...]


def prune(nodes: Sequence[Node], outputs: Collection[str]) -> list[Node]:
    """Return the nodes without those that no output needs."""
    # TODO: who needs a node stands behind it.
    raise NotImplementedError("prune")


def needs(kernels: Sequence[Kernel]) -> list[set[int]]:
    """Return for each kernel the positions of all that have to run before it."""
    # TODO: the kernels it reads from, and what those need.
    raise NotImplementedError("needs")


def saved(first: Kernel, second: Kernel) -> int:
    """Return the bytes that both kernels read or write."""
    # TODO: which accesses do they share?
    raise NotImplementedError("saved")


def can_fuse(kernels: Sequence[Kernel], first: int, second: int) -> bool:
    """Return whether the kernels at two positions, the first before the second, may be one."""
    # TODO: the four conditions.
    raise NotImplementedError("can_fuse")


def fuse(nodes: Sequence[Node]) -> list[Kernel]:
    """Return kernels, in which whatever saves most was fused first."""
    # TODO: again and again, the pair that saves most.
    raise NotImplementedError("fuse")


def traffic(kernels: Sequence[Kernel], outputs: Collection[str]) -> int:
    """Return the bytes that the kernels read from memory and write to it."""
    # TODO: what comes in from outside, and what has to exist.
    raise NotImplementedError("traffic")


def allocate(kernels: Sequence[Kernel], outputs: Collection[str]) -> dict[str, int]:
    """Return the number of the storage of each buffer that has to exist."""
    # TODO: from when to when is each storage taken?
    raise NotImplementedError("allocate")
