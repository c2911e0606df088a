"""Change the sampling rate with one strided convolution.

From 48 to 16 kHz, taking every third sample turns a tone of 9 kHz into one of 7 kHz: frequencies
above 8 kHz fold back. So the waveform must be filtered, and the filter can be evaluated at the new
times directly. Output j is a sum over all inputs i:

    cutoff = ROLLOFF * min(old, new)
    y[j] = sum of x[i] * lowpass(cutoff * (i / old - j / new)) * cutoff / old

    inputs     0     1     2     3     4     5     6       old = 3
    outputs    0        1        2        3        4       new = 2

Output 2 is as far from input 3 as output 0 from input 0. So there are only `new`
filters, and the next `new` outputs use them again, `old` inputs later.

1. `filters`: the weights, a row for each of the first `new` outputs.
2. `resample`: pad, then one `conv1d` for all outputs and rows. About 16 lines.

Begin on paper: what is the stride? How do you merge the results of two filters?
Listen: ``python -m katas.lecture22.k08_resample`` writes three WAV files.
Afterwards see ``conv1d`` in ``torch/nn/functional.py``, in site-packages; torchaudio resamples
like this.
"""

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
    # TODO
    raise NotImplementedError("filters")


def resample(x: torch.Tensor, old: int, new: int) -> torch.Tensor:
    """Return x, [..., samples], resampled to [..., ceil(samples * new / old)], in x's dtype.

    Treat samples outside x as 0. `samples` may be 0.
    """
    # TODO
    raise NotImplementedError("resample")


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
