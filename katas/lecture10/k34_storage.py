"""Count the bytes that move, and let buffers share storages.

After fusion most buffers never exist: their values stay in registers. Of those that do exist, some
may share a storage, one after the other.

    kernel 0 writes a (80 B)        storage 0
    kernel 1 reads a, writes b      storage 1       a is still needed while b is written
    kernel 2 reads b, writes c      storage 0       nobody needs a any more

1. `traffic`: the bytes that enter or leave kernels.
2. `allocate`: as few storages as possible.

About 20 lines; `stored` says which buffers exist.

Begin with a dict from each buffer to the last kernel that needs it. An output is needed forever.
Afterwards read ``AllocateLine.plan`` in ``torch/_inductor/codegen/wrapper.py``, which reuses free
buffers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence

    from katas.lecture10.schedule import Dep
    from katas.lecture10.schedule import Kernel


def accesses(kernel: Kernel) -> set[Dep]:
    """Return what a kernel reads and writes, each access once. Given."""
    return {dep for node in kernel for dep in (*node.reads, node.write)}


def stored(kernels: Sequence[Kernel], outputs: Collection[str]) -> set[str]:
    """Return the buffers that exist: outputs, and what goes from kernel to kernel. Given."""
    written: set[str] = set()
    wanted = set(outputs)
    for kernel in kernels:
        own = {node.name for node in kernel}
        written |= own
        wanted |= {dep.name for dep in accesses(kernel)} - own
    return written & wanted


def traffic(kernels: Sequence[Kernel], outputs: Collection[str]) -> int:
    """Return the bytes that the kernels read from memory and write to it.

    For each kernel: each distinct access to a buffer that it does not write itself, and its writes
    of buffers that are `stored`.
    """
    # TODO: count what comes in from outside, and what has to exist.
    raise NotImplementedError("traffic")


def allocate(kernels: Sequence[Kernel], outputs: Collection[str]) -> dict[str, int]:
    """Return a storage number for each buffer that is `stored`: 0, 1, ... without a gap.

    A buffer (``node.write.bytes``) may take the storage of another buffer of equal size in bytes
    that is no longer needed. It is needed from the kernel that writes it up to and including the
    last one that reads it; an output is needed forever. Use as few storages as possible.
    """
    # TODO: from when to when is each storage taken?
    raise NotImplementedError("allocate")
