"""Build ``torch.stft`` from a view and one transform, by strides."""

from __future__ import annotations

import torch


def frames(signal: torch.Tensor, size: int, hop: int) -> torch.Tensor:
    """Return the frames of a signal [..., samples] as a view, [..., frames, size]."""
    count = 1 + (signal.shape[-1] - size) // hop
    *batch, step = signal.stride()
    sizes = (*signal.shape[:-1], count, size)
    return signal.as_strided(sizes, (*batch, hop * step, step), signal.storage_offset())


def stft(
    signal: torch.Tensor, n_fft: int, hop: int, window: torch.Tensor, *, center: bool = True
) -> torch.Tensor:
    """Return the transformed frames of a signal, [samples] or [batch, samples], one per column."""
    whole = window.new_zeros(n_fft)
    start = (n_fft - len(window)) // 2
    whole[start : start + len(window)] = window
    if center:
        half = n_fft // 2
        left, right = signal[..., 1 : half + 1], signal[..., -half - 1 : -1]
        signal = torch.cat([left.flip(-1), signal, right.flip(-1)], -1)
    windowed = frames(signal, n_fft, hop) * whole
    if signal.is_complex():
        return torch.fft.fft(windowed, dim=-1).transpose(-1, -2)
    return torch.fft.rfft(windowed, dim=-1).transpose(-1, -2)
