"""Count the bytes that move, and let buffers share storages."""

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
    """Return the bytes that the kernels read from memory and write to it."""
    kept, total = stored(kernels, outputs), 0
    for kernel in kernels:
        own = {node.name for node in kernel}
        moved = {dep for dep in accesses(kernel) if dep.name not in own or dep.name in kept}
        total += sum(dep.bytes for dep in moved)
    return total


def allocate(kernels: Sequence[Kernel], outputs: Collection[str]) -> dict[str, int]:
    """Return a storage number for each buffer that has to exist."""
    kept = stored(kernels, outputs)
    last = {dep.name: at for at, kernel in enumerate(kernels) for dep in accesses(kernel)}
    last |= dict.fromkeys(outputs, len(kernels))
    plan: dict[str, int] = {}
    # For each storage: its size, and the last kernel that needs what is in it.
    storages: dict[int, tuple[int, int]] = {}
    for at, kernel in enumerate(kernels):
        for node in kernel:
            if node.name not in kept:
                continue
            size = node.write.bytes
            taken = storages.items()
            free = (n for n, (room, until) in taken if room == size and until < at)
            number = next(free, len(storages))
            storages[number] = (size, last[node.name])
            plan[node.name] = number
    return plan
