"""Tests of k13_vocoder: phases added up bin by bin, tones that keep their pitch, and torchaudio."""

from __future__ import annotations

import cmath
import math
import struct
import wave
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture22 import k13_vocoder as kata
from katas.lecture22.k13_vocoder import stretch
from katas.lecture22.k13_vocoder import vocode
from plugins.kit import unchanged


if TYPE_CHECKING:
    from pathlib import Path


class Operators(TorchDispatchMode):
    """Counts operators."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count, and run it."""
        self.count += 1
        return func(*args, **(kwargs or {}))


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Return irrational numbers in float64."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=dice)


def columns(*shape: int) -> torch.Tensor:
    """Return irrational complex numbers."""
    return torch.complex(numbers(*shape), numbers(*shape, seed=1))


def close(yours: torch.Tensor, expected: torch.Tensor, what: str, gap: float = 1e-11) -> None:
    """Compare shapes, then numbers."""
    __tracebackhide__ = True
    assert yours.shape == expected.shape, (
        f"{what}: yours has shape {[*yours.shape]}, expected {[*expected.shape]}"
    )
    heads = [each.flatten()[:4].tolist() for each in (yours, expected)]
    says = f"{what}: yours is {heads[0]}, expected {heads[1]}\n".__add__
    torch.testing.assert_close(yours, expected, rtol=0, atol=gap, msg=says)


def walked(spec: torch.Tensor, rate: float) -> torch.Tensor:
    """Return what `vocode` should return for [bins, columns], number by number."""
    width = spec.shape[1]
    result = []
    for row in spec.tolist():
        phase = cmath.phase(row[0])
        numbers = []
        for n in range(math.ceil(width / rate)):
            column = int(n * rate)
            part = n * rate - column
            here, there = [*row, 0j][column : column + 2]
            numbers.append(cmath.rect((1 - part) * abs(here) + part * abs(there), phase))
            phase += cmath.phase(there) - cmath.phase(here)
        result.append(numbers)
    return torch.tensor(result, dtype=torch.complex128)


def cosine(hertz: float, samples: int = 16000) -> torch.Tensor:
    """Return a tone at 16 kHz."""
    return torch.cos(torch.arange(samples, dtype=torch.float64) * (2 * math.pi * hertz / 16000))


