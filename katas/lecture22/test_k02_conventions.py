"""Tests of k02_conventions: torch.fft computes the answers; your table is read without torch."""

from __future__ import annotations

import pytest
import torch

from katas.lecture22 import k02_conventions as kata
from plugins.kit import forbids


RULES = {
    "ones": '"backward" scales only the inverse, "ortho" both ways alike, "forward" only this way',
    "seven": "rfft keeps bins 0 to n // 2; irfft sees only bins, and assumes an even n",
    "complex": "bin 0 of a real sound is its sum, which is real: irfft ignores what is not",
    "even": "a bin that rfft leaves out is the mirror of one that it keeps; which have a mirror?",
    "odd": "a bin that rfft leaves out is the mirror of one that it keeps; which have a mirror?",
    "middle": "bin n / 2 is as much n / 2 as -n / 2 turns: fftfreq and rfftfreq choose differently",
}


def weights(samples: int) -> tuple[float, ...]:
    """Return the weights of the bins, solved from the energies of random sounds."""
    dice = torch.Generator().manual_seed(samples)
    x = torch.randn(20, samples, dtype=torch.float64, generator=dice)
    bins = torch.fft.rfft(x).abs().square() / samples
    return tuple(torch.linalg.lstsq(bins, x.square().sum(1)).solution.tolist())


def computed() -> dict[str, tuple[float, ...]]:
    """Return all rows, from torch."""
    seven = torch.fft.rfft(torch.arange(7.0))
    norms = ("backward", "ortho", "forward")
    return {
        "ones": tuple(torch.fft.fft(torch.ones(4), norm=norm)[0].real.item() for norm in norms),
        "seven": (len(seven), len(torch.fft.irfft(seven))),
        "complex": tuple(torch.fft.irfft(torch.tensor([4 + 9j, 0, 0])).tolist()),
        "even": weights(4),
        "odd": weights(5),
        "middle": (torch.fft.fftfreq(8)[4].item(), torch.fft.rfftfreq(8)[4].item()),
    }


def predicted() -> dict[str, tuple[float, ...]]:
    """Return your table, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.answers(), fresh.answers()
        assert rows == again, "`answers` returned a different table when called again"
        found: dict[str, tuple[float, ...]] = rows
        return found


def test_every_row_is_there() -> None:
    """Each row has as many numbers as the brief asks for."""
    rows, right = predicted(), computed()

    assert {*rows} == {*RULES}, f"your rows are {sorted(rows)}, expected {sorted(RULES)}"
    for name, row in right.items():
        found = len(rows[name])
        assert found == len(row), f"{name}: expected {len(row)} numbers; yours has {found}"


@pytest.mark.parametrize("name", RULES)
def test_row(name: str) -> None:
    """Each number is what torch computes."""
    rows = zip(predicted()[name], computed()[name], strict=True)
    missed = [k for k, (mine, theirs) in enumerate(rows) if mine != pytest.approx(theirs, abs=1e-6)]

    numbers = ", ".join(map(str, missed))
    assert not missed, f"{name}: torch disagrees at position {numbers}: {RULES[name]}"
