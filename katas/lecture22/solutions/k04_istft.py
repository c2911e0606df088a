"""Go back from a spectrum to the sound, even from a spectrum that no sound has."""

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
    """Return the sums of frames [..., frames, size] that begin `hop` samples apart."""
    count, size = frames.shape[-2:]
    samples = size + hop * (count - 1)
    places = torch.arange(samples).unfold(0, size, hop).flatten()
    silence = frames.new_zeros(*frames.shape[:-2], samples)
    return silence.index_add(-1, places, frames.flatten(-2))


def istft(
    spectrum: torch.Tensor, n_fft: int, hop: int, window: torch.Tensor, *, center: bool = True
) -> torch.Tensor:
    """Return the sound, [samples] or [batch, samples], of a spectrum as torch.stft returns it."""
    frames = torch.fft.irfft(spectrum.mT, n_fft) * window
    squares = window.square().expand(frames.shape[-2:])
    sound, envelope = overlap_add(frames, hop), overlap_add(squares, hop)
    if center:
        kept = slice(n_fft // 2, len(envelope) - n_fft // 2)
        sound, envelope = sound[..., kept], envelope[kept]
    refuse_gaps(envelope)
    return sound / envelope
