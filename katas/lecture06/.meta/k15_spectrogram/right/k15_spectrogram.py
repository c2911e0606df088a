"""A spectrogram: frames by as_strided, and the transform's own norm."""

from __future__ import annotations

import torch
from torch.nn.functional import pad


def frames(signal: torch.Tensor, size: int, hop: int, pad_mode: str | None) -> torch.Tensor:
    """Return the frames of a (channels, samples) signal: (channels, frames, size), a view."""
    if pad_mode is not None:
        half = size // 2
        signal = pad(signal, (half, half), mode=pad_mode)
    channels, samples = signal.shape
    far, near = signal.stride()
    shape = (channels, (samples - size) // hop + 1, size)
    return signal.as_strided(shape, (far, hop * near, near))


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
    """Return the spectrogram of a signal, (channels, size // 2 + 1, frames)."""
    short = size - len(window)
    whole = torch.cat([window.new_zeros(short // 2), window, window.new_zeros(short - short // 2)])
    norm = "ortho" if normalized == "frame_length" else "backward"
    result = torch.fft.rfft(frames(signal, size, hop, pad_mode) * whole, norm=norm)
    if normalized == "window":
        result = result / torch.linalg.vector_norm(window)
    result = result.transpose(1, 2)
    if power is None:
        return result
    return result.abs().pow(power)
