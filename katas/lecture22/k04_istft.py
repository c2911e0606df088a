"""Go back from a spectrum to the sound, even from a spectrum that no sound has.

Edit a spectrogram, and its overlapping frames no longer agree on the samples that they share.
``torch.istft`` returns the sound whose frames come nearest: window each frame once more, add them
up where they overlap, and divide by the sum of the squared windows there:

    frame 0       a b c d
    frame 1           e f g h              hop 2
    added         a b c+e d+f g h

    envelope      the same with frames of window ** 2

1. `overlap_add`, which is to ``unfold`` what a transposed matrix is to the matrix. No loop.
2. `istft`: transform, window, add, remove the padding, divide.

Call the given `refuse_gaps` with the envelope of only the samples that you return: with `center`,
leave out the padded ones first.
About 13 lines.

Begin on paper: with a Hann window of 4 and hop 2, what is the envelope at samples 0 to 3?
Afterwards read ``istft`` in ``aten/src/ATen/native/SpectralOps.cpp``. Its overlap-add is an
operator that was written for another purpose.
"""

from __future__ import annotations

import torch


def refuse_gaps(envelope: torch.Tensor) -> None:
    """Raise ValueError if there is a sample that no window covers. Given."""
    least = envelope.min().item()
    if least < 1e-11:
        message = (
            f"window overlap add min: {least:.1e}: no window covers some sample; if it was padded,"
            " call this after you leave out what was padded"
        )
        raise ValueError(message)


def overlap_add(frames: torch.Tensor, hop: int) -> torch.Tensor:
    """Add up frames [..., frames, size] that begin `hop` samples apart: return [..., samples].

    The first frame begins at sample 0, and the last sample is the last one of the last frame.
    """
    # TODO: which sample does each number of each frame belong to?
    raise NotImplementedError("overlap_add")


def istft(
    spectrum: torch.Tensor, n_fft: int, hop: int, window: torch.Tensor, *, center: bool = True
) -> torch.Tensor:
    """Return the sound, [samples] or [batch, samples], of a spectrum as torch.stft returns it.

    `spectrum` is [bins, frames] or [batch, bins, frames], of a real sound; `window` has `n_fft`
    numbers. With `center`, ``n_fft // 2`` samples were padded on both sides: leave them out.
    """
    # TODO
    raise NotImplementedError("istft")
