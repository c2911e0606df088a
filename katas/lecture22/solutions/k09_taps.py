"""Multiply by the taps that count, and by no others."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F


# How many zeros of the sinc a filter keeps on each side, and what share of the band it passes.
ZEROS = 6
ROLLOFF = 0.99


def lowpass(t: torch.Tensor) -> torch.Tensor:
    """Return sinc(t) times a Hann window that ends at its sixth zero. Given."""
    t = t.clamp(-ZEROS, ZEROS)
    return torch.sinc(t) * torch.cos(t * math.pi / (2 * ZEROS)) ** 2


def neighbours(j: torch.Tensor, old: int, new: int) -> torch.Tensor:
    """Return the indices of the inputs that outputs j, int64 [outputs], need: [outputs, 2 * reach].

    These are, in order, the last `reach` inputs that are not after the output, and the first
    `reach` after it; reach is the smallest integer that is at least ZEROS * old / cutoff. They may
    be outside the waveform. Use integers: j may be 10 ** 12.
    """
    reach = math.ceil(ZEROS * old / (ROLLOFF * min(old, new)))
    return (j * old // new)[:, None] + torch.arange(1 - reach, reach + 1)


def resample(x: torch.Tensor, old: int, new: int) -> torch.Tensor:
    """Return x, [..., samples], resampled to [..., ceil(samples * new / old)], in x's dtype.

    Treat samples outside x as 0. `samples` may be 0. Compute the distances exactly, or in
    float64: float32 cannot hold i / old - j / new.
    """
    divisor = math.gcd(old, new)
    old, new = old // divisor, new // divisor
    cutoff = ROLLOFF * min(old, new)
    j = torch.arange(-(-x.shape[-1] * new // old))
    near = neighbours(j, old, new)
    taps = near.shape[1]
    distance = (near[:new] * new - j[:new, None] * old).double() / (old * new)
    weights = (lowpass(cutoff * distance) * cutoff / old).to(x.dtype)
    padded = F.pad(x, (taps, taps))
    return (padded[..., near + taps] * weights[j % new]).sum(-1)
