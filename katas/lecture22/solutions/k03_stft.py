"""Build ``torch.stft`` from a view and one transform."""

from __future__ import annotations

import torch
from torch.nn import functional as F


def frames(signal: torch.Tensor, size: int, hop: int) -> torch.Tensor:
    """Return the frames of a signal [..., samples] as a view, [..., frames, size]."""
    return signal.unfold(-1, size, hop)


def stft(
    signal: torch.Tensor, n_fft: int, hop: int, window: torch.Tensor, *, center: bool = True
) -> torch.Tensor:
    """Return the transformed frames of a signal, [samples] or [batch, samples], one per column."""
    missing = n_fft - len(window)
    window = F.pad(window, (missing // 2, missing - missing // 2))
    if center:
        half = n_fft // 2
        padded = F.pad(signal[None], (half, half), mode="reflect")
        signal = padded[0]
    windowed = frames(signal, n_fft, hop) * window
    transform = torch.fft.fft if signal.is_complex() else torch.fft.rfft
    return transform(windowed).mT
