"""Change the sampling rate with one strided convolution."""

from __future__ import annotations

import math
import struct
import tempfile
import wave
from pathlib import Path

import torch
from torch.nn import functional as F


# How many zeros of the sinc a filter keeps on each side, and what share of the band it passes.
ZEROS = 6
ROLLOFF = 0.99


def lowpass(t: torch.Tensor) -> torch.Tensor:
    """Return sinc(t) times a Hann window that ends at its sixth zero. Given."""
    t = t.clamp(-ZEROS, ZEROS)
    return torch.sinc(t) * torch.cos(t * math.pi / (2 * ZEROS)) ** 2


def save(path: Path, x: torch.Tensor, rate: int) -> Path:
    """Write samples between -1 and 1 as a WAV file with 16 bits per sample. Given."""
    numbers = (x * 32767).round().int().tolist()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(struct.pack(f"<{len(numbers)}h", *numbers))
    print(path)  # noqa: T201
    return path


def filters(old: int, new: int) -> torch.Tensor:
    """Return the filters of outputs 0 to new - 1, float64 [new, reach + old + reach].

    Divide both rates by their greatest common divisor first. Column k is for input k - reach, and
    reach is the smallest integer that is at least ZEROS * old / cutoff.
    """
    divisor = math.gcd(old, new)
    old, new = old // divisor, new // divisor
    cutoff = ROLLOFF * min(old, new)
    reach = math.ceil(ZEROS * old / cutoff)
    i = torch.arange(-reach, reach + old, dtype=torch.float64)
    j = torch.arange(new, dtype=torch.float64)
    return lowpass(cutoff * (i / old - j[:, None] / new)) * cutoff / old


def resample(x: torch.Tensor, old: int, new: int) -> torch.Tensor:
    """Return x, [..., samples], resampled to [..., ceil(samples * new / old)], in x's dtype.

    Treat samples outside x as 0. `samples` may be 0.
    """
    divisor = math.gcd(old, new)
    old, new = old // divisor, new // divisor
    weights = filters(old, new).to(x.dtype)
    reach = (weights.shape[1] - old) // 2
    padded = F.pad(x, (reach, reach + old))
    y = F.conv1d(padded.reshape(-1, 1, padded.shape[-1]), weights[:, None], stride=old)
    y = y.mT.reshape(*x.shape[:-1], -1)
    return y[..., : -(-x.shape[-1] * new // old)]


def main(folder: Path) -> list[Path]:
    """Write a rising tone, every third sample of it, and your output, as WAV files. Given."""
    t = torch.arange(48000 * 2, dtype=torch.float64) / 48000
    x = torch.sin(2 * math.pi * (200 + 5500 * t) * t) / 2
    after = resample(x, 48000, 16000)
    return [
        save(folder / "before.wav", x, 48000),
        save(folder / "every_third.wav", x[::3], 16000),
        save(folder / "after.wav", after, 16000),
    ]


if __name__ == "__main__":
    main(Path(tempfile.mkdtemp()))
