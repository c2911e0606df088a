"""A spectrogram: frames, a window and a Fourier transform.

``normalized=True`` in ``torch.stft``, and in torchaudio's ``Spectrogram``: two different numbers.
One divides by the root of the frame's length, the other by the root of the window's energy. Both
are a few lines of tensor code, and the frames are a view of the padded signal:

    signal            1 2 3 4 5
    padded        3 2 1 2 3 4 5 4 3         "reflect", half a frame on each side
    frame 0       3 2 1 2                   its sample 2 is sample 0 of the signal
    frame 1           1 2 3 4               size 4, hop 2
    frame 2               3 4 5 4

1. `frames`: pad, then ``Tensor.unfold``: other strides, the same storage.
2. `spectrogram`: times the window, which may be shorter than a frame; ``torch.fft.rfft``; then the
   scale and the power. About 12 lines in all.

Begin on paper: without padding, how many frames are there, and which sample is left out?
Afterwards read ``stft`` in ``torch/functional.py``, in site-packages: which of your steps does it
take in Python?
"""

from __future__ import annotations

import torch  # noqa: TC002 - your answer calls it
from torch.nn import functional as F  # noqa: F401 - F.pad has all modes


def frames(signal: torch.Tensor, size: int, hop: int, pad_mode: str | None) -> torch.Tensor:
    """Return the frames of a (channels, samples) signal: (channels, frames, size), a view.

    A frame begins `hop` samples after the one before it; what does not fill a frame is left out.
    `pad_mode` is one of ``F.pad``, which puts ``size // 2`` samples on each side; with None the
    view is one of `signal` itself.
    """
    # TODO: pad, and unfold.
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

    `window` has at most `size` numbers, of the signal's dtype; a shorter one is padded with zeros
    on both sides, with one more after it if their number is odd.

    `normalized` divides the spectrum by the root of `size` ("frame_length"), or by the root of the
    sum of the window's squares ("window"). The spectrum's absolute values are raised to `power`;
    with None it stays complex.
    """
    # TODO: the window in its place, the transform, the scale, the power.
    raise NotImplementedError("spectrogram")
