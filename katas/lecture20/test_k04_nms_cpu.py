"""Tests of k04_nms_cpu: the definition, and counts of pairs and of operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

Box = tuple[float, float, float, float]

ROW: list[Box] = [(4.0 * k, 0.0, 4.0 * k + 10, 10.0) for k in range(5)]


def share(a: Box, b: Box) -> float:
    """Return the IoU of two boxes."""
    both = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both
    return both / union if union > 0 else 0.0


def defined(boxes: list[Box], scores: list[float], threshold: float) -> tuple[list[int], int]:
    """Return the survivors, and how many pairs have to be compared."""
    kept: list[int] = []
    pairs = 0
    for i in sorted(range(len(scores)), key=lambda i: (scores[i] == scores[i], -scores[i], i)):
        above = [share(boxes[k], boxes[i]) > threshold for k in kept]
        pairs += above.index(True) + 1 if any(above) else len(above)
        kept += [] if any(above) else [i]
    return kept, pairs


def compare(
    extension: Extension, boxes: torch.Tensor, scores: torch.Tensor, threshold: float, why: str
) -> None:
    """Compare the survivors with the definition; boxes and scores stay as they are."""
    __tracebackhide__ = True
    with unchanged(boxes=boxes, scores=scores):
        yours = extension.op("nms")(boxes, scores, threshold)
    rows: list[Box] = [(a, b, c, d) for a, b, c, d in boxes.tolist()]
    right, _ = defined(rows, scores.tolist(), threshold)
    assert yours.dtype == torch.int64, f"yours is {yours.dtype}, expected torch.int64"
    assert yours.tolist() == right, (
        f"yours {yours.tolist()[:30]}, expected {right[:30]}, threshold {threshold}: {why}\n"
        f"boxes {rows[:9]}\nscores {scores.tolist()[:9]}"
    )


def check(
    extension: Extension, boxes: list[Box], scores: list[float], threshold: float, why: str
) -> None:
    """Compare in both dtypes."""
    __tracebackhide__ = True
    for dtype in (torch.float32, torch.float64):
        tensor = torch.tensor(boxes, dtype=dtype).reshape(-1, 4)
        compare(extension, tensor, torch.tensor(scores, dtype=dtype), threshold, why)


def scene(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return irrational boxes, of which about half survive a threshold of 0.3."""
    dice = torch.Generator().manual_seed(n)
    corners = n**0.5 * 5 * torch.rand(n, 2, dtype=torch.float64, generator=dice) - 7
    sides = 4 + 8 * torch.rand(n, 2, dtype=torch.float64, generator=dice)
    scores = torch.randperm(n, generator=dice).double() / n
    return torch.cat([corners, corners + sides], 1), scores


def test_three_in_a_row(extension: Extension) -> None:
    """Box 1 is dropped, and drops nobody."""
    why = "a box is compared with survivors only"
    check(extension, ROW[:3], [0.9, 0.8, 0.7], 0.3, why)


def test_best_score_first(extension: Extension) -> None:
    """Survivors are listed as visited; among equals, and among NaNs, the first comes first."""
    why = "visit and list the boxes as `ranked` says"
    check(extension, ROW, [0.5, 0.1, 0.7, 0.2, 0.9], 0.3, why)
    check(extension, [ROW[k % 5] for k in range(40)], [k % 3 / 2 for k in range(40)], 0.3, why)
    check(extension, ROW, [0.9, math.nan, 0.75, -math.inf, math.nan], 0.3, why)


def test_equal_is_not_above(extension: Extension) -> None:
    """An IoU of 1/3 is not above 1/3, and rounded to float32 it would be."""
    pair: list[Box] = [(0.0, 0.0, 2.0, 2.0), (1.0, 0.0, 3.0, 2.0)]
    for threshold in (1 / 3, math.nextafter(1 / 3, 0)):
        check(extension, pair, [0.9, 0.8], threshold, "compare in double, with >")


def test_no_boxes_and_empty_boxes(extension: Extension) -> None:
    """An empty box overlaps nobody, and without boxes the result is empty."""
    check(extension, [], [], 0.5, "no boxes, no survivors")
    check(extension, [(1.0, 1.0, 1.0, 1.0)] * 3, [0.3, 0.2, 0.9], 0.0, "empty boxes survive")


