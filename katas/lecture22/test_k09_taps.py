"""Tests of k09_taps: the sum of the brief, and counts of the numbers that operators compute."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture22 import k09_taps as kata
from katas.lecture22.k09_taps import lowpass
from katas.lecture22.k09_taps import neighbours
from katas.lecture22.k09_taps import resample
from plugins.kit import unchanged


class Made(TorchDispatchMode):
    """Counts operators, and the numbers that they compute; a view computes none."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator, and count."""
        result = func(*args, **(kwargs or {}))
        self.operators += 1
        for each in result if isinstance(result, tuple | list) else (result,):
            if isinstance(each, torch.Tensor) and not func.is_view:
                self.numbers += each.numel()
        return result


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
    heads = [each.flatten()[:6].tolist() for each in (yours, expected)]
    says = f"{what}: yours is {heads[0]}, expected {heads[1]}\n".__add__
    torch.testing.assert_close(yours, expected, rtol=0, atol=gap, msg=says)


def summed(x: torch.Tensor, old: int, new: int) -> torch.Tensor:
    """Return the sum of the brief over all inputs."""
    cutoff = 0.99 * min(old, new)
    i = torch.arange(x.shape[-1], dtype=torch.float64)
    j = torch.arange(math.ceil(x.shape[-1] * new / old), dtype=torch.float64)
    weights = lowpass(cutoff * (i / old - j[:, None] / new)) * cutoff / old
    return torch.einsum("...i,ji->...j", x, weights)


@pytest.mark.parametrize(
    ("old", "new", "first", "taps"),
    [(1, 1, [-6, -5, -4], 14), (1, 2, [-6, -6, -5], 14), (3, 2, [-9, -8, -6], 20)],
)
def test_neighbours(old: int, new: int, first: list[int], taps: int) -> None:
    """Compare the indices for outputs 0, 1 and 2: each first one, and how many there are."""
    j = torch.arange(3)
    with unchanged(j=j):
        yours = neighbours(j, old, new)

    assert yours.dtype == torch.int64, f"your indices are {yours.dtype}, expected int64"
    right = [[*range(begin, begin + taps)] for begin in first]
    assert yours.tolist() == right, (
        f"from {old} to {new}, outputs 0 to 2: yours {yours.tolist()}, expected {right}"
    )


def test_neighbours_far_away() -> None:
    """At output 10 ** 12, float division is off by more than one input."""
    for j in (16_777_217, 10**12, 10**12 + 1):
        yours = neighbours(torch.tensor([j]), 16001, 15999)[0].tolist()
        middle = j * 16001 // 15999
        right = [*range(middle - 6, middle + 8)]
        assert yours == right, f"output {j}: your indices begin {yours[:2]}, expected {right[:2]}"


@pytest.mark.parametrize(
    ("old", "new", "samples"),
    [(2, 1, 40), (1, 2, 20), (3, 2, 41), (2, 3, 40), (48000, 32000, 37), (50, 49, 30)],
)
def test_the_sum_of_the_brief(old: int, new: int, samples: int) -> None:
    """All outputs, at both ends too; there may be fewer outputs than filters."""
    x = numbers(samples)
    with unchanged(x=x):
        yours = resample(x, old, new)

    close(yours, summed(x, old, new), f"{samples} samples, from {old} to {new}")


def test_every_length() -> None:
    """The number of outputs is rounded up."""
    for old, new in ((3, 2), (2, 3), (5, 4)):
        for samples in range(1, 8):
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
    """The input may be [2, 3, samples] or [1, samples], and any view."""
    x = numbers(2, 30, 3).transpose(1, 2)
    with unchanged(x=x):
        yours = resample(x, 3, 2)

    close(yours, summed(x, 3, 2), "x of shape [2, 3, 30]")
    close(resample(x[:1, 0], 3, 2), summed(x[:1, 0], 3, 2), "x of shape [1, 30]")


def test_no_samples() -> None:
    """The leading dims are kept."""
    for shape in ((0,), (2, 3, 0)):
        yours = resample(numbers(*shape), 3, 2)
        assert yours.shape == shape, f"for shape {[*shape]}, your shape is {[*yours.shape]}"


def test_dtype() -> None:
    """A float32 waveform stays float32; distances in float32 would be off by more than this."""
    x = numbers(1500).float()
    yours = resample(x, 1000, 999)

    assert yours.dtype == torch.float32, f"for float32, your result is {yours.dtype}"
    close(yours.double(), summed(x.double(), 1000, 999), "a float32 waveform", 2e-6)


@pytest.mark.parametrize("rows", [1, 5])
def test_numbers_made(rows: int) -> None:
    """From 2000 to 1999 there are 1999 outputs of 14 taps; a full matrix is 144 times as large."""
    x = numbers(rows, 2000)
    with Made() as made:
        yours = resample(x, 2000, 1999)

    count = rows * 1999 * 14
    assert yours.shape == (rows, 1999), f"yours has shape {[*yours.shape]}"
    assert made.numbers <= 40 * count, (
        f"your operators compute {made.numbers / count:.0f} numbers for each tap that counts,"
        f" expected at most 40. Do you build a matrix over all inputs, or over a whole stride?"
    )


def test_no_loop() -> None:
    """More outputs or more rows take no more operators."""
    counts = []
    for shape in ((1, 90), (1, 300), (4, 90)):
        with Made() as made:
            resample(numbers(*shape), 3, 2)
        counts.append(made.operators)
    assert len({*counts}) == 1, (
        f"operators for 90 samples, for 300, and for 4 rows of 90: {counts}, expected the same"
    )


def test_one_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 48000 to 32000 distances repeat after 2 outputs, of 20 taps each."""
    asked = []

    def count(t: torch.Tensor) -> torch.Tensor:
        asked.append(t.numel())
        return lowpass(t)

    monkeypatch.setattr(kata, "lowpass", count)
    resample(numbers(3, 900), 48000, 32000)
    assert 0 < sum(asked) <= 40, (
        f"`lowpass` is called for {sum(asked)} numbers, expected 40: 2 different filters of 20 taps"
    )


@pytest.mark.backend("torchaudio")
def test_torchaudio_resamples_alike() -> None:
    """The result is that of torchaudio, which multiplies by all the zeros."""
    x = numbers(2, 300)
    rates = ((100, 99), (48000, 44100), (8000, 16000))
    yours = [resample(x, old, new) for old, new in rates]
    from torchaudio.functional import resample as theirs  # noqa: PLC0415 - may be missing

    for mine, (old, new) in zip(yours, rates, strict=True):
        close(mine, theirs(x, old, new), f"from {old} to {new}, torchaudio's")
