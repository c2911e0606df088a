"""Tests of k11_anchors: boxes that fit on paper, and a coder that has to undo its codes."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture20.k11_anchors import anchors
from katas.lecture20.k11_anchors import decode
from katas.lecture20.k11_anchors import encode
from plugins.kit import unchanged


CLIP = math.log(1000 / 16)


def close(yours: torch.Tensor, expected: Any, why: str, tolerance: float = 1e-12) -> None:
    """Compare values, shape and dtype."""
    __tracebackhide__ = True
    right = expected if isinstance(expected, torch.Tensor) else torch.tensor(expected).to(yours)
    assert isinstance(yours, torch.Tensor), (
        f"{why}: your result is a {type(yours).__name__}, expected a tensor"
    )
    found = f"yours {yours.tolist() if yours.numel() < 40 else [*yours.shape]}"
    text = f"{why}\n{found}\nexpected {right.tolist() if right.numel() < 40 else [*right.shape]}"
    assert yours.shape == right.shape, (
        f"{text}: your shape is {[*yours.shape]}, expected {[*right.shape]}"
    )
    assert yours.dtype == right.dtype, (
        f"{text}: your dtype is {yours.dtype}, expected {right.dtype}"
    )
    torch.testing.assert_close(yours, right, rtol=tolerance, atol=tolerance, msg=text)


def some_boxes(n: int, seed: int = 0) -> torch.Tensor:
    """Return boxes of float64 with irrational corners, each at least half a pixel wide."""
    dice = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=dice, dtype=torch.float64) * 20
    x[:, 2:] = x[:, :2] + x[:, 2:].abs() + 0.5
    return x


def test_one_box_at_one_place() -> None:
    """A square of size 32 around the pixel (0, 0), not around the middle of a position."""
    yours = anchors((64, 64), (1, 1), [32.0], [1.0])
    close(yours, torch.tensor([[-16.0, -16, 16, 16]]), "size 32, ratio 1, one place, in float32")


def test_a_ratio_is_height_over_width() -> None:
    """Ratio 0.5 is a wide box of the same area; its corners are rounded, its sizes are not."""
    yours = anchors((64, 64), (1, 1), [32.0], [0.5])
    close(yours, [[-23.0, -11, 23, 11]], "size 32: 32 / sqrt(0.5) / 2 = 22.6, 32 * sqrt(0.5) / 2")
    yours = anchors((64, 64), (1, 1), [5.0, 7.0], [1.0])
    why = "size 5 and 7: the corners are 2.5 and 3.5, and torch.round goes to the even number"
    close(yours, [[-2.0, -2, 2, 2], [-4, -4, 4, 4]], why)


def test_the_order_at_one_place() -> None:
    """All sizes of the first ratio, then all sizes of the next."""
    yours = anchors((64, 64), (1, 1), [8.0, 16.0, 24.0], [0.25, 4.0])
    close(
        yours,
        [
            *([-8.0, -2, 8, 2], [-16, -4, 16, 4], [-24, -6, 24, 6]),
            *([-2.0, -8, 2, 8], [-4, -16, 4, 16], [-6, -24, 6, 24]),
        ],
        "sizes 8, 16 and 24; ratio 0.25 comes first",
    )


def test_places_go_row_by_row() -> None:
    """Height and width have strides of their own, image // grid: here 5 and 8."""
    yours = anchors((11, 24), (2, 3), [2.0], [1.0])
    places = [(0, 0), (8, 0), (16, 0), (0, 5), (8, 5), (16, 5)]
    expected = [[x - 1.0, y - 1, x + 1, y + 1] for x, y in places]
    close(yours, expected, "an image of 11 x 24 (height x width) on a grid of 2 x 3")


def test_corners_are_rounded_before_the_shift() -> None:
    """At an odd shift, half a pixel would round to a different even number."""
    yours = anchors((9, 9), (3, 3), [5.0], [1.0])
    places = [(x, y) for y in (0.0, 3.0, 6.0) for x in (0.0, 3.0, 6.0)]
    expected = [[x - 2, y - 2, x + 2, y + 2] for x, y in places]
    why = "size 5 on a stride of 3: corners 2.5 are 2 around (0, 0), and only then they are shifted"
    close(yours, expected, why)


def test_the_anchors_of_a_place_are_together() -> None:
    """A detector's head reads them as [rows, columns, anchors, 4]."""
    yours = anchors((60, 40), (3, 2), [4.0, 8.0], [1.0, 4.0])
    assert yours.shape == (24, 4), (
        f"3 * 2 positions, 4 anchors: your shape is {[*yours.shape]}, expected [24, 4]"
    )
    first = yours.view(3, 2, 4, 4)[0, 0]
    expected = torch.tensor([20.0, 40, 20, 40]) + first
    close(yours.view(3, 2, 4, 4)[2, 1], expected, "the four anchors of row 2, column 1")


def test_codes_of_one_box() -> None:
    """An anchor 2 wide and 4 high; the box is twice as wide, and its center is 1, 2 further."""
    given_boxes = torch.tensor([[0.0, 1, 4, 5]]), torch.tensor([[0.0, -1, 2, 3]])
    with unchanged(boxes=given_boxes[0], anchors=given_boxes[1]):
        yours = encode(*given_boxes)
    close(yours, [[5.0, 5, 5 * math.log(2), 0]], "10 * 1/2, 10 * 2/4, 5 * log 2, 5 * log 1", 1e-6)


