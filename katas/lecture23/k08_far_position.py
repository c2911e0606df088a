"""Debug: rotary positions that work in every short test.

A rotary embedding rotates pairs of a query by angles, position times frequency. Ours was correct in
float32. Then the model moved to bfloat16, prompts grew to 4,096 tokens, and four tickets arrived:

    table     "On long documents the bfloat16 model mixes up neighbours. Float32 does not."
    grid      "Training is worse under autocast, but only on long inputs."
    rotate    "Our cache is twice as large as planned, and SDPA refuses q and v together."
    Rotary    "We call model.bfloat16() before serving. Since then it loses distant tokens,
               and model.float() does not bring them back."

Find and fix the bugs, a line or two each. Make each function do what its docstring says.

Begin with the first: print ``torch.arange(250, 270).to(torch.bfloat16)``. What do you expect to
see at 257?
Afterwards look for `matmul` in ``aten/src/ATen/autocast_mode.h`` (site-packages:
``torch/include/ATen``), and for `mul`. The CPU's own list is in ``autocast_mode.cpp``.
"""

from __future__ import annotations

import torch
from torch import nn


def frequencies(dim: int, base: float = 10000.0) -> torch.Tensor:
    """Return the ``dim // 2`` frequencies, in float32. Given, and correct."""
    return base ** -(torch.arange(0, dim, 2) / dim)


# TODO: find and fix the bugs. Nothing raises NotImplementedError here: the code is complete, but
# wrong.


def table(count: int, dim: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cos and sin of all angles, [count, dim // 2], in `dtype`.

    Positions are 0 to count - 1. Only the last step rounds to `dtype`.
    """
    positions = torch.arange(count, dtype=dtype)
    angles = positions[:, None] * frequencies(dim).to(dtype)
    return angles.cos(), angles.sin()


def grid(positions: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the angles of int64 positions [rows, n], as float32 [rows, n, dim // 2].

    The result is the same under autocast.
    """
    return positions[:, :, None].float() @ frequencies(dim)[None, None]


def rotate(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """Return x [rows, heads, n, dim], rotated by float32 angles [rows, n, dim // 2], in x's dtype.

    Column i pairs with column ``i + dim // 2``. Only the last step rounds to x's dtype: a float64 x
    stays float64.
    """
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Rotary(nn.Module):
    """Rotates queries or keys by position, just as accurately after ``.bfloat16()`` or ``.half()``.

    The module computes on the device of x, and adds nothing to a state dict. x and positions are
    on the same device.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.register_buffer("frequencies", frequencies(dim), persistent=False)

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Return x [rows, heads, n, dim], rotated; int64 positions are [rows, n]."""
        return rotate(x, positions[:, :, None] * self.frequencies)