def test_any_strides(extension: Extension) -> None:
    """Columns of a matrix, every second row, and one score for all."""
    boxes, scores = scene(24)
    why = "b[i][j] of an accessor is right for any strides, data[4 * i + j] is not"
    compare(extension, boxes.t().contiguous().t(), scores, 0.3, why)
    compare(extension, boxes[::2], scores[1::2], 0.3, why)
    compare(extension, boxes[3:], scores[:1].expand(21), 0.3, why)
    compare(extension, boxes[:1].expand(24, 4), scores, 0.3, why)


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
    drawn=st.lists(st.tuples(box, st.sampled_from([0.25, 0.5, 0.75])), max_size=8),
    threshold=st.sampled_from([0.0, 0.2, 1 / 3, 0.5]),
)
def test_any_scene(extension: Extension, drawn: list[tuple[Box, float]], threshold: float) -> None:
    """Boxes with whole corners and a few scores."""
    boxes, scores = [each for each, _ in drawn], [score for _, score in drawn]
    check(extension, boxes, scores, threshold, "by the definition, one box after the other")


def test_irrational_boxes(extension: Extension) -> None:
    """Two hundred boxes, in float64 and rounded to float32."""
    boxes, scores = scene(200)
    why = "read each element in the dtype of the boxes, and go on in double"
    compare(extension, boxes, scores, 0.3, why)
    compare(extension, boxes.float(), scores.float(), 0.3, why)


def test_how_many_pairs(extension: Extension) -> None:
    """A box is compared with survivors, and no more once it is dropped."""
    boxes, scores = scene(200)
    rows: list[Box] = [(a, b, c, d) for a, b, c, d in boxes.tolist()]
    kept, least = defined(rows, scores.tolist(), 0.3)
    extension.op("pairs")()
    extension.op("nms")(boxes, scores, 0.3)
    yours = extension.op("pairs")()
    assert yours <= least, (
        f"200 boxes, {len(kept)} survivors: your code computes {yours} IoUs, but {least} are enough"
        f" (there are {200 * 199 // 2} pairs in all): do you go on comparing a dropped box?"
    )
    assert yours == least, (
        f"your code calls iou {yours} times, but {least} pairs have to be compared: call the given"
        " iou"
    )


def test_no_operator_for_a_pair(extension: Extension) -> None:
    """The result is allocated; no other operator is called, however many boxes there are."""
    counts = []
    for n in (3, 60):
        boxes, scores = scene(n)
        extension.op("nms")(boxes, scores, 0.3)
        calls = []
        for rows in (boxes, boxes.t().contiguous().t()):
            with watched_operators() as names:
                extension.op("nms")(rows, scores, 0.3)
            calls.append([name for name in names if name.startswith("aten::")])
        more = [name for name in calls[1] if name not in calls[0]]
        assert not more, (
            f"boxes with different strides: your code also calls {sorted({*more})}, expected no"
            " copy: an accessor reads them where they are"
        )
        counts.append(len(calls[0]))
    assert counts[0] == counts[1], (
        f"your code calls {counts[0]} operators for 3 boxes, and {counts[1]} for 60: read elements"
        " with an accessor; boxes[i] is an operator"
    )


def test_the_schema(extension: Extension) -> None:
    """Names and types, as Python sees them."""
    yours = str(extension.op("nms").default._schema)  # noqa: SLF001 - it has no other name
    right = "lecture20_k04::nms(Tensor boxes, Tensor scores, float threshold) -> Tensor"
    assert yours == right, f"yours     {yours}\nexpected  {right}"


def test_only_for_the_cpu(extension: Extension) -> None:
    """Called with meta tensors, the operator says that it has no kernel for them."""
    operator = extension.op("nms")
    boxes, scores = scene(3)
    operator(boxes, scores, 0.3)
    name = "lecture20_k04::nms"
    keys = [
        key
        for key in ("CPU", "Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)  # noqa: SLF001
    ]
    assert keys == ["CPU"], (
        f"your kernel is registered for {keys}, expected only CPU: a function given to m.def runs"
        " for every device, and cannot read other devices' memory"
    )
