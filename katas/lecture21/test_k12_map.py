"""Tests of k12_map: hits and averages by hand, by loops, and by pycocotools if installed."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
import torch

from katas.lecture21.k12_map import RECALLS
from katas.lecture21.k12_map import Image
from katas.lecture21.k12_map import average_precision
from katas.lecture21.k12_map import box_iou
from katas.lecture21.k12_map import match
from katas.lecture21.k12_map import mean_average_precision
from plugins.kit import unchanged
from plugins.kit import watched_operators


# As in pycocotools: ten, from 0.5 to 0.95.
THRESHOLDS = 0.5 + 0.05 * torch.arange(10, dtype=torch.float64)
HALF = THRESHOLDS[:1]


def tensor(*values: Any) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


def hit(yours: torch.Tensor, expected: list[Any], why: str) -> None:
    """Compare hits."""
    __tracebackhide__ = True
    assert yours.dtype == torch.bool, f"{why}: yours is {yours.dtype}, expected bool"
    assert yours.tolist() == expected, (
        f"{why}: in yours detections {[[k for k, h in enumerate(row) if h] for row in yours]} hit, "
        f"expected {[[k for k, h in enumerate(row) if h] for row in expected]}; "
        f"yours is {list(yours.shape)}, expected {[len(expected), len(expected[0])]}. "
        "A detection whose best object is taken takes its next best object"
    )


def close(yours: torch.Tensor, expected: Any, why: str) -> None:
    """Compare averages to twelve digits."""
    __tracebackhide__ = True
    right = torch.as_tensor(expected, dtype=torch.float64)
    says = (
        f"{why}\nyours {yours.tolist()}, {yours.dtype}; expected {right.tolist()}, {right.dtype}; "
        "if they differ by little, compute in float64\n"
    )
    torch.testing.assert_close(yours, right, rtol=1e-12, atol=1e-12, msg=says.__add__)


def ranked(scores: torch.Tensor) -> list[int]:
    """Return positions by descending score; equal scores keep their order."""
    return sorted(range(len(scores)), key=lambda k: -scores[k].item())


def matched(scores: torch.Tensor, ious: torch.Tensor, threshold: float) -> list[bool]:
    """Return hits by loops over detections and objects."""
    hits, taken = [False] * len(scores), set[int]()
    for d in ranked(scores):
        free = [g for g in range(ious.shape[1]) if g not in taken and ious[d, g] >= threshold]
        if free:
            taken.add(max(free, key=lambda g: ious[d, g].item()))
            hits[d] = True
    return hits


def averaged(scores: torch.Tensor, hits: list[bool], objects: int) -> float:
    """Return the average precision by a loop over recalls."""
    rows, found = [], 0
    for count, d in enumerate(ranked(scores), 1):
        found += hits[d]
        rows.append((found / objects, found / count))
    total = 0.0
    for recall in RECALLS.tolist():
        total += max((p for r, p in rows if r >= recall), default=0.0)
    return total / 101


def draw(seed: int, ties: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scores, many of them equal, and overlaps."""
    dice = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, ties, (12,), generator=dice).double() / ties
    return scores, torch.rand(12, 5, dtype=torch.float64, generator=dice)


def scene(seed: int) -> list[Image]:
    """Return three images with four classes: one has no objects, and no object has class 3."""
    dice, images = torch.Generator().manual_seed(seed), []
    for objects, noise in ((4, 3), (0, 4), (6, 5)):
        low = 50 * torch.rand(objects, 2, dtype=torch.float64, generator=dice)
        size = 10 + 20 * torch.rand(objects, 2, dtype=torch.float64, generator=dice)
        truth = torch.cat([low, low + size], 1)
        names = torch.randint(0, 3, (objects,), generator=dice)
        moved = truth + 2 * torch.randn(objects, 4, dtype=torch.float64, generator=dice)
        other = 50 * torch.rand(noise, 2, dtype=torch.float64, generator=dice)
        boxes = torch.cat([moved, torch.cat([other, other + 15], 1)])
        labels = torch.cat([names, torch.randint(0, 4, (noise,), generator=dice)])
        scores = torch.randint(1, 6, (len(boxes),), generator=dice).double() / 8
        images.append(Image(scores, labels, boxes, names, truth))
    return images


