"""Tests of k03_nms: the definition in Python's floats, which are float64."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture20 import k03_nms as kata
from katas.lecture20.k03_nms import nms
from katas.lecture20.k03_nms import owners
from plugins.kit import unchanged


Box = tuple[float, float, float, float]

ROW: list[Box] = [(4.0 * k, 0.0, 4.0 * k + 10, 10.0) for k in range(5)]
NAN = math.nan


def share(a: Box, b: Box) -> float:
    """Return the IoU of two boxes."""
    both = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both
    return both / union if union > 0 else 0.0


def defined(boxes: list[Box], scores: list[float], threshold: float) -> tuple[list[int], list[int]]:
    """Return owners and survivors by the definition."""
    kept: list[int] = []
    owner = []
    for i in sorted(range(len(scores)), key=lambda i: (scores[i] == scores[i], -scores[i], i)):
        above = [k for k in kept if share(boxes[k], boxes[i]) > threshold]
        owner.append((i, above[0] if above else i))
        kept += [] if above else [i]
    return [mine for _, mine in sorted(owner)], kept


def check(
    boxes: list[Box],
    scores: list[float],
    threshold: float,
    why: str,
    dtype: torch.dtype = torch.float64,
) -> None:
    """Compare owners and survivors with the definition."""
    __tracebackhide__ = True
    given_boxes = torch.tensor(boxes, dtype=dtype).reshape(-1, 4)
    given_scores = torch.tensor(scores, dtype=torch.float64)
    with unchanged(boxes=given_boxes, scores=given_scores):
        mine, kept = (f(given_boxes, given_scores, threshold) for f in (owners, nms))
    scene = f"{len(boxes)} boxes {boxes[:8]}, scores {scores[:8]}, threshold {threshold}"
    for name, found, right in zip(
        ("owners", "nms"), (mine, kept), defined(boxes, scores, threshold), strict=True
    ):
        assert found.dtype == torch.int64, f"{name}: yours is {found.dtype}, expected torch.int64"
        numbers = found.tolist()
        assert len(numbers) == len(right), (
            f"{name}: yours has {len(numbers)} numbers, expected {len(right)}: {why}\n{scene}"
        )
        apart = [
            at for at, pair in enumerate(zip(numbers, right, strict=True)) if pair[0] != pair[1]
        ]
        assert not apart, (
            f"{name}[{apart[0]}]: yours {numbers[apart[0]]}, expected {right[apart[0]]}: {why}"
            f"\nyours     {numbers[:20]}\nexpected  {right[:20]}\n{scene}"
        )


def test_three_in_a_row() -> None:
    """A box that was dropped drops nobody."""
    check(ROW[:3], [0.9, 0.8, 0.7], 0.3, "box 1 has an owner, so it does not drop box 2")


def test_the_first_owner_is_kept() -> None:
    """Box 1 overlaps both survivors, and belongs to the better one."""
    check(ROW[:3], [0.9, 0.1, 0.7], 0.3, "box 1 already has an owner when box 2 is visited")


def test_survivors_are_listed_by_score() -> None:
    """Best score first, whatever their numbers."""
    check(ROW, [0.5, 0.1, 0.7, 0.2, 0.9], 0.3, "survivors are listed from the best to the worst")


def test_equal_scores() -> None:
    """The first of equal boxes survives, however many there are."""
    check([ROW[0]] * 3, [0.5] * 3, 0.5, "of equal scores the first comes first")
    scores = [(k % 3) / 2 for k in range(60)]
    check([ROW[k % 5] for k in range(60)], scores, 0.3, "of equal scores the first comes first")
    apart = [(20.0 * k, 0.0, 20.0 * k + 10, 10.0) for k in range(60)]
    check(apart, scores, 0.3, "all survive, and of equal scores the first comes first: sort stably")


def test_the_table_of_the_brief() -> None:
    """Two survivors of equal score, and who owns whom."""
    why = "a box that has an owner owns nobody, and of two equal scores the first comes first"
    check(ROW, [0.6, 0.9, 0.8, 0.9, 0.5], 0.3, why)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_equal_is_not_above(dtype: torch.dtype) -> None:
    """An IoU of 1/3 is not above 1/3 in float64; rounded to float32 it would be."""
    pair: list[Box] = [(0.0, 0.0, 2.0, 2.0), (1.0, 0.0, 3.0, 2.0)]
    for threshold in (1 / 3, math.nextafter(1 / 3, 0)):
        why = "compare in float64: what is equal to the threshold is not above it"
        check(pair, [0.9, 0.8], threshold, why, dtype)


def test_boxes_without_an_area() -> None:
    """A box without an area has an IoU of 0 with itself, and survives all the same."""
    flat: list[Box] = [(1.0, 1.0, 1.0, 1.0), (0.0, 0.0, 2.0, 2.0), (1.0, 0.0, 1.0, 2.0)]
    check(flat, [0.3, 0.2, 0.9], 0.0, "an empty box overlaps nobody, itself included: it survives")
    check(flat[:2], [0.3, 0.2], 1.0, "no IoU is above 1: each box owns itself")


def test_no_boxes() -> None:
    """Neither owners nor survivors, in int64."""
    check([], [], 0.5, "without boxes both are empty")


def test_special_scores() -> None:
    """NaN is the best score, as in torch.sort, and minus infinity is a score too."""
    why = "NaN comes first, as in argsort(descending=True); with -inf a box still takes part"
    check(ROW, [0.9, NAN, 0.8, -math.inf, 0.7], 0.3, why)
    check(ROW, [-math.inf, -math.inf, NAN, 0.0, -math.inf], 0.3, why)


def test_one_call_for_each_survivor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dropped box costs no call, and each call has the survivor alone on one side."""
    sizes: list[tuple[int, int]] = []
    original = kata.iou

    def counted(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        sizes.append((len(first), len(second)))
        return original(first, second)

    monkeypatch.setattr(kata, "iou", counted)
    boxes = torch.tensor([ROW[0], ROW[4]] * 20, dtype=torch.float64)
    scores = torch.linspace(1, 0, 40, dtype=torch.float64)
    found = owners(boxes, scores, 0.3)
    assert found.tolist() == [0, 1] * 20, f"yours {found.tolist()}, expected {[0, 1] * 20}"
    assert len(sizes) <= 2, (
        f"2 of 40 boxes survive: your code calls iou {len(sizes)} times, expected one call for each"
        " survivor"
    )
    large = [size for size in sizes if min(size) > 1]
    assert not large, f"your calls of iou have sizes {large}, expected one box on one side"


coordinate = st.integers(0, 5)
box = st.tuples(coordinate, coordinate, coordinate, coordinate).map(
    lambda c: (
        float(min(c[0], c[2])),
        float(min(c[1], c[3])),
        float(max(c[0], c[2])),
        float(max(c[1], c[3])),
    )
)


@given(
    scene=st.lists(st.tuples(box, st.sampled_from([0.1, 0.5, 0.9])), max_size=8),
    threshold=st.sampled_from([0.0, 0.2, 1 / 3, 0.5]),
)
def test_any_scene(scene: list[tuple[Box, float]], threshold: float) -> None:
    """Boxes with whole corners and a few scores: many ties, many IoUs equal to the threshold."""
    boxes, scores = [each for each, _ in scene], [score for _, score in scene]
    check(boxes, scores, threshold, "by the definition, one box after the other")


@pytest.mark.backend("torchvision")
def test_torchvision_agrees() -> None:
    """The same survivors as torchvision's nms in float64."""
    dice = torch.Generator().manual_seed(3)
    corners = 30 * torch.rand(80, 2, dtype=torch.float64, generator=dice)
    sides = 4 + 10 * torch.rand(80, 2, dtype=torch.float64, generator=dice)
    boxes, scores = (
        torch.cat([corners, corners + sides], 1),
        torch.randperm(80, generator=dice) / 80,
    )
    yours = nms(boxes, scores.double(), 0.3)
    from torchvision.ops import nms as theirs  # noqa: PLC0415 - may be missing

    right = theirs(boxes, scores.double(), 0.3)
    assert yours.equal(right), f"yours {yours.tolist()}, torchvision's {right.tolist()}"
