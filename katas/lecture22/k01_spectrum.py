"""See the frequencies of a sound, and what a window does to them.

A cosine that turns 3 times in 16 samples fills one bin of its spectrum, bin 3. One that turns 3.5
times does not end where it began, and fills every bin. A Hann window hides the ends:

    bin                   0     1     2     3     4     5
    cosine(3, 16)         .     .     .     8     .     .
    the same, windowed    .     .     2     4     2     .

Write `cosine`, `hann` and `magnitudes`, about 3 lines, without PyTorch's windows. Then paste:

    print(picture(magnitudes(cosine(3.5, 16), hann(16))))

Begin on paper: what are the samples of ``cosine(1, 4)``?
Afterwards read ``hann`` in ``torch/signal/windows/windows.py``, in site-packages.
"""

from __future__ import annotations

import torch


def cosine(turns: float, samples: int) -> torch.Tensor:
    """Return a float64 cosine that begins at 1 and makes `turns` turns in `samples` samples.

    The sample after the last would complete the turns: sample 16 of ``cosine(3, 16)`` is again 1.
    """
    # TODO
    raise NotImplementedError("cosine")


def hann(samples: int) -> torch.Tensor:
    """Return a Hann window, float64: 1/2 minus half a cosine of one turn."""
    # TODO
    raise NotImplementedError("hann")


def magnitudes(x: torch.Tensor, window: torch.Tensor | None = None) -> torch.Tensor:
    """Return the absolute values of ``rfft`` along the last dim of x, windowed if asked."""
    # TODO
    raise NotImplementedError("magnitudes")


def picture(values: torch.Tensor) -> str:
    """Return a line for each bin, with four # per unit. Given."""
    return "\n".join(
        f"{k} {value:.2f} {'#' * round(4 * value)}".rstrip()
        for k, value in enumerate(values.tolist())
    )
