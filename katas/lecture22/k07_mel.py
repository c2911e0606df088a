"""Weigh bins by ear, and take a log that training survives.

Below 1 kHz, equal steps in hertz sound equal; above it, equal ratios do. The mel scale covers both:

    m = 2595 log10(1 + f / 700)          f = 700 (10^(m / 2595) - 1)

A filter is a triangle in hertz over three adjacent points, which are equally spaced in mel:

    points      0 Hz    p1      p2      p3       rate / 2
    filter 0     0 ---- 1 ---- 0
    filter 1            0 ---- 1 ---- 0

1. `filters`: a matrix [bins, mels], mostly zeros.
2. `log_mel`: one product, clamped at `floor`, and its log. Why not ``log(x + floor)``? Its gradient
   in silence is 1 / floor.

- Write no loop over bins or filters.

About 10 lines. Begin on paper: why are some of 128 mel filters on 201 bins all 0?
Afterwards see ``clamp`` in ``torch/_torch_docs.py``, in site-packages, and ``melscale_fbanks`` of
torchaudio, which builds these triangles.
"""

from __future__ import annotations

import torch


def filters(bins: int, mels: int, rate: int) -> torch.Tensor:
    """Return the triangles as a float64 matrix [bins, mels].

    Bin k is at k / (bins - 1) of rate / 2 hertz. There are mels + 2 points, from 0 to rate / 2. A
    bin at a filter's middle point has weight 1; outside its outer points, 0.
    """
    # TODO: the rising and falling edges are two lines; the triangle is the smaller one, or 0.
    raise NotImplementedError("filters")


def log_mel(power: torch.Tensor, matrix: torch.Tensor, floor: float = 1e-10) -> torch.Tensor:
    """Return the natural log of `power`, [..., bins, frames], in mels: [..., mels, frames].

    A value below `floor` counts as `floor`, and has gradient 0. The matrix may have a different
    dtype from `power`: multiply in the dtype of `power`, which is also the result's.
    """
    # TODO
    raise NotImplementedError("log_mel")
