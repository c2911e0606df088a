"""Tests of k04_antialias: small matrices by hand, then `interpolate` with antialias=True."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import interpolate

from katas.lecture21 import k04_antialias as kata
from katas.lecture21.k04_antialias import cubic
from katas.lecture21.k04_antialias import shrink
from katas.lecture21.k04_antialias import triangle
from katas.lecture21.k04_antialias import weights
from plugins.kit import forbids
from plugins.kit import unchanged


KERNELS = {"bilinear": triangle, "bicubic": cubic}


def close(yours: torch.Tensor, expected: torch.Tensor, why: str, within: float = 1e-12) -> None:
    """Compare, dtype and shape included."""
    __tracebackhide__ = True
    assert yours.dtype == expected.dtype, (
        f"{why}: yours is {yours.dtype}, expected {expected.dtype}"
    )
    message = f"{why}\nyours, {yours.dtype}: {yours}\nexpected: {expected}"
    torch.testing.assert_close(yours, expected, rtol=within, atol=within, msg=message)


def double(*values: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


def numbers(*shape: int) -> torch.Tensor:
    """Return irrational float64 numbers."""
    return torch.arange(1, torch.Size(shape).numel() + 1).double().sqrt().sin().reshape(shape)


def test_triangle() -> None:
    """1 in the middle, 0 at a distance of 1 or more, on both sides."""
    at = double(0.0, 0.25, -0.25, 1.0, -1.5)
    with unchanged(at=at):
        close(triangle(at), double(1.0, 0.75, 0.75, 0.0, 0.0), f"triangle at {at.tolist()}")


def test_cubic() -> None:
    """Negative between 1 and 2; with a = -0.5 it is -1/16 at 1.5."""
    at = double(0.0, 0.5, -0.5, 1.0, 1.5, -1.5, 2.0, 3.0)
    expected = double(1.0, 0.5625, 0.5625, 0.0, -0.0625, -0.0625, 0.0, 0.0)
    with unchanged(at=at):
        close(cubic(at), expected, f"cubic with a = -0.5 at {at.tolist()}")


def test_four_to_two() -> None:
    """Output 0 is at 1, its pixels at 0.5, 1.5 and 2.5: 1/4, 1/4 and 3/4 steps away."""
    expected = torch.tensor([[0.75, 0.75, 0.25, 0.0], [0.0, 0.25, 0.75, 0.75]]).double() / 1.75
    close(weights(4, 2, triangle), expected, "4 to 2: 3/4, 3/4 and 1/4, divided by their sum")


def test_weights_below_zero() -> None:
    """Output 0 is 1/4, 1/4, 3/4 and 5/4 steps from the pixels: the last has a weight below 0."""
    rows = [[111.0, 111.0, 29.0, -9.0], [-9.0, 29.0, 111.0, 111.0]]
    why = "4 to 2, cubic: 111, 111, 29 and -9 (times 1/128), divided by their sum, which is 242"
    close(weights(4, 2, cubic), torch.tensor(rows).double() / 242, why)


def test_two_to_four() -> None:
    """Enlarging is plain linear interpolation: the filter does not become narrower than a pixel."""
    rows = [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]
    close(weights(2, 4, triangle), torch.tensor(rows).double(), "2 to 4: the step counts as 1")


@pytest.mark.parametrize("mode", KERNELS)
def test_interpolate_agrees(mode: str) -> None:
    """In both directions at once, larger and smaller, with steps that are not integers."""
    for h, w, height, width in (
        (9, 7, 4, 3),
        (5, 13, 5, 2),
        (3, 4, 7, 9),
        (12, 5, 1, 8),
        (1, 1, 2, 3),
    ):
        image = numbers(2, 3, h, w)
        expected = interpolate(image, (height, width), mode=mode, antialias=True)
        with unchanged(image=image):
            yours = shrink(image, height, width, KERNELS[mode])
        close(yours, expected, f"{mode}, an image of float64, {h} x {w} to {height} x {width}")


def test_in_the_dtype_of_the_image() -> None:
    """float32 in, float32 out; and without batch or channels."""
    image = numbers(9, 7).float()
    expected = interpolate(image[None, None], (4, 3), mode="bilinear", antialias=True)[0, 0]
    close(shrink(image, 4, 3, triangle), expected, "an image [9, 7] of float32", 1e-5)


def test_a_checkerboard_is_gray() -> None:
    """Shrunk to a third: if only every third pixel is read, it stays a checkerboard."""
    board = (torch.arange(48)[:, None] + torch.arange(48)).remainder(2).double()
    plain = interpolate(board[None, None], (16, 16), mode="bilinear").std().item()
    yours = shrink(board, 16, 16, triangle)[2:-2, 2:-2].std().item()
    assert yours < 0.01, (
        f"std of a checkerboard at a third: yours {yours:.4f}, plain {plain:.4f},"
        " expected below 0.01"
    )


def test_gradients_come_back() -> None:
    """Shrinking is two matrix products, so autograd can differentiate it."""
    image = numbers(1, 1, 6, 5).requires_grad_()
    result, grad = shrink(image, 3, 2, cubic), numbers(1, 1, 3, 2)
    assert result.requires_grad, (
        "the result does not require grad, so nothing before the resize learns"
    )
    (yours,) = torch.autograd.grad(result, image, grad)
    made = interpolate(image, (3, 2), mode="bicubic", antialias=True)
    close(yours, torch.autograd.grad(made, image, grad)[0], "the gradient of the image")


def test_written_by_yourself() -> None:
    """Neither `interpolate` nor its operators compute it."""
    names = ("torch.nn.functional.interpolate", "torch.nn.functional.upsample", "torch.nn.Upsample")
    operators = ["aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa"]
    with forbids(kata, *names, operators=operators) as fresh:
        fresh.shrink(numbers(5, 5), 2, 2, fresh.triangle)
