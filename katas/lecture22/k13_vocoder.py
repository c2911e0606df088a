"""Play faster, at the same pitch: a phase vocoder.

Drop every second column of a spectrogram, and the sound is twice as fast. But a tone of 470 Hz, at
16 kHz, comes back as 440 Hz at a fifth of its level: the phases of the columns no longer join up.
So keep the levels, and compute new phases:

    column           3 ---- 4            turn = angle of column 4 - angle of column 3
    output at 3.25     ^                 level = 0.75 of column 3's + 0.25 of column 4's
    next output                          its phase = this output's phase + that turn

1. `vocode`: each bin on its own. The first output has the phase of column 0.
2. `stretch`: torch.stft, `vocode`, torch.istft. About 14 lines.

No loop runs over columns or bins. Begin on paper: with rate 1, what is the result?
Listen: ``python -m katas.lecture22.k13_vocoder`` writes three WAV files.
Afterwards see ``istft`` in ``torch/functional.py``, in site-packages. torchaudio's phase_vocoder
takes a phase_advance as well; it adds whole turns only, which change nothing. Real life differs:
phases of neighbouring bins drift apart, which sounds like a distant room.
"""

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
    # TODO
    raise NotImplementedError("vocode")


def stretch(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Return x, [samples] or [rows, samples], as round(samples / rate) samples at the same pitch.

    Frames have N samples and a periodic Hann window, HOP samples apart; `samples` exceeds N / 2.
    """
    # TODO
    raise NotImplementedError("stretch")


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
