"""Tests of k01_half_pixel: positions on paper, and `interpolate` of irrational values."""

from __future__ import annotations

import pytest
import torch

from katas.lecture21 import k01_half_pixel as kata
from katas.lecture21.k01_half_pixel import positions
from katas.lecture21.k01_half_pixel import resize
from plugins.kit import forbids
from plugins.kit import unchanged


def close(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare with tolerance 1e-12, dtype and shape included."""
    __tracebackhide__ = True
    message = f"{why}\nyours     {yours.tolist()}, {yours.dtype}\nexpected  {expected.tolist()}"
    torch.testing.assert_close(yours, expected, rtol=1e-12, atol=1e-12, msg=message)


def double(*values: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


def interpolated(x: torch.Tensor, length: int, *, align_corners: bool) -> torch.Tensor:
    """Return a signal as PyTorch resizes it."""
    made: torch.Tensor = torch.nn.functional.interpolate(
        x[None, None], size=length, mode="linear", align_corners=align_corners
    )
    return made[0, 0]


def test_four_pixels_become_eight() -> None:
    """An output pixel is half as wide: its centre is 1/4 away from the nearest input centre."""
    expected = double(0.0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.0)
    why = "middle of output i: (i + 1/2) * 4 / 8 - 1/2, and never outside 0 to 3"
    close(positions(4, 8, align_corners=False), expected, why)


def test_corners_aligned() -> None:
    """Seven steps from the first centre to the last, where the input has three."""
    expected = double(*(3 * i / 7 for i in range(8)))
    why = "align_corners: the first is at 0, the last at 3, and seven steps are between them"
    close(positions(4, 8, align_corners=True), expected, why)


def test_one_output_pixel() -> None:
    """A single output pixel is in the middle; with corners aligned, PyTorch puts it at 0."""
    close(positions(6, 1, align_corners=False), double(2.5), "one output pixel for six")
    close(positions(6, 1, align_corners=True), double(0.0), "align_corners: one output pixel for 6")


def test_between_two_neighbours() -> None:
    """A quarter of the way is a quarter of the difference."""
    yours = resize(double(10.0, 20.0, 0.0, 8.0), 8, align_corners=False)
    expected = double(10.0, 12.5, 17.5, 15.0, 5.0, 2.0, 6.0, 8.0)
    close(yours, expected, "[10, 20, 0, 8] to eight values: at 1.25, 3/4 of x[1] and 1/4 of x[2]")


@pytest.mark.parametrize("align_corners", [False, True])
def test_interpolate_agrees(*, align_corners: bool) -> None:
    """Resizing agrees with PyTorch from any size to any other, larger or smaller."""
    for size in range(1, 9):
        x = torch.linspace(1, 3, size).double().sqrt().sin()
        for length in range(1, 12):
            expected = interpolated(x, length, align_corners=align_corners)
            with unchanged(x=x):
                yours = resize(x, length, align_corners=align_corners)
            close(yours, expected, f"{size} to {length}, align_corners={align_corners}")


def test_written_by_yourself() -> None:
    """Neither `interpolate` nor its operator computes it."""
    x = torch.linspace(1, 3, 5).double().sqrt()
    names = ("torch.nn.functional.interpolate", "torch.nn.functional.upsample", "torch.nn.Upsample")
    with forbids(kata, *names, operators=["aten::upsample_linear1d"]) as fresh:
        yours = fresh.resize(x, 7, align_corners=False)
    close(yours, interpolated(x, 7, align_corners=False), "5 to 7")
