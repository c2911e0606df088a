"""A spectrogram: frames, a window and a Fourier transform.

``normalized=True`` means one thing in ``torch.stft`` and another in torchaudio's ``Spectrogram``.
One divides by the square root of the frame length, the other by that of the window's energy. Both
are a few lines of tensor code, and the frames are a view of the padded signal:

    signal            1 2 3 4 5
    padded        3 2 1 2 3 4 5 4 3         "reflect", half a frame on each side
    frame 0       3 2 1 2                   its sample 2 is sample 0 of the signal
    frame 1           1 2 3 4               size 4, hop 2
    frame 2               3 4 5 4

1. `frames`: pad, then ``Tensor.unfold``, which changes the strides and keeps the same storage.
2. `spectrogram`: multiply by the window, which may be shorter than a frame; call
   ``torch.fft.rfft``; then scale and raise to the power. About 12 lines in all.

Begin on paper: without padding, how many frames are there, and which sample is left out?
Afterwards read ``stft`` in ``torch/functional.py``, in site-packages: which of your steps does it
do in Python?
"""

from __future__ import annotations

import torch
from torch.nn import functional as F


def frames(signal: torch.Tensor, size: int, hop: int, pad_mode: str | None) -> torch.Tensor:
    """Return a view with the frames of a (channels, samples) signal: (channels, frames, size).

    Each frame begins `hop` samples after the previous one; drop samples that do not fill a frame.
    `pad_mode` is a mode of ``F.pad``: pad by ``size // 2`` samples on each side. With None, do not
    pad, and return a view of `signal` itself.
    """
    # TODO: pad the signal, and unfold it.
    raise NotImplementedError("frames")


def spectrogram(
    signal: torch.Tensor,
    window: torch.Tensor,
    size: int,
    hop: int,
    *,
    pad_mode: str | None = "reflect",
    power: float | None = 2.0,
    normalized: str | None = None,
) -> torch.Tensor:
    """Return the spectrogram of a signal, (channels, size // 2 + 1, frames).

    `window` has at most `size` numbers, of the signal's dtype. Pad a shorter one with zeros on both
    sides; if their number is odd, the extra zero goes after it.

    `normalized` divides the spectrum by the root of `size` ("frame_length"), or by the root of the
    sum of the window's squares ("window"). Raise the spectrum's absolute values to `power`; with
    None, return it as complex numbers.
    """
    # TODO: centre the window, then transform, scale, and raise to the power.
    raise NotImplementedError("spectrogram")
