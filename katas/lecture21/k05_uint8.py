"""Resize a uint8 image with integer arithmetic.

To resize bytes, you convert them to float32 and round at the end. PyTorch's kernel does not: it
multiplies bytes by integers, as Pillow does. Between one in eight and one in four of your pixels
differ from its result, nearly always by 1. And most weights of a resize are 0, yet a matrix product
multiplies by them:

    64 to 28      a row of R: 64 weights, at most 5 of them not 0        taps: 5

1. `fixed`: the weights times 2 ** bits, rounded to integers.
2. `windows`: for each output, the first input that it reads, and its taps.
3. `one_pass`: along one dim, a multiplication for each tap of each output. Add 2 ** (bits - 1)
   before you shift, which rounds.
4. `resize`: across, then down. Between the passes the image is bytes again.

About 18 lines. No floating-point tensor may be as large as the image.

Begin with ``torch.tensor([200], dtype=torch.uint8) * 2``.
Afterwards see ``_compute_index_ranges_int16_weights`` in
``aten/src/ATen/native/cpu/UpSampleKernel.cpp``, in PyTorch's repository. Real life differs: sums
stay in registers, and channels-last makes three channels share a weight.
"""

from __future__ import annotations

import torch
from torch.nn.functional import interpolate


def weights(size: int, length: int, mode: str) -> torch.Tensor:
    """Return the matrix [length, size] of ``antialias=True``, in float64 (given; see k03)."""
    rows = torch.eye(size, dtype=torch.float64)[:, None, None]
    return interpolate(rows, (1, length), mode=mode, antialias=True)[:, 0, 0].T


def fixed(matrix: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Return the weights times 2 ** bits, rounded, as int32, and bits.

    `bits` is the largest number, up to 22, with which the largest of the rounded weights is below
    2 ** 15. Halves are rounded away from 0.
    """
    # TODO
    raise NotImplementedError("fixed")


def windows(codes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return where each row's window starts, [length] int64, and its weights, [length, taps] int32.

    All rows have as many taps as the row that needs the most. A window begins with the row's first
    weight that is not 0. A window that would run past the row begins earlier, and ends with the
    row.
    """
    # TODO: in a row of codes, argmax of what is not 0 finds the first.
    raise NotImplementedError("windows")


def one_pass(image: torch.Tensor, dim: int, length: int, mode: str) -> torch.Tensor:
    """Return a uint8 image [batch, channels, h, w], resized along dim 2 or 3, as uint8.

    Results outside 0 to 255, which bicubic produces, are clamped.
    """
    # TODO: weights, fixed, windows, and a loop over taps.
    raise NotImplementedError("one_pass")


def resize(image: torch.Tensor, height: int, width: int, mode: str) -> torch.Tensor:
    """Return what `interpolate` returns with ``antialias=True``, bit for bit, in channels-last."""
    # TODO
    raise NotImplementedError("resize")