def test_the_better_one_takes_the_object() -> None:
    """Two detections of one object: the second in the list has the higher score."""
    hit(match(tensor(0.3, 0.9), tensor([0.8], [0.6]), HALF), [[False, True]], "scores .3, .9")


def test_the_closest_free_object() -> None:
    """The first detection takes the object with IoU .9; the second takes the other one."""
    ious = tensor([0.6, 0.9], [0.55, 0.8], [0.7, 0.7])
    hit(match(tensor(0.9, 0.8, 0.7), ious, HALF), [[True, True, False]], "three for two objects")


def test_each_threshold_is_matched_by_itself() -> None:
    """At .75 the first detection misses, so the object stays free; equality is enough."""
    yours = match(tensor(0.9, 0.8), tensor([0.5], [0.75]), tensor(0.5, 0.75, 0.8))
    expected = [[True, False], [False, True], [False, False]]
    hit(yours, expected, "IoUs .5 and .75 with one object, thresholds .5, .75, .8")


def test_equal_scores_take_turns() -> None:
    """Of many equal scores, the one given first is the first to choose."""
    yours = match(torch.full((40,), 0.5), torch.full((40, 2), 0.6).double(), HALF)
    hit(yours, [[True, True] + [False] * 38], "forty equal scores, two objects")


def test_nothing_to_match() -> None:
    """No object: no detection hits. No detection: no columns."""
    hit(match(tensor(0.9, 0.8), torch.zeros(2, 0).double(), HALF), [[False, False]], "no object")
    hit(match(tensor(), torch.zeros(0, 3).double(), THRESHOLDS), [[]] * 10, "no detection")


def test_match_against_a_loop() -> None:
    """Twelve detections, five objects, ten thresholds; the inputs stay as they are."""
    for seed in range(8):
        scores, ious = draw(seed)
        with unchanged(scores=scores, ious=ious, thresholds=THRESHOLDS):
            yours = match(scores, ious, THRESHOLDS)
        expected = [matched(scores, ious, t) for t in THRESHOLDS.tolist()]
        hit(yours, expected, f"seed {seed}: scores {scores.tolist()}")


def test_the_table_of_the_brief() -> None:
    """Recalls 0 to .25 have a precision of 1, those to .5 one of 2 / 3, others 0."""
    yours = average_precision(tensor(0.9, 0.8, 0.7, 0.6), torch.tensor([[1, 0, 1, 0]]).bool(), 4)
    close(yours, [(26 + 25 * 2 / 3) / 101], "26 recalls at 1, 25 at 2 / 3, 50 at 0")


def test_all_found() -> None:
    """A recall of 1 is reached; a miss after that costs nothing."""
    hits = torch.tensor([[True, True, False]])
    close(average_precision(tensor(0.9, 0.8, 0.7), hits, 2), [1.0], "two hits of two, one miss")
    half = average_precision(tensor(0.9), torch.tensor([[True]]), 2)
    close(half, [51 / 101], "one of two: recall .5 is reached, so 51 recalls count")


def test_detections_in_any_order() -> None:
    """Detections are sorted by score first."""
    hits = torch.tensor([[False, True, False, True]])
    scores = tensor(0.6, 0.7, 0.8, 0.9)
    with unchanged(scores=scores, hits=hits):
        yours = average_precision(scores, hits, 4)
    close(yours, [(26 + 25 * 2 / 3) / 101], "the brief's table, in reverse")


def test_equal_scores_keep_their_order() -> None:
    """A miss before a hit, and a hit before a miss, thirty times with the same score."""
    hits = torch.tensor([[False, True] * 15, [True, False] * 15])
    yours = average_precision(torch.full((30,), 0.5), hits, 15)
    expected = [averaged(torch.full((30,), 0.5), row, 15) for row in hits.tolist()]
    close(yours, expected, "thirty equal scores: is your sort stable?")


