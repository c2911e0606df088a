"""Say whether two loops may become one kernel.

Run one by one, loops move every value to memory and back. Fused, a value stays in a register. When
is that allowed?

    a[i, j] = x[i, j] + 1        b[i, j] = a[i, j] * 2       yes: same loops, same element
    a[i, j] = x[i, j] + 1        b[i, j] = a[j, i] * 2       no: another iteration wrote it
    m[i]    = max over j of x    d[i, j] = x[i, j] - m[i]    yes: row by row
    a -> c -> b                  a and b                     no: c would have to run inside

Write `needs`, `saved` and `can_fuse`, about 25 lines. Nothing is computed here.
Open ``schedule.py`` next to this file for `Dep` (which element is read), `Node` (loops that write
one buffer) and `accesses`, all above `needs`; the rest of it is the answer: read it afterwards.

Begin on paper: what does a `Dep` hold for ``a[j, i]``?
Afterwards read ``can_fuse_vertical`` and ``will_fusion_create_cycle`` in
``torch/_inductor/scheduler.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from katas.lecture10.schedule import accesses


if TYPE_CHECKING:
    from collections.abc import Sequence

    from katas.lecture10.schedule import Kernel


def needs(kernels: Sequence[Kernel]) -> list[set[int]]:
    """Return a set for each kernel: the positions of all kernels that must run before it.

    Those are the kernels that write what it reads, and whatever they need in turn. A kernel is a
    tuple of nodes and comes after all kernels that it reads from. A buffer that no kernel writes
    is an input of the graph.
    """
    # TODO: collect the kernels it reads from, and what those need.
    raise NotImplementedError("needs")


def saved(first: Kernel, second: Kernel) -> int:
    """Return the bytes of all `Dep` that both kernels read or write, each counted once."""
    # TODO: which accesses do they share?
    raise NotImplementedError("saved")


def can_fuse(kernels: Sequence[Kernel], first: int, second: int) -> bool:
    """Return whether the kernels at two positions, the first before the second, may be fused.

    1. Neither has an `extern` node (a library call).
    2. Their loops are the same (`same_loops` is given).
    3. Where second reads a buffer that first writes, the read equals the write (``node.write``).
    4. No third kernel needs first and is itself needed by second.
    """
    # TODO: check the four conditions.
    raise NotImplementedError("can_fuse")


def same_loops(nodes: Kernel) -> bool:
    """Return whether one nest of loops serves all nodes. Given.

    Without a reduction, all nodes have equal `ranges`. With one, all reductions have equal loops,
    and the ranges of the other nodes are its `ranges` or its ``ranges + reduced``.
    """
    shapes = {(node.ranges, node.reduced) for node in nodes if node.reduced}
    if not shapes:
        return len({node.ranges for node in nodes}) == 1
    ranges, reduced = max(shapes)
    allowed = {(ranges, reduced), (ranges, ()), (ranges + reduced, ())}
    return all((node.ranges, node.reduced) in allowed for node in nodes)
