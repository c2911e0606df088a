"""Tests of k06_batched: the oracle is the loop over classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture20 import k06_batched as kata
from katas.lecture20.k06_batched import batched_nms
from katas.lecture20.k06_batched import large
from katas.lecture20.k06_batched import negative
from plugins.kit import unchanged


if TYPE_CHECKING:
    import pytest


Case = tuple[torch.Tensor, torch.Tensor, torch.Tensor]

THRESHOLD = 0.5


def share(a: list[float], b: list[float]) -> float:
    """Return the IoU of two boxes."""
    both = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both
    return both / union if union > 0 else 0.0


def looped(boxes: torch.Tensor, scores: torch.Tensor, labels: torch.Tensor, at: float) -> list[int]:
    """Return who survives, comparing only boxes of the same class."""
    rows, classes, kept = boxes.tolist(), labels.tolist(), list[int]()
    for i in scores.argsort(descending=True, stable=True).tolist():
        mine = [k for k in kept if classes[k] == classes[i]]
        if not any(share(rows[k], rows[i]) > at for k in mine):
            kept.append(i)
    return kept


def by_shifting(
    boxes: torch.Tensor, scores: torch.Tensor, labels: torch.Tensor, at: float
) -> list[int]:
    """Do what the given `shifted` does."""
    offsets = labels.to(boxes.dtype) * (boxes.max() + 1)
    return looped(boxes + offsets[:, None], scores, torch.zeros_like(labels), at)


def case(
    rows: list[list[float]],
    scores: list[float],
    labels: list[int],
    dtype: torch.dtype = torch.float64,
) -> Case:
    """Return tensors."""
    return (
        torch.tensor(rows, dtype=dtype).reshape(-1, 4),
        torch.tensor(scores, dtype=torch.float64),
        torch.tensor(labels, dtype=torch.int64),
    )


def check(one: Case, threshold: float, why: str) -> None:
    """Compare with the loop over classes."""
    __tracebackhide__ = True
    boxes, scores, labels = one
    with unchanged(boxes=boxes, scores=scores, labels=labels):
        yours = batched_nms(boxes, scores, labels, threshold)
    right = looped(boxes, scores, labels, threshold)
    assert yours.dtype == torch.int64, f"yours is {yours.dtype}, expected torch.int64"
    shown = f"\nboxes {boxes.tolist()}, labels {labels.tolist()}" if len(boxes) < 9 else ""
    assert yours.tolist() == right, (
        f"yours {yours.tolist()[:20]}, the loop over classes {right[:20]}, threshold {threshold}:"
        f" {why}{shown}"
    )


def test_the_first_ticket() -> None:
    """A box of class 1 lands on a box of class 0."""
    yours = torch.tensor([negative()], dtype=torch.float64)
    boxes = torch.cat([torch.tensor([[0, 0, 10, 10]]).double(), yours])
    moved = yours + boxes.max() + 1
    assert moved.tolist() == [[0, 0, 10, 10]], (
        f"yours {yours[0].tolist()} is moved to {moved[0].tolist()}, expected 0 0 10 10: `shifted`"
        " adds (the largest of all coordinates + 1) times the label"
    )


def test_the_second_ticket() -> None:
    """The smallest label whose offset is too large for a quarter."""
    yours = large()
    twins = torch.tensor([[0, 0, 0.25, 0.25], [0, 0, 0.25, 0.25], [900, 900, 1000, 1000]])
    scores = torch.tensor([0.9, 0.8, 0.7], dtype=torch.float64)
    kept = [by_shifting(twins, scores, torch.full((3,), n), THRESHOLD) for n in (yours - 1, yours)]
    assert kept[1] != [0, 2], (
        f"with your label {yours} `shifted` keeps {kept[1]}, which is correct: from which offset on"
        " does float32 have no room left for a quarter?"
    )
    assert kept[0] == [0, 2], (
        f"with label {yours - 1} `shifted` keeps {kept[0]}, which is already wrong: find a smaller"
        " label"
    )


def test_two_classes() -> None:
    """A box drops only boxes of its own class."""
    rows: list[list[float]] = [[0.0, 0, 10, 10], [1, 0, 11, 10], [0, 1, 10, 11]]
    check(case(rows, [0.9, 0.8, 0.7], [0, 1, 0]), 0.5, "box 1 has a class of its own")
    check(case(rows, [0.7, 0.8, 0.9], [5, 5, 5]), 0.5, "one class: the best of three stays")


def test_negative_coordinates() -> None:
    """The first ticket, and boxes that are all negative."""
    pair: list[list[float]] = [[0.0, 0, 10, 10], [-11, -11, -1, -1]]
    why = "how far apart are the classes, if coordinates begin below 0?"
    check(case(pair, [0.9, 0.8], [0, 1]), 0.5, why)
    below: list[list[float]] = [[-30.0, -30, -20, -20], [-21, -21, -11, -11], [-30, -30, -20, -20]]
    check(case(below, [0.9, 0.8, 0.7], [0, 1, 2]), 0.5, why)


def test_labels_of_any_size() -> None:
    """The second ticket, labels that float64 cannot hold, and negative ones."""
    small: list[list[float]] = [[0, 0, 0.25, 0.25], [0, 0.125, 0.25, 0.375], [900, 900, 1000, 1000]]
    for labels in ([9999] * 3, [2**50] * 3, [2**60, 2**60 + 1, 0], [-1, -1, -(2**62)], [-1, 0, 1]):
        for dtype in (torch.float32, torch.float64):
            one = case(small, [0.9, 0.8, 0.7], labels, dtype)
            check(one, 0.3, "an offset times such a label rounds: number the classes anew")


def test_no_boxes() -> None:
    """Nothing survives, in int64."""
    check(case([], [], []), 0.5, "without boxes there is no largest coordinate")


def test_survivors_are_listed_by_score() -> None:
    """Best first over all classes; of equal scores the first comes first."""
    rows: list[list[float]] = [[20.0 * k, 0, 20.0 * k + 10, 10] for k in range(6)]
    one = case(rows, [0.2, 0.9, 0.5, 0.5, 0.9, 0.1], [1, 0, 1, 0, 1, 0])
    check(one, 0.5, "survivors of all classes are in one order, by score")


def test_many_classes() -> None:
    """300 classes, each with a box at either end of a large picture: no two classes meet."""
    ends = torch.tensor([[0, 0, 20, 20], [999_980, 999_980, 1_000_000, 1_000_000]])
    boxes = ends.float().repeat(300, 1)
    scores = torch.linspace(1, 0, 600, dtype=torch.float64)
    why = "offsets up to 3e8: which dtype has an int64 tensor times a Python float?"
    check((boxes, scores, torch.arange(600) // 2), 0.0, why)


def test_classes_keep_apart_at_threshold_0() -> None:
    """Nothing overlaps, but without a gap the last bits do."""
    dice = torch.Generator().manual_seed(2)
    for _ in range(20):
        low, high = (torch.rand(2, dtype=torch.float64, generator=dice) * 9 - 4).sort().values
        square = [low.item(), low.item(), high.item(), high.item()]
        one = case([square] * 7, [0.9 - k / 10 for k in range(7)], [*range(7)])
        check(one, 0.0, "rounded offsets let neighbours overlap by a bit: leave a gap")


def test_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """All classes go through nms together."""
    calls: list[int] = []
    original = kata.nms

    def counted(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
        calls.append(len(boxes))
        return original(boxes, scores, threshold)

    monkeypatch.setattr(kata, "nms", counted)
    rows: list[list[float]] = [[0.0, 0, 10, 10], [1, 0, 11, 10], [0, 1, 10, 11]]
    check(case(rows, [0.9, 0.8, 0.7], [0, 1, 2]), 0.5, "three classes")
    assert calls == [3], f"your calls of nms have {calls} boxes, expected one call with all 3"


coordinate = st.integers(-4, 4)
box = st.tuples(coordinate, coordinate, coordinate, coordinate).map(
    lambda c: [min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3])]
)


@given(
    scene=st.lists(st.tuples(box, st.sampled_from([0.1, 0.9]), st.integers(-1, 2)), max_size=7),
    threshold=st.sampled_from([0.0, 0.25, 0.5]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_any_scene(
    scene: list[tuple[list[float], float, int]], threshold: float, dtype: torch.dtype
) -> None:
    """Boxes with whole corners of any sign, many ties."""
    one = case([b for b, _, _ in scene], [s for _, s, _ in scene], [n for _, _, n in scene], dtype)
    check(one, threshold, "each class for itself")
