"""Multiply by the taps that count, and by no others.

Resample one second from 16000 to 15999 samples as in k08_resample. Rates without a common divisor
need 15999 filters, each a row of a matrix that is as wide as the stride, though a filter is only 14
inputs long:

    row 0    * * * * . . . . . . .        * counts, . is 0
    row 1    . * * * * . . . . . .        drawn: 4 of 11 in a row
    row 2    . . * * * * . . . . .        at 16000 to 15999: 14 of 16014

That makes 256 million products for one second. The sum is still

    y[j] = sum of x[i] * lowpass(cutoff * (i / old - j / new)) * cutoff / old

where cutoff = ROLLOFF * min(old, new), but only over the 14 inputs around j.

1. `neighbours`: which inputs these are.
2. `resample`: gather them, multiply, sum. About 17 lines.

- No operator may create much more than rows * outputs * taps numbers, and no loop may run over
  outputs or rows.
- Filters repeat: call `lowpass` for at most one period of them.

Begin on paper: after how many outputs do the distances repeat?
Afterwards see ``unfold`` in ``torch/_tensor_docs.py``. Fewer products may take longer: from 44100
to 16000, `conv1d` multiplies 14 times as often, but is faster.
"""

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
    # TODO
    raise NotImplementedError("neighbours")


def resample(x: torch.Tensor, old: int, new: int) -> torch.Tensor:
    """Return x, [..., samples], resampled to [..., ceil(samples * new / old)], in x's dtype.

    Treat samples outside x as 0. `samples` may be 0. Compute the distances exactly, or in
    float64: float32 cannot hold i / old - j / new.
    """
    # TODO
    raise NotImplementedError("resample")
