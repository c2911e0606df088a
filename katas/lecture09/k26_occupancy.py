"""How many blocks fit a multiprocessor? Predict six.

A multiprocessor of an H200 has room for 2,048 threads and 32 blocks, 65,536 registers and 228
KiB of shared memory. What runs out first is the limit:

  256 threads of 32 registers    8 blocks    threads run out
  256 threads of 64 registers    4 blocks    registers run out

Registers come in units of 8 per thread. A block takes 1 KiB more shared memory than it asks
for.

Write the six numbers of `blocks`.

Begin with the last line of KERNELS: what is 33 rounded up to?
Afterwards find C10_LAUNCH_BOUNDS_1 in aten/src/ATen/native/cuda/CUDALoops.cuh.
"""

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
    # TODO: return {"one_warp": ..., "half_full": ...}
    raise NotImplementedError("blocks")