def loudest(x: torch.Tensor) -> tuple[float, float]:
    """Return frequency and level of the loudest tone in the middle half of a sound at 16 kHz."""
    middle = x.double()[len(x) // 4 : 3 * len(x) // 4]
    window = torch.hann_window(len(middle), dtype=torch.float64)
    spectrum = torch.fft.rfft(middle * window, 8 * len(middle)).abs()
    peak = int(spectrum.argmax())
    return peak * 16000 / (8 * len(middle)), float(spectrum[peak] / window.sum() * 2)


def test_rate_one() -> None:
    """Nothing changes."""
    spec = columns(5, 4)
    with unchanged(spec=spec):
        yours = vocode(spec, 1.0)

    close(yours, spec, "rate 1 returns spec itself")


def test_half_speed() -> None:
    """Two columns become four: the last is halfway to a column of zeros."""
    spec = columns(3, 2)
    yours = vocode(spec, 0.5)

    what = "levels at rate 0.5: the last output lies between the last column and zeros"
    close(yours.abs(), walked(spec, 0.5).abs(), what)
    close(yours, walked(spec, 0.5), "two columns at rate 0.5")


def test_each_bin_turns_by_itself() -> None:
    """A tone between two bins: each bin's phase turns by its own amount, and so does the output."""
    bins = torch.arange(9, dtype=torch.float64)[:, None]
    each = bins * (2 * math.pi * 4 / 16) + 0.3
    angles = each * torch.arange(6)
    yours = vocode(torch.polar(torch.ones_like(angles), angles), 2.0)

    expected = torch.polar(torch.ones_like(each), each).expand(9, 2)
    close(yours[:, 1:] / yours[:, :-1], expected, "turns at rate 2: those of one column")


@pytest.mark.parametrize("rate", [2.0, 1.25, 0.75, 1.3, 3.0, 0.25])
def test_number_by_number(rate: float) -> None:
    """Compare every bin of every output, both faster and slower."""
    spec = columns(9, 8)
    with unchanged(spec=spec):
        yours = vocode(spec, rate)

    close(yours, walked(spec, rate), f"8 columns at rate {rate}")


def test_dims_in_front() -> None:
    """Each channel and each row is handled by itself."""
    spec = columns(2, 3, 5, 7)
    yours = vocode(spec, 1.25)
    rows = [walked(each, 1.25) for each in spec.flatten(0, 1)]

    close(yours, torch.stack(rows).reshape(2, 3, 5, -1), "spec of shape [2, 3, 5, 7]")


def test_complex64() -> None:
    """The dtype is kept."""
    spec = columns(5, 7)
    yours = vocode(spec.to(torch.complex64), 0.75)

    assert yours.dtype == torch.complex64, f"for complex64, your result is {yours.dtype}"
    close(yours.to(torch.complex128), walked(spec, 0.75), "complex64", 1e-4)


def test_no_loop() -> None:
    """More columns or more bins take no more operators."""
    counts = []
    for shape in ((5, 7), (5, 40), (9, 7)):
        with Operators() as mode:
            vocode(columns(*shape), 1.25)
        counts.append(mode.count)
    assert len({*counts}) == 1, (
        f"operators for 7 columns, for 40, and for more bins: {counts}, expected the same"
    )


def test_stretch_at_rate_one() -> None:
    """Each row is transformed and comes back unchanged."""
    x = numbers(2, 3000)
    with unchanged(x=x):
        yours = stretch(x, 1.0)

    close(yours, x, "x of shape [2, 3000] at rate 1")
    close(stretch(x[0, :700], 1.0), x[0, :700], "x of shape [700] at rate 1")


@pytest.mark.parametrize("rate", [0.75, 1.5])
def test_stretch(rate: float) -> None:
    """Compare on noise, including both ends, with a periodic Hann window."""
    x = numbers(2501)
    yours = stretch(x, rate)
    window = torch.hann_window(1024, dtype=torch.float64)
    spec = torch.stft(x, 1024, 256, window=window, return_complex=True)
    right = walked(spec, rate)
    expected = torch.istft(right, 1024, 256, window=window, length=round(2501 / rate))

    close(yours, expected, f"2501 samples at rate {rate}: is the window periodic?", 1e-9)


@pytest.mark.parametrize("rate", [0.5, 2.0, 1.3])
def test_the_pitch_stays(rate: float) -> None:
    """470 Hz and its level are kept; every second column gives 440 Hz at a fifth of the level."""
    x = cosine(470).float()
    yours = stretch(x, rate)

    assert yours.dtype == torch.float32, f"for float32, your result is {yours.dtype}"
    length = round(16000 / rate)
    assert yours.shape == (length,), f"rate {rate}: yours is {[*yours.shape]}, expected {[length]}"
    hertz, level = loudest(yours)
    assert abs(hertz - 470) < 1, f"470 Hz at rate {rate}: your output is at {hertz:.1f} Hz"
    assert abs(level - 1) < 0.02, (
        f"rate {rate}: a tone of level 1 has level {level:.3f} in your output"
    )


def test_listen(tmp_path: Path) -> None:
    """The files that the module writes contain the sounds that it promises."""
    found = {}
    for path in kata.main(tmp_path):
        with wave.open(str(path)) as file:
            count = file.getnframes()
            samples = struct.unpack(f"<{count}h", file.readframes(count))
            found[path.name] = (file.getframerate(), torch.tensor(samples) / 32767)
    sizes = {name: (rate, len(x)) for name, (rate, x) in found.items()}
    expected = {
        "before.wav": (16000, 32000),
        "every_second.wav": (16000, 16000),
        "after.wav": (16000, 16000),
    }
    assert sizes == expected, f"rates and samples: yours {sizes}, expected {expected}"
    chord = {name: loudness(x) for name, (_, x) in found.items()}
    assert chord["before.wav"] > 0.7, f"levels of the chord: {chord}"
    assert chord["after.wav"] > 0.7, (
        f"levels of the chord: {chord}; your output contains a different chord"
    )


def loudness(x: torch.Tensor) -> float:
    """Return how much the three tones of the chord have in common with the middle of a sound."""
    middle = x.double()[len(x) // 4 : 3 * len(x) // 4]
    window = torch.hann_window(len(middle), dtype=torch.float64)
    t = torch.arange(len(middle), dtype=torch.float64) / 16000
    levels = [
        abs((middle * window * torch.polar(window * 0 + 1, -2 * math.pi * hertz * t)).sum())
        for hertz in (470, 595, 720)
    ]
    return float(sum(levels) / window.sum() * 2)


@pytest.mark.backend("torchaudio")
def test_torchaudio_stretches_alike() -> None:
    """The version in torchaudio takes an advance for each bin, which cancels: any value works."""
    spec = columns(2, 513, 9)
    rates = (0.5, 1.3, 2.0)
    yours = [vocode(spec, rate) for rate in rates]
    from torchaudio.functional import phase_vocoder  # noqa: PLC0415 - may be missing

    advance = numbers(513, 1, seed=2)
    for mine, rate in zip(yours, rates, strict=True):
        close(mine, phase_vocoder(spec, rate, advance), f"rate {rate}, torchaudio's", 1e-9)
