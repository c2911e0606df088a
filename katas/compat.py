"""Differences between the supported versions of torch in what a kata teaches, each stated once.

A kata that meets one explains it in its brief, and its tests look it up here. A kata that
cannot work with some versions has ``torch = ">=2.13"`` in its table instead.
"""

from __future__ import annotations

import torch


# Without the patch and the build: (2, 15) of 2.15.0+cpu and of 2.15.0.dev20260801.
TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])

# A C++ warning of an operator that is called through torch.ops: printed on stderr, or since 2.15
# a Python warning, like those of torch.* functions (pytorch/pytorch#193451).
OPS_WARN_IN_PYTHON = TORCH >= (2, 15)

# The C++ standard that cpp_extension uses by default, which is that of PyTorch's own headers
# (pytorch/pytorch#176659).
EXTENSION_STANDARD = "c++20" if TORCH >= (2, 12) else "c++17"
