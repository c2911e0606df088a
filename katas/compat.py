"""Where the supported versions of torch differ in what a kata teaches: each difference, once.

A kata that meets one says so in its brief, and its tests ask here. A kata that cannot be had
with some versions at all says ``torch = ">=2.13"`` in its table instead.
"""

from __future__ import annotations

import torch


# Without the patch and the build: (2, 15) of 2.15.0+cpu and of 2.15.0.dev20260801.
TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])

# A C++ warning of an operator that is called through torch.ops: printed on stderr, or since 2.15
# a Python warning, like those of torch.* functions (pytorch/pytorch#193451).
OPS_WARN_IN_PYTHON = TORCH >= (2, 15)

# The C++ that cpp_extension compiles unless it is told otherwise: what PyTorch's own headers
# are written in (pytorch/pytorch#176659).
EXTENSION_STANDARD = "c++20" if TORCH >= (2, 12) else "c++17"
