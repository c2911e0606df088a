"""Play faster, at the same pitch: a phase vocoder."""

from __future__ import annotations

import math
import struct
import tempfile
import wave
from pathlib import Path

import torch


# Samples in a frame, and samples from one frame to the next.
N = 1024
HOP = 256


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


def vocode(spec: torch.Tensor, rate: float) -> torch.Tensor:
    """Return spec, complex [..., bins, columns], at times 0, rate, 2 * rate, ... below `columns`.

    The last column is followed by a column of zeros. The result has the dtype of `spec`.
    """
    times = torch.arange(0, spec.shape[-1], rate, dtype=torch.float64)
    first = times.long()
    spec = torch.cat([spec, torch.zeros_like(spec[..., :1])], -1)
    here, there = spec[..., first], spec[..., first + 1]
    turn = there.angle() - here.angle()
    phase = torch.cat([here[..., :1].angle(), turn[..., :-1]], -1).cumsum(-1)
    part = times - first
    level = (1 - part) * here.abs() + part * there.abs()
    return torch.polar(level, phase.double()).to(spec.dtype)


def stretch(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Return x, [samples] or [rows, samples], as round(samples / rate) samples at the same pitch.

    Frames have N samples and a periodic Hann window, HOP samples apart; `samples` exceeds N / 2.
    """
    window = torch.hann_window(N, dtype=x.dtype)
    spec = torch.stft(x, N, HOP, window=window, return_complex=True)
    length = round(x.shape[-1] / rate)
    return torch.istft(vocode(spec, rate), N, HOP, window=window, length=length)


def main(folder: Path) -> list[Path]:
    """Write a chord, every second column of it, and your output at double speed, as WAV. Given."""
    t = torch.arange(32000, dtype=torch.float64) / 16000
    x = sum(torch.cos(2 * math.pi * hertz * t) for hertz in (470, 595, 720)) * 0.25
    window = torch.hann_window(N, dtype=x.dtype)
    spec = torch.stft(x, N, HOP, window=window, return_complex=True)
    dropped = torch.istft(spec[:, ::2], N, HOP, window=window, length=16000)
    after = stretch(x, 2.0)
    return [
        save(folder / "before.wav", x, 16000),
        save(folder / "every_second.wav", dropped, 16000),
        save(folder / "after.wav", after, 16000),
    ]


if __name__ == "__main__":
    main(Path(tempfile.mkdtemp()))
