"""A spectrogram: frames, a window and a Fourier transform."""

from __future__ import annotations

import torch
from torch.nn import functional as F


def frames(signal: torch.Tensor, size: int, hop: int, pad_mode: str | None) -> torch.Tensor:
    """Return a view with the frames of a (channels, samples) signal: (channels, frames, size)."""
    if pad_mode is not None:
        signal = F.pad(signal, (size // 2, size // 2), pad_mode)
    return signal.unfold(-1, size, hop)


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
    left = (size - len(window)) // 2
    weights = F.pad(window, (left, size - len(window) - left))
    result = torch.fft.rfft(frames(signal, size, hop, pad_mode) * weights).mT
    if normalized == "frame_length":
        result = result / size**0.5
    if normalized == "window":
        result = result / window.square().sum().sqrt()
    return result if power is None else result.abs() ** power
