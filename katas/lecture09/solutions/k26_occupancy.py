"""The blocks of six kernels on a multiprocessor of an H200."""

from __future__ import annotations


# Threads per block, registers per thread, KiB of shared memory per block.
KERNELS: dict[str, tuple[int, int, int]] = {
    "one_warp": (32, 16, 0),
    "half_full": (128, 64, 0),
    "registers": (256, 48, 0),
    "shared": (256, 32, 48),
    "large": (1024, 40, 16),
    "one_more": (256, 33, 0),
}


def blocks() -> dict[str, int]:
    """For each kernel, return how many of its blocks are on a multiprocessor at the same time."""
    return {
        "one_warp": 32,
        "half_full": 8,
        "registers": 5,
        "shared": 4,
        "large": 1,
        "one_more": 6,
    }
