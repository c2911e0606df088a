"""Build ``torch.stft`` from a view and one transform.

A spectrogram has a column every 10 ms, each of 25 ms of sound, so each sample is in two or three
frames. Copied, a second of 16000 floats (64 kB) becomes 157 kB before anything is computed. Frames
need no copy: they are the sound with different strides.

    sound       0 1 2 3 4 5 6 7 8        strides (1,)
    frame 0     0 1 2 3
    frame 1         2 3 4 5              size 4, hop 2: strides (2, 1)
    frame 2             4 5 6 7          sample 8 fills no frame

1. `frames`: a view of the signal. ``Tensor.unfold`` creates one.
2. `stft`: window the frames, and transform all of them at once.

- Use no loop, and do not modify the inputs.

About 11 lines. Begin on paper: with center, which sample of the sound is at the middle of frame 0?
Afterwards read ``stft`` in ``torch/functional.py``, in site-packages. k15 of lecture 06 scales such
columns; here they may be complex, and k04 inverts `stft`.
"""

from __future__ import annotations

import torch


def frames(signal: torch.Tensor, size: int, hop: int) -> torch.Tensor:
    """Return the frames of a signal [..., samples] as a view, [..., frames, size].

    Each frame begins `hop` samples after the one before it. Samples that fill no frame are left
    out. A signal has at least `size` samples.
    """
    # TODO
    raise NotImplementedError("frames")


def stft(
    signal: torch.Tensor, n_fft: int, hop: int, window: torch.Tensor, *, center: bool = True
) -> torch.Tensor:
    """Return the transformed frames of a signal, [samples] or [batch, samples], one per column.

    The result is [bins, frames], or [batch, bins, frames], as a transposed view: nothing is copied
    to put bins first. There are ``n_fft // 2 + 1`` bins, or, for a complex signal, all `n_fft`.

    `window` is real and has at most `n_fft` numbers. Put zeros on both sides of a shorter one; if
    their number is odd, the extra zero goes at the end. With `center`, first pad the signal on both
    sides by ``n_fft // 2`` samples, in mode "reflect".
    """
    # TODO: in mode "reflect", F.pad wants a signal with two or three dims, not one.
    raise NotImplementedError("stft")
