"""Tests of k08_resample: the sum of the brief, a tone that must not fold, and torchaudio."""

from __future__ import annotations

import math
import struct
import wave
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture22 import k08_resample as kata
from katas.lecture22.k08_resample import filters
from katas.lecture22.k08_resample import lowpass
from katas.lecture22.k08_resample import resample
from plugins.kit import unchanged


if TYPE_CHECKING:
    from pathlib import Path


class Convolutions(TorchDispatchMode):
    """Counts convolutions."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the operator, and run it."""
        self.count += func is torch.ops.aten.convolution.default
        return func(*args, **(kwargs or {}))


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Return irrational numbers in float64."""
    dice = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=dice)


def close(yours: torch.Tensor, expected: torch.Tensor, what: str, gap: float = 1e-12) -> None:
    """Compare shapes, then numbers."""
    __tracebackhide__ = True
    assert yours.shape == expected.shape, (
        f"{what}: yours has shape {[*yours.shape]}, expected {[*expected.shape]}"
    )
    says = f"{what}: yours is {yours.flatten()[:6].tolist()}, expected {{}}\n".format
    says_all = says(expected.flatten()[:6].tolist()).__add__
    torch.testing.assert_close(yours, expected, rtol=0, atol=gap, msg=says_all)


def summed(x: torch.Tensor, old: int, new: int) -> torch.Tensor:
    """Return the sum of the brief, with all weights in one matrix."""
    cutoff = 0.99 * min(old, new)
    i = torch.arange(x.shape[-1], dtype=torch.float64)
    j = torch.arange(math.ceil(x.shape[-1] * new / old), dtype=torch.float64)
    weights = lowpass(cutoff * (i / old - j[:, None] / new)) * cutoff / old
    return torch.einsum("...i,ji->...j", x, weights)


def tone(hertz: float, rate: int, samples: int) -> torch.Tensor:
    """Return a sine."""
    return torch.sin(torch.arange(samples, dtype=torch.float64) * (2 * math.pi * hertz / rate))


def test_one_filter() -> None:
    """From 2 to 1: one filter, reach 13 on each side; its middle is at output 0."""
    yours = filters(2, 1)

    assert yours.dtype == torch.float64, f"your filters are {yours.dtype}, expected float64"
    i = torch.arange(-13, 15, dtype=torch.float64)
    close(
        yours,
        (lowpass(0.99 * i / 2) * 0.99 / 2)[None],
        "one filter, reach 13: inputs -13 to 14",
    )


@pytest.mark.parametrize(("old", "new", "reach"), [(3, 2, 10), (2, 3, 7), (5, 4, 8), (1, 4, 7)])
def test_filters(old: int, new: int, reach: int) -> None:
    """There is a row for each of the first outputs; reach depends on whether the rate falls."""
    yours = filters(old, new)

    cutoff = 0.99 * min(old, new)
    rows = [[cutoff * (i / old - j / new) for i in range(-reach, reach + old)] for j in range(new)]
    expected = lowpass(torch.tensor(rows, dtype=torch.float64)) * cutoff / old
    close(yours, expected, f"filters from {old} to {new}, reach {reach}")


def test_rates_are_reduced() -> None:
    """From 48000 to 32000 is from 3 to 2."""
    close(filters(48000, 32000), filters(3, 2), "filters from 48000 to 32000")


@pytest.mark.parametrize(
    ("old", "new", "samples"),
    [(2, 1, 40), (1, 2, 20), (3, 2, 41), (2, 3, 40), (48000, 32000, 37), (441, 160, 300)],
)
def test_the_sum_of_the_brief(old: int, new: int, samples: int) -> None:
    """Compare all outputs, including those at both ends."""
    x = numbers(samples)
    with unchanged(x=x):
        yours = resample(x, old, new)

    close(yours, summed(x, old, new), f"{samples} samples, from {old} to {new}")


def test_every_length() -> None:
    """The number of outputs is rounded up."""
    for old, new in ((3, 2), (2, 3), (5, 4)):
        for samples in range(1, 12):
            x = numbers(samples)
            what = f"{samples} samples, from {old} to {new}"
            close(resample(x, old, new), summed(x, old, new), what)


def test_how_many_outputs() -> None:
    """From 147 to 160, 147 samples give 160; in floats, 147 * (160 / 147) is above 160."""
    yours = resample(numbers(147), 147, 160).shape[-1]
    assert yours == 160, (
        f"from 147 to 160, your code returns {yours} for 147 samples, expected 160. Round up in"
        f" integers: as a float, 147 * (160 / 147) is {147 * (160 / 147)}"
    )


def test_dims_in_front() -> None:
    """Each row of [2, 3, samples] or [1, samples] is resampled by itself. x may be any view."""
    x = numbers(2, 30, 3).transpose(1, 2)
    with unchanged(x=x):
        yours = resample(x, 3, 2)

    close(yours, summed(x, 3, 2), "x of shape [2, 3, 30]")
    close(resample(x[:1, 0], 3, 2), summed(x[:1, 0], 3, 2), "x of shape [1, 30]")


def test_no_samples() -> None:
    """The result is empty, and the leading dims are kept."""
    for shape in ((0,), (2, 3, 0)):
        yours = resample(numbers(*shape), 3, 2)
        assert yours.shape == shape, f"for shape {[*shape]}, your shape is {[*yours.shape]}"


def test_dtype() -> None:
    """A float32 waveform stays float32; the filters are computed in float64 all the same."""
    x = numbers(2, 50)
    yours = resample(x.float(), 3, 2)

    assert yours.dtype == torch.float32, f"for float32, your result is {yours.dtype}"
    close(yours.double(), summed(x, 3, 2), "a float32 waveform", 1e-6)


def test_one_convolution() -> None:
    """One call is enough for any number of rows and filters."""
    with Convolutions() as mode:
        resample(numbers(4, 60), 5, 4)

    count = mode.count
    assert count == 1, f"{count} convolutions for 4 rows and 4 filters, expected 1"


def test_ten_kilohertz() -> None:
    """A tone below 8 kHz keeps its level; every third sample would fold 10 kHz to 6 kHz."""
    middle = slice(200, 1400)
    low, high = tone(1000, 48000, 4800), tone(10000, 48000, 4800)
    kept = resample(low, 48000, 16000)[middle]
    close(kept, tone(1000, 16000, 1600)[middle], "a tone of 1 kHz", 2e-3)
    level = float(resample(high, 48000, 16000)[middle].abs().max())
    folded = float(high[::3].abs().max())
    assert level < 0.02, (
        f"10 kHz resampled to 16 kHz has level {level:.4f}, expected nearly 0 ([::3]: {folded})"
    )


def test_listen(tmp_path: Path) -> None:
    """The files that the module writes contain the sounds that it promises."""
    paths = kata.main(tmp_path)

    found = {}
    for path in paths:
        with wave.open(str(path)) as file:
            count = file.getnframes()
            samples = struct.unpack(f"<{count}h", file.readframes(count))
            found[path.name] = (file.getframerate(), torch.tensor(samples) / 32767)
    sizes = {name: (rate, len(x)) for name, (rate, x) in found.items()}
    expected = {
        "before.wav": (48000, 96000),
        "every_third.wav": (16000, 32000),
        "after.wav": (16000, 32000),
    }
    assert sizes == expected, f"rates and samples: yours {sizes}, expected {expected}"
    end = {name: float(x[-12000:].abs().max()) for name, (_, x) in found.items()}
    assert end["every_third.wav"] > 0.4, (
        f"levels at the end are {end}: expected over 0.4 in every_third.wav"
    )
    assert end["after.wav"] < 0.05, f"levels at the end are {end}: expected under 0.05 in after.wav"


@pytest.mark.backend("torchaudio")
def test_torchaudio_resamples_alike() -> None:
    """By default torchaudio resamples this way."""
    x = numbers(2, 300)
    yours = [resample(x, old, new) for old, new in ((3, 2), (48000, 44100), (8000, 16000))]
    from torchaudio.functional import resample as theirs  # noqa: PLC0415 - may be missing

    rates = ((3, 2), (48000, 44100), (8000, 16000))
    for mine, (old, new) in zip(yours, rates, strict=True):
        close(mine, theirs(x, old, new), f"from {old} to {new}, torchaudio's")
