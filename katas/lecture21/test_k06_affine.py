"""Tests of k06_affine: pictures that slices and rot90 produce too, and a definition in pixels."""

from __future__ import annotations

from math import cos
from math import radians
from math import sin

import pytest
import torch

from katas.lecture21.k06_affine import both
from katas.lecture21.k06_affine import pixels
from katas.lecture21.k06_affine import shift
from katas.lecture21.k06_affine import turn
from katas.lecture21.k06_affine import whole
from katas.lecture21.k06_affine import zoom
from plugins.kit import unchanged


def close(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare with tolerance 1e-12, dtype and shape included."""
    __tracebackhide__ = True
    message = f"{why}\nyours, {yours.dtype}: {yours}\nexpected: {expected}"
    torch.testing.assert_close(yours, expected, rtol=1e-12, atol=1e-12, msg=message)


def numbers(*shape: int) -> torch.Tensor:
    """Return irrational float64 numbers."""
    return torch.arange(1, torch.Size(shape).numel() + 1).double().sqrt().sin().reshape(shape)


def read(image: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return the values at rows y and columns x [h, w], in pixels, 0 outside."""
    h, w = image.shape[-2:]
    found = torch.zeros(*image.shape[:2], *y.shape, dtype=image.dtype)
    top, left = y.floor(), x.floor()
    for rows, part in ((top, 1 - (y - top)), (top + 1, y - top)):
        for columns, share in ((left, 1 - (x - left)), (left + 1, x - left)):
            inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
            values = image[:, :, rows.long().clamp(0, h - 1), columns.long().clamp(0, w - 1)]
            found += values * (inside * part * share)
    return found


def grid(h: int, w: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return row and column of each pixel, counted from the middle of the image."""
    y, x = torch.arange(h).double() - (h - 1) / 2, torch.arange(w).double() - (w - 1) / 2
    return y[:, None].expand(h, w), x.expand(h, w)


def test_whole() -> None:
    """Each pixel is read at its own centre, and none between two pixels."""
    image = numbers(2, 3, 4, 6)
    with unchanged(image=image):
        yours = whole(image)
    close(yours, image, "the identity changes nothing")
    shared = yours.untyped_storage().data_ptr() == image.untyped_storage().data_ptr()
    assert not shared, "your result shares its memory with the image; expected a new image"


def test_zoom_by_two() -> None:
    """Four columns of the result are in the middle half of the image, half a pixel apart."""
    image = torch.tensor([[[[0.0, 4.0, 8.0, 4.0]] * 2]], dtype=torch.float64)
    expected = torch.tensor([[[[3.0, 5.0, 7.0, 7.0]] * 2]], dtype=torch.float64)
    close(zoom(image, 2.0), expected, "zoom by 2: columns 0.75, 1.25, 1.75 and 2.25 of 0 to 3")


@pytest.mark.parametrize("factor", [3.0, 0.7])
def test_zoom(factor: float) -> None:
    """In pixels from the middle: the same distance, divided by the factor."""
    image = numbers(2, 2, 5, 8)
    y, x = grid(5, 8)
    with unchanged(image=image):
        yours = zoom(image, factor)
    close(yours, read(image, y / factor + 2, x / factor + 3.5), f"zoom by {factor}")


def test_shift_by_whole_pixels() -> None:
    """Pixels keep their values, and 0 comes in at the edge."""
    image = torch.arange(1.0, 13.0, dtype=torch.float64).reshape(1, 1, 3, 4)
    expected = torch.zeros_like(image)
    expected[:, :, 1:, 2:] = image[:, :, :-1, :-2]
    close(shift(image, 2, 1), expected, f"2 to the right and 1 down, of {image.tolist()}")


@pytest.mark.parametrize(("right", "down"), [(-1.5, 0.25), (0.0, -2.0)])
def test_shift(right: float, down: float) -> None:
    """Fractions of a pixel, to the left and up."""
    image = numbers(2, 1, 5, 7)
    y, x = grid(5, 7)
    with unchanged(image=image):
        yours = shift(image, right, down)
    close(yours, read(image, y + 2 - down, x + 3 - right), f"shift by {right} and {down}")


def test_a_wide_picture_turned_by_90_degrees() -> None:
    """The square in the middle is what `rot90` returns, and nothing is squeezed."""
    image = torch.arange(1.0, 9.0, dtype=torch.float64).reshape(1, 1, 2, 4)
    expected = torch.zeros_like(image)
    expected[..., 1:3] = torch.rot90(image[..., 1:3], 1, (2, 3))
    close(turn(image, 90), expected, f"by 90 degrees counterclockwise, of {image.tolist()}")


@pytest.mark.parametrize("degrees", [30.0, -100.0])
def test_turn(degrees: float) -> None:
    """Any angle, in pixels from the middle."""
    image = numbers(2, 1, 7, 4)
    y, x = grid(7, 4)
    c, s = cos(radians(degrees)), sin(radians(degrees))
    with unchanged(image=image):
        yours = turn(image, degrees)
    close(yours, read(image, s * x + c * y + 3, c * x - s * y + 1.5), f"turn by {degrees} degrees")


def test_both() -> None:
    """To enlarge and then move is not to move and then enlarge."""
    enlarge = torch.tensor([[0.5, 0.0, 0.0], [0.0, 0.25, 0.0]], dtype=torch.float64)
    move = torch.tensor([[1.0, 0.0, -0.25], [0.0, 1.0, 0.5]], dtype=torch.float64)
    image = numbers(2, 1, 4, 8)
    y, x = grid(4, 8)
    with unchanged(image=image, enlarge=enlarge, move=move):
        first, second = both(image, enlarge, move), both(image, move, enlarge)
    why = "enlarge, then move: an output pixel is moved back, and then shrunk"
    close(first, read(image, (y + 1) / 4 + 1.5, (x - 1) / 2 + 3.5), why)
    why = "move, then enlarge: an output pixel is shrunk, and then moved back"
    close(second, read(image, y / 4 + 1 + 1.5, x / 2 - 1 + 3.5), why)


def test_pixels() -> None:
    """Row and column, as in indexing; between pixels the value is linear."""
    points = torch.tensor([[0.0, 3.0], [3.0, 0.0], [1.0, 6.0], [1.5, 2.0]], dtype=torch.float64)
    table = 10 * torch.arange(4.0, dtype=torch.float64)[:, None] + torch.arange(7)
    expected = torch.tensor([[[3.0, 30.0, 16.0, 17.0]]], dtype=torch.float64)
    why = f"an image of 10 * row + column, [1, 1, 4, 7], at {points.tolist()}"
    close(pixels(table[None, None], points), expected, why)
    image = numbers(2, 3, 4, 7)
    with unchanged(image=image, points=points):
        yours = pixels(image, points)
    rows = [image[:, :, 0, 3], image[:, :, 3, 0], image[:, :, 1, 6]]
    expected = torch.stack([*rows, (image[:, :, 1, 2] + image[:, :, 2, 2]) / 2], -1)
    close(yours, expected, f"values at {points.tolist()}, as row and column")
