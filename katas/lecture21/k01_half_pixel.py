"""Half a pixel decides what a resize returns.

A pixel is a square, and its value belongs to its centre. Four pixels become eight:

    input     |   0   |   1   |   2   |   3   |
    output    | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |      position of output 3: 1.25

With ``align_corners=True`` the centres of the first and last pixels meet instead. PyTorch once did
this by default:

    F.interpolate(torch.arange(4.0)[None, None], size=8, mode="linear", align_corners=True)

Write `positions` and `resize`; about 8 lines.

Begin on paper: in input pixels, where is the centre of output 0?
Afterwards see ``interpolate`` in ``torch/nn/functional.py``, in site-packages.
"""

from __future__ import annotations

import torch


def positions(size: int, length: int, *, align_corners: bool) -> torch.Tensor:
    """Return the position of each of `length` output pixels among `size` input pixels, in float64.

    The centre of input pixel j is position j. Positions beyond the first or last pixel centre are
    clamped to it. With `align_corners`, a single output pixel is at position 0.
    """
    # TODO: both rules.
    raise NotImplementedError("positions")


def resize(x: torch.Tensor, length: int, *, align_corners: bool) -> torch.Tensor:
    """Return x, 1-D float64, at the positions, interpolated linearly between two neighbours."""
    # TODO: the neighbours, and the share of each. Do not call `interpolate`.
    raise NotImplementedError("resize")