def test_nothing_found() -> None:
    """No hit, or no detection at all: 0 at each threshold."""
    none = average_precision(tensor(0.5, 0.4), torch.zeros(2, 2).bool(), 3)
    close(none, [0.0, 0.0], "two misses, at two thresholds")
    empty = average_precision(tensor(), torch.zeros(10, 0).bool(), 3)
    close(empty, [0.0] * 10, "no detection, at ten thresholds")


def test_average_against_a_loop() -> None:
    """Ten thresholds, each with its own hits; float32 scores give float64 too."""
    for seed in range(6):
        scores, rows = draw(seed)[0].float(), draw(seed + 50)[1]
        hits = torch.cat([rows, rows.flip(0)], 1).T > 0.4
        for objects in (12, 17):
            yours = average_precision(scores, hits, objects)
            expected = [averaged(scores, row, objects) for row in hits.tolist()]
            close(yours, expected, f"seed {seed}, {objects} objects")


def test_no_loop_over_thresholds() -> None:
    """Ten thresholds run as many operators as one."""
    scores, counts = draw(1)[0], []
    for rows in (1, 10):
        hits = draw(2)[1].T[:1].expand(rows, 12) > 0.5
        with watched_operators() as names:
            average_precision(scores, hits, 7)
        counts.append(len(names))
    assert counts[1] <= counts[0] + 5, (
        f"one threshold runs {counts[0]} operators, ten run {counts[1]}: use no loop"
    )


def test_a_detector() -> None:
    """Three images and four classes together give what loops give."""
    for seed in range(3):
        images, results = scene(seed), []
        for name in range(4):
            for threshold in THRESHOLDS.tolist():
                hits, objects = list[bool](), 0
                scores = torch.cat([i.scores[i.labels == name] for i in images])
                for i in images:
                    mine, truth = i.labels == name, i.true_boxes[i.true_labels == name]
                    hits += matched(i.scores[mine], box_iou(i.boxes[mine], truth), threshold)
                    objects += len(truth)
                if objects:
                    results.append(averaged(scores, hits, objects))
        yours = mean_average_precision(images, 4, THRESHOLDS)
        close(yours, sum(results) / len(results), f"a detector, seed {seed}")


@pytest.mark.backend("pycocotools")
def test_pycocotools_agrees() -> None:
    """COCOeval on the same boxes: its first number is the mean average precision."""
    for seed in range(3):
        yours = mean_average_precision(scene(seed), 4, THRESHOLDS)
        close(yours, judged(scene(seed)), f"seed {seed}: against pycocotools")


def judged(images: list[Image]) -> float:
    """Return pycocotools' number, without its printed output."""
    from pycocotools.coco import COCO  # noqa: PLC0415 - may be missing
    from pycocotools.cocoeval import COCOeval  # noqa: PLC0415

    def sides(box: list[float]) -> list[float]:
        return [*box[:2], box[2] - box[0], box[3] - box[1]]

    truths, found = list[Any](), list[Any]()
    for n, image in enumerate(images):
        for box, name in zip(image.true_boxes.tolist(), image.true_labels.tolist(), strict=True):
            x, y, width, height = sides(box)
            where = {"bbox": [x, y, width, height], "area": width * height, "iscrowd": 0}
            truths.append({"id": len(truths) + 1, "image_id": n, "category_id": name, **where})
        rows = (image.boxes.tolist(), image.labels.tolist(), image.scores.tolist())
        for box, name, score in zip(*rows, strict=True):
            where = {"image_id": n, "category_id": name, "bbox": sides(box)}
            found.append({**where, "score": score})
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {
            "info": {},
            "images": [{"id": n} for n in range(len(images))],
            "categories": [{"id": name} for name in range(4)],
            "annotations": truths,
        }
        coco.createIndex()
        judge = COCOeval(coco, coco.loadRes(found), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return float(judge.stats[0])
