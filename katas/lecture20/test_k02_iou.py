"""Tests of k02_iou: pixels are counted, and gradcheck differentiates."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd.gradcheck import GradcheckError

from katas.lecture20.k02_iou import iou
from plugins.kit import unchanged
from plugins.kit import watched_operators


def boxes(count: int, seed: int) -> torch.Tensor:
    """Return irrational float64 boxes, of which many overlap."""
    dice = torch.Generator().manual_seed(seed)
    corners = 4 * torch.rand(count, 2, dtype=torch.float64, generator=dice) - 2
    return torch.cat([corners, corners + 0.5 + 2 * torch.rand_like(corners)], 1)


def painted(box: list[int]) -> set[tuple[int, int]]:
    """Return the pixels that a box covers."""
    return {(x, y) for x in range(box[0], box[2]) for y in range(box[1], box[3])}


def by_pixels(first: list[list[int]], second: list[list[int]]) -> torch.Tensor:
    """Return the IoU of each pair, by counting pixels."""
    rows = [
        [len(a & b) / max(1, len(a | b)) for b in map(painted, second)] for a in map(painted, first)
    ]
    return torch.tensor(rows, dtype=torch.float64).reshape(len(first), len(second))


def close(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare shape, dtype and values, to twelve digits."""
    __tracebackhide__ = True
    assert yours.dtype == torch.float64, f"{why}: yours is {yours.dtype}, expected torch.float64"
    assert yours.shape == expected.shape, (
        f"{why}: your shape is {list(yours.shape)}, expected {list(expected.shape)}"
    )
    torch.testing.assert_close(
        yours,
        expected,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: f"{why}\nyours {yours.tolist()}\nexpected {expected.tolist()}\n{text}",
    )


def test_one_pair() -> None:
    """3 pixels of 9 are shared."""
    a, b = torch.tensor([[0.0, 0.0, 2.0, 3.0]]), torch.tensor([[1.0, 0.0, 3.0, 3.0]])
    close(
        iou(a, b),
        torch.tensor([[1 / 3]], dtype=torch.float64),
        "2 x 3 and 2 x 3, of which 1 x 3 is shared",
    )
    tiny = torch.tensor([[0, 0, 1e-7, 1e-7]], dtype=torch.float64)
    close(
        iou(tiny, tiny),
        torch.ones(1, 1, dtype=torch.float64),
        "a box of 1e-7 x 1e-7 with itself: is the union changed by an epsilon? It has an area",
    )


def test_boxes_that_do_not_meet() -> None:
    """Two negative sides have a positive product, so each side is clamped at 0 first."""
    a = torch.tensor([[0, 0, 1, 1]]).double()
    b = torch.tensor([[2, 2, 3, 3], [2, 0, 3, 1], [0, 3, 1, 5], [1, 0, 2, 1]]).double()
    close(iou(a, b), torch.zeros(1, 4).double(), "0 0 1 1 and boxes apart from it, or that touch")


corner = st.integers(0, 6)
box = st.tuples(corner, corner, corner, corner).map(
    lambda c: [min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3])]
)


@given(first=st.lists(box, max_size=4), second=st.lists(box, max_size=4))
def test_every_pair_is_counted_pixels(first: list[list[int]], second: list[list[int]]) -> None:
    """Row i, column j is box i of the first and box j of the second; there may be no boxes."""
    a, b = (torch.tensor(each).double().reshape(-1, 4) for each in (first, second))
    with unchanged(first=a, second=b):
        yours = iou(a, b)
    close(yours, by_pixels(first, second), f"boxes {first} (rows) and {second} (columns)")


@pytest.mark.parametrize(
    ("dtype", "side", "shift"),
    [
        (torch.float16, 400, 100),
        (torch.bfloat16, 256, 64),
        (torch.int32, 60_000, 10_000),
        (torch.uint8, 200, 20),
        (torch.float32, 4097, 1),
        (torch.int64, 4096, 9000),
    ],
    ids=str,
)
def test_areas_that_do_not_fit(dtype: torch.dtype, side: int, shift: int) -> None:
    """Sides fit into the dtype, their product does not."""
    apart = min(255, side + shift) if dtype == torch.uint8 else side + shift
    rows = [[0, 0, side, side], [shift, 0, side + shift, side], [apart, apart, apart, apart]]
    given_ = torch.tensor(rows).to(dtype)
    wide = torch.tensor(rows).double()
    shared = max(0, side - shift) * side
    right = [[1.0, shared / (2 * side * side - shared), 0.0]]
    expected = torch.tensor(right, dtype=torch.float64)

    assert given_.double().equal(wide), f"the corners do not fit into {dtype}"
    yours = iou(given_[:1], given_)
    close(yours, expected, f"boxes of {side} x {side} in {dtype}: convert before you subtract")


@pytest.mark.parametrize(
    ("dtype", "first", "second"),
    [
        (torch.int8, [-100, 0, 100, 1], [-100, 0, 100, 1]),
        (torch.float16, [0.25, 0, 2048, 1], [0, 0, 2048, 1]),
    ],
    ids=["int8", "float16"],
)
def test_sides_that_do_not_fit(dtype: torch.dtype, first: list[float], second: list[float]) -> None:
    """Coordinates fit into the dtype, and their difference does not."""
    given_ = torch.tensor([first, second]).to(dtype)
    assert given_.tolist() == [first, second], f"the corners do not fit into {dtype}"
    right = (first[2] - first[0]) / (second[2] - second[0])
    close(
        iou(given_[:1], given_[1:]),
        torch.tensor([[right]], dtype=torch.float64),
        f"boxes {first} and {second} in {dtype}: a side is rounded or wraps around, so convert"
        " before you subtract",
    )


def test_gradcheck() -> None:
    """The gradient agrees with finite differences; where boxes are apart it is 0."""
    a, b = boxes(3, 1).requires_grad_(), boxes(4, 2).requires_grad_()
    assert iou(a, b).requires_grad, "your result does not require grad, although the boxes do"
    try:
        torch.autograd.gradcheck(iou, (a, b))
    except GradcheckError as error:
        raise AssertionError(f"gradcheck says: {' '.join(str(error).split())}") from None


def test_no_loop() -> None:
    """600 pairs take no more operators than one pair."""
    counts = []
    for n, m in ((1, 1), (20, 30)):
        first, second = boxes(n, 3), boxes(m, 4)
        with watched_operators() as names:
            iou(first, second)
        counts.append(len(names))
    assert counts[1] <= counts[0], (
        f"your code takes {counts[0]} operators for one pair, and {counts[1]} for 20 x 30: give the"
        " first boxes a dim of size 1, and broadcasting gives all pairs"
    )


@pytest.mark.backend("torchvision")
def test_torchvision_agrees() -> None:
    """The same as box_iou in float64, where each pair has an area."""
    a, b = boxes(6, 5), boxes(7, 6)
    yours = iou(a, b)
    from torchvision.ops import box_iou  # noqa: PLC0415 - may be missing

    close(yours, box_iou(a, b), "torchvision's box_iou")
