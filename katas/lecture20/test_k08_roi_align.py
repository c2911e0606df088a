"""Tests of k08_roi_align: coordinates on paper, ramps, and a loop over points in float64."""

from __future__ import annotations

from math import floor
from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture20.k08_roi_align import points
from katas.lecture20.k08_roi_align import roi_align
from plugins.kit import unchanged
from plugins.kit import watched_operators


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(1000 * seed + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def close(yours: Any, expected: Any, why: str, tolerance: float = 1e-12) -> None:
    """Compare values, shape and dtype."""
    __tracebackhide__ = True
    assert isinstance(yours, torch.Tensor), (
        f"{why}: your result is a {type(yours).__name__}, expected a tensor"
    )
    right = (
        expected
        if isinstance(expected, torch.Tensor)
        else torch.tensor(expected, dtype=torch.float64).to(yours)
    )
    found, wanted = (x.tolist() if x.numel() < 30 else [*x.shape] for x in (yours, right))
    text = f"{why}\nyours {found}\nexpected {wanted}"
    assert yours.shape == right.shape, (
        f"{text}: your shape is {[*yours.shape]}, expected {[*right.shape]}"
    )
    assert yours.dtype == right.dtype, (
        f"{text}: your dtype is {yours.dtype}, expected {right.dtype}"
    )
    torch.testing.assert_close(yours, right, rtol=tolerance, atol=tolerance, msg=text)


def on_line(first: float, last: float, bins: int, samples: int, *, aligned: bool) -> torch.Tensor:
    """Call your function for one box in float64."""
    ends = [torch.tensor([x], dtype=torch.float64) for x in (first, last)]
    with unchanged(first=ends[0], last=ends[1]):
        return points(*ends, bins, samples, aligned=aligned)


def read(image: torch.Tensor, y: float, x: float) -> float:
    """Return a map's value between pixels, by the definition, for one channel."""
    high, wide = image.shape
    if not (-1 <= y <= high and -1 <= x <= wide):
        return 0.0
    y, x = min(max(y, 0.0), high - 1.0), min(max(x, 0.0), wide - 1.0)
    total = 0.0
    for row in (floor(y), floor(y) + 1):
        for column in (floor(x), floor(x) + 1):
            share = (1 - abs(y - row)) * (1 - abs(x - column))
            if share > 0:
                total += share * image[row, column].item()
    return total


def side(first: float, last: float, bins: int, samples: int, *, aligned: bool) -> list[list[float]]:
    """Return the coordinates of each bin of a box's side."""
    start, length = (first - 0.5, last - first) if aligned else (first, max(last - first, 1.0))
    step = length / bins / samples
    return [[start + (b * samples + s + 0.5) * step for s in range(samples)] for b in range(bins)]


def by_loop(
    maps: torch.Tensor,
    rois: torch.Tensor,
    size: tuple[int, int],
    scale: float,
    samples: int,
    *,
    aligned: bool,
) -> torch.Tensor:
    """Return what the definition says, point by point."""
    patches = torch.empty(len(rois), maps.shape[1], *size, dtype=torch.float64)
    for patch, (number, *box) in zip(patches, rois.tolist(), strict=True):
        x1, y1, x2, y2 = (scale * c for c in box)
        rows = side(y1, y2, size[0], samples, aligned=aligned)
        columns = side(x1, x2, size[1], samples, aligned=aligned)
        for channel, image in zip(patch, maps[int(number)], strict=True):
            for i, ys in enumerate(rows):
                for j, xs in enumerate(columns):
                    values = [read(image, y, x) for y in ys for x in xs]
                    channel[i, j] = sum(values) / len(values)
    return patches


def test_points_of_one_box() -> None:
    """Two bins from 2 to 6 pixels, one point in the middle of each."""
    close(on_line(2, 6, 2, 1, aligned=False), [[3.0, 5.0]], "2 to 6, two bins, not aligned")
    why = "2 to 6, two bins, aligned: pixel 2 covers 2 to 3, so half a pixel less"
    close(on_line(2, 6, 2, 1, aligned=True), [[2.5, 4.5]], why)
    expected = [[2.5, 3.5, 4.5, 5.5]]
    close(on_line(2, 6, 2, 2, aligned=False), expected, "2 to 6, two bins of two points each")


def test_points_of_a_short_box() -> None:
    """If not aligned, it becomes one pixel long; if aligned, an empty box's points coincide."""
    expected = [[3.125, 3.375, 3.625, 3.875]]
    close(on_line(3, 3, 2, 2, aligned=False), expected, "3 to 3, not aligned: 3 to 4 is read")
    close(on_line(3, 3.5, 2, 2, aligned=False), expected, "3 to 3.5, not aligned")
    why = "aligned boxes have no minimum length"
    close(on_line(3, 3, 2, 2, aligned=True), [[2.5] * 4], f"3 to 3, aligned: {why}")
    close(on_line(3, 3.8, 1, 1, aligned=True), [[2.9]], f"3 to 3.8, aligned: {why}")
    close(on_line(6, 2, 2, 1, aligned=True), [[4.5, 2.5]], f"6 back to 2, aligned: {why}")


def test_points_of_several_boxes() -> None:
    """Each box has a row, and float32 stays float32."""
    ends = torch.tensor([0.0, 2.0]), torch.tensor([3.0, 8.0])
    expected = [[0.5, 1.5, 2.5], [3.0, 5.0, 7.0]]
    close(points(*ends, 3, 1, aligned=False), expected, "0 to 3 and 2 to 8, three bins", 1e-6)


RAMP = torch.arange(10.0).double().expand(1, 1, 8, 10)


def test_a_ramp() -> None:
    """A map whose pixel i holds i shows where it was read: the same without grid_sample."""
    box = torch.tensor([[0.0, 2, 1, 6, 5]]).double()
    with unchanged(maps=RAMP, rois=box):
        yours = roi_align(RAMP, box, (2, 2), 1.0, 2, aligned=False)
    close(yours, [[[[3.0, 5.0], [3.0, 5.0]]]], "x from 2 to 6 in two bins, not aligned")
    yours = roi_align(RAMP, box, (2, 2), 1.0, 2, aligned=True)
    close(yours, [[[[2.5, 4.5], [2.5, 4.5]]]], "x from 2 to 6 in two bins, aligned")


def test_height_and_width_of_a_patch() -> None:
    """Three bins down, two across; the map falls instead of rising."""
    down = torch.arange(8.0).double()[:, None].expand(1, 1, 8, 10)
    box = torch.tensor([[0.0, 2, 1, 6, 7]]).double()
    yours = roi_align(down, box, (3, 2), 1.0, 1, aligned=False)
    close(yours, [[[[2.0, 2], [4, 4], [6, 6]]]], "y from 1 to 7 in three bins, x in two")


def test_scale_is_for_boxes() -> None:
    """A box of 16 to 48 pixels is 2 to 6 on a map of an eighth; then -0.5 for aligned ones."""
    box = torch.tensor([[0.0, 16, 8, 48, 40]]).double()
    for aligned, expected in ((False, 4.0), (True, 3.5)):
        yours = roi_align(RAMP, box, (1, 1), 0.125, 2, aligned=aligned)
        close(yours, [[[[expected]]]], f"x from 16 / 8 to 48 / 8, aligned={aligned}")


def test_each_box_has_its_image() -> None:
    """The first column says which image, and the scale does not change it."""
    maps = torch.tensor([1.0, 10, 100])[:, None, None, None].expand(3, 2, 8, 8).double()
    rois = torch.tensor([[2.0, 2, 2, 6, 6], [0, 2, 2, 6, 6], [2, 4, 4, 8, 8]]).double()
    yours = roi_align(maps, rois, (1, 1), 0.5, 1, aligned=True)
    expected = [[[[100.0]]] * 2, [[[1.0]]] * 2, [[[100.0]]] * 2]
    close(yours, expected, "boxes on images 2, 0 and 2 of constant maps")


@pytest.mark.parametrize("axis", ["x", "y"])
def test_outside_of_the_map(axis: str) -> None:
    """Up to one pixel outside reads the edge, further out 0; the last of 4 pixels is at 3."""
    ramp = torch.tensor([5.0, 6, 7, 8]).double()
    maps = ramp.expand(1, 1, 4, 4) if axis == "x" else ramp[:, None].expand(1, 1, 4, 4)
    where = [-2.0, -1.01, -1.0, -0.3, 0.0, 2.5, 3.0, 3.9, 4.0, 4.01, 6.0]
    expected = [0.0, 0.0, 5.0, 5.0, 5.0, 7.5, 8.0, 8.0, 8.0, 0.0, 0.0]
    start = torch.tensor(where).double() + 0.5  # aligned: an empty box, read at one point
    middle = torch.full_like(start, 2.0)
    pair = [start, middle] if axis == "x" else [middle, start]
    rois = torch.stack([torch.zeros_like(start), *pair, *pair], 1)
    yours = roi_align(maps, rois, (1, 1), 1.0, 1, aligned=True).flatten()
    # In float64 too, -1.01 + 0.5 - 0.5 may be a different number.
    wrong = [
        f"at {p}: yours {mine:.4g}, expected {right}"
        for p, mine, right in zip(where, yours.tolist(), expected, strict=True)
        if abs(mine - right) > 1e-9
    ]
    assert not wrong, f"4 pixels 5, 6, 7, 8 along {axis}, read " + "; ".join(wrong)


def test_a_bin_across_the_border() -> None:
    """Points beyond the border count in the mean: they add 0, and the divisor stays."""
    rois = torch.tensor([[0.0, -3, 1, 5, 3]]).double()
    yours = roi_align(torch.ones(1, 1, 4, 4).double(), rois, (1, 1), 1.0, 4, aligned=False)
    close(yours, [[[[0.75]]]], "ones, x at -2, 0, 2, 4: three points of four are on the map")


box_sides = st.floats(-3.0, 12.0)
CORNERS = [(-0.7, -0.4, 7.2, 5.1), (2.0, 2.0, 2.0, 2.0)]
ACROSS: dict[str, Any] = {
    "seed": 0,
    "corners": CORNERS,
    "size": (2, 3),
    "scale": 1.0,
    "samples": 2,
    "aligned": True,
}


@given(
    seed=st.integers(0, 100),
    corners=st.lists(st.tuples(box_sides, box_sides, box_sides, box_sides), min_size=1, max_size=3),
    size=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    scale=st.sampled_from([1.0, 0.5, 0.3]),
    samples=st.integers(1, 3),
    aligned=st.booleans(),
)
@example(**ACROSS)
@example(**ACROSS | {"aligned": False})
def test_any_boxes(
    *,
    seed: int,
    corners: list[tuple[float, float, float, float]],
    size: tuple[int, int],
    scale: float,
    samples: int,
    aligned: bool,
) -> None:
    """Agrees with the definition, point by point, on a map of 5 x 7 pixels."""
    maps = numbers(2, 2, 5, 7, seed=seed)
    rois = torch.tensor([[k % 2, *corner] for k, corner in enumerate(corners)]).double()
    # Points within rounding of the jump to 0 may be on either side of it.
    rois[:, 1:] += 1 / 3**20
    yours = roi_align(maps, rois, size, scale, samples, aligned=aligned)
    expected = by_loop(maps, rois, size, scale, samples, aligned=aligned)
    why = f"boxes {corners}, size {size}, scale {scale}, {samples} samples, aligned={aligned}"
    close(yours, expected, why, 1e-9)


def test_no_boxes_and_float32() -> None:
    """An image without proposals; and the dtype of the map."""
    maps = numbers(1, 3, 4, 4).float()
    yours = roi_align(maps, torch.empty(0, 5), (2, 3), 1.0, 2, aligned=True)
    close(yours, torch.empty(0, 3, 2, 3), "no boxes")
    rois = torch.tensor([[0.0, 0, 0, 3, 3]])
    yours = roi_align(maps, rois, (2, 2), 1.0, 2, aligned=True)
    expected = by_loop(maps, rois, (2, 2), 1.0, 2, aligned=True).float()
    close(yours, expected, "one box in float32", 1e-5)


def test_no_loop_over_boxes() -> None:
    """Thirty boxes take as many operators as two."""
    maps, counts = numbers(1, 2, 8, 8), []
    for boxes in (2, 30):
        rois = torch.tensor([[0.0, 1, 1, 5, 6]]).double().expand(boxes, 5)
        with watched_operators() as ran:
            roi_align(maps, rois, (3, 3), 1.0, 2, aligned=True)
        counts.append(len(ran))
    assert counts[0] == counts[1], (
        f"{counts[0]} operators for 2 boxes and {counts[1]} for 30: grid_sample takes a grid for"
        " each of a batch of maps, so there is no need for a loop"
    )


def test_gradients_of_the_map() -> None:
    """They agree with finite differences, across the border too."""
    rois = torch.tensor([[0.0, 0.7, 0.4, 3.3, 2.9], [0.0, -2.1, 1.2, 5.6, 6.3]]).double()
    maps = numbers(1, 2, 4, 4).requires_grad_()
    agree = torch.autograd.gradcheck(
        lambda maps: roi_align(maps, rois, (2, 2), 1.0, 2, aligned=True),
        maps,
        raise_exception=False,
    )
    assert agree, "gradcheck: autograd and finite differences of the map's gradient differ"


@pytest.mark.backend("torchvision")
def test_torchvision_agrees() -> None:
    """The operator of torchvision's detectors, on boxes inside, across and beyond the border."""
    from torchvision.ops import roi_align as theirs  # noqa: PLC0415 - may be missing

    maps, rois = numbers(2, 3, 9, 12), numbers(20, 5, seed=1) * 6 + 5
    rois[:, 0] = torch.arange(20) % 2
    rois[:, 3:] = rois[:, 1:3] + rois[:, 3:].abs()
    for aligned in (False, True):
        yours = roi_align(maps, rois, (3, 4), 0.6, 2, aligned=aligned)
        expected = theirs(maps, rois, (3, 4), 0.6, 2, aligned)
        close(yours, expected, f"torchvision.ops.roi_align, aligned={aligned}")
