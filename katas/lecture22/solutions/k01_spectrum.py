"""See the frequencies of a sound, and what a window does to them."""

from __future__ import annotations

import torch


def cosine(turns: float, samples: int) -> torch.Tensor:
    """Return a float64 cosine that begins at 1 and makes `turns` turns in `samples` samples."""
    return torch.cos(2 * torch.pi * turns / samples * torch.arange(samples, dtype=torch.float64))


def hann(samples: int) -> torch.Tensor:
    """Return a Hann window, float64: 1/2 minus half a cosine of one turn."""
    return 0.5 - 0.5 * cosine(1, samples)


def magnitudes(x: torch.Tensor, window: torch.Tensor | None = None) -> torch.Tensor:
    """Return the absolute values of ``rfft`` along the last dim of x, windowed if asked."""
    return torch.fft.rfft(x if window is None else x * window).abs()


def picture(values: torch.Tensor) -> str:
    """Return a line for each bin, with four # per unit. Given."""
    return "\n".join(
        f"{k} {value:.2f} {'#' * round(4 * value)}".rstrip()
        for k, value in enumerate(values.tolist())
    )