def test_encode_keeps_float64() -> None:
    """Centers and sizes agree with the formula of the brief."""
    boxes, at = some_boxes(7), some_boxes(7, 1)
    w, h = at[:, 2] - at[:, 0], at[:, 3] - at[:, 1]
    expected = [
        10 * (boxes[:, 0] + boxes[:, 2] - at[:, 0] - at[:, 2]) / 2 / w,
        10 * (boxes[:, 1] + boxes[:, 3] - at[:, 1] - at[:, 3]) / 2 / h,
        5 * ((boxes[:, 2] - boxes[:, 0]) / w).log(),
        5 * ((boxes[:, 3] - boxes[:, 1]) / h).log(),
    ]
    close(encode(boxes, at), torch.stack(expected, 1), "seven boxes in float64")


def test_a_code_of_zeros_is_the_anchor() -> None:
    """A code of zeros gives the anchor, whatever the class; the dtype stays."""
    at = some_boxes(3)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
        codes = torch.zeros(3, 8, dtype=dtype)
        expected = at[:, None].expand(3, 2, 4).to(dtype)
        close(decode(codes, at.to(dtype)), expected, f"two classes, {dtype}", tolerance)


def test_each_class_has_four_numbers_in_a_row() -> None:
    """Columns 4 to 7 belong to class 1."""
    at = torch.tensor([[0.0, 0, 2, 4]])
    codes = torch.tensor([[0.0, 0, 0, 0, 10, 20, 5 * math.log(2), 0]])
    with unchanged(codes=codes, anchors=at):
        yours = decode(codes, at)
    why = "class 1: one width to the right, two heights down, twice as wide"
    close(yours, [[[0.0, 0, 2, 4], [1, 8, 5, 12]]], why, 1e-6)


def test_a_log_size_is_cut() -> None:
    """Only sizes, and only from above: exp(100) overflows in float32, exp(-100) does no harm."""
    at = torch.tensor([[0.0, 0, 16, 16]])
    yours = decode(torch.tensor([[0.0, 0, 500, 500]]), at)
    close(yours, [[[-492.0, -492, 508, 508]]], "log sizes of 100: 16 pixels grow to 1000", 1e-3)
    yours = decode(torch.tensor([[0.0, 0, -500, -500]]), at)
    close(
        yours,
        [[[8.0, 8, 8, 8]]],
        "log sizes of -100: the box is its center; CLIP is an upper limit only",
        1e-6,
    )
    yours = decode(torch.tensor([[1000.0, 0, 0, 0]]), at)
    close(yours, [[[1600.0, 0, 1616, 16]]], "dx = 100 is an offset, no log size", 1e-3)


@given(seed=st.integers(0, 1000), n=st.integers(1, 5))
def test_decode_brings_the_box_back(seed: int, n: int) -> None:
    """Decoding brings back each box that is at most 62.5 times as wide and high as its anchor."""
    boxes, at = some_boxes(n, seed), some_boxes(n, seed + 5000)
    codes = encode(boxes, at)
    keep = (codes[:, 2:] < 5 * CLIP).all(1)
    yours = decode(codes, at)[:, 0]
    close(yours[keep], boxes[keep], f"seed {seed}: decode(encode(boxes, anchors), anchors)", 1e-9)


def test_gradients_of_decode() -> None:
    """They agree with finite differences; where a log size is clamped, its code has gradient 0."""
    at = some_boxes(2)
    codes = torch.tensor([[0.3, -2.0, 30.0, 1.1], [4.0, 0.7, -1.3, 0.2]], dtype=torch.float64)
    codes.requires_grad_()
    agree = torch.autograd.gradcheck(lambda codes: decode(codes, at), codes, raise_exception=False)
    assert agree, "gradcheck: autograd and finite differences of `decode` differ"
    (grad,) = torch.autograd.grad(decode(codes, at).square().sum(), codes)
    assert grad[0, 2] == 0, f"dw = 30 / 5 is above log(62.5): gradient {grad[0, 2]}, expected 0"


def test_no_anchors() -> None:
    """An image in which nothing was proposed has boxes of shape [0, classes, 4]."""
    nothing = torch.empty(0, 4)
    close(encode(nothing, nothing), torch.empty(0, 4), "codes of no boxes")
    close(decode(torch.empty(0, 12), nothing), torch.empty(0, 3, 4), "three classes, no anchors")


@pytest.mark.backend("torchvision")
def test_torchvision_agrees() -> None:
    """Agree with torchvision's generator and coder on the same sizes, boxes and codes."""
    from torchvision.models.detection._utils import BoxCoder  # noqa: PLC0415 - may be missing
    from torchvision.models.detection.anchor_utils import AnchorGenerator  # noqa: PLC0415
    from torchvision.models.detection.image_list import ImageList  # noqa: PLC0415

    sizes, ratios = (32.0, 45.0), (0.5, 1.0, 2.0)
    images = ImageList(torch.zeros(1, 3, 100, 140), [(100, 140)])
    (theirs,) = AnchorGenerator((sizes,), (ratios,))(images, [torch.zeros(1, 1, 7, 9)])
    close(anchors((100, 140), (7, 9), sizes, ratios), theirs, "torchvision's AnchorGenerator")
    coder, boxes, at = BoxCoder((10.0, 10.0, 5.0, 5.0)), some_boxes(6), some_boxes(6, 1)
    close(encode(boxes, at), coder.encode_single(boxes, at), "torchvision's encode")
    codes = 3 * some_boxes(6, 2).repeat(1, 2)
    theirs = coder.decode_single(codes, at).view(6, 2, 4)
    close(decode(codes, at), theirs, "torchvision's decode")
