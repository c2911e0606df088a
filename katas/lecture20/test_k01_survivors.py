"""Tests of k01_survivors: both rules are run now, and your table is read without torch."""

from __future__ import annotations

import pytest
import torch

from katas.lecture20 import k01_survivors as kata
from plugins.kit import forbids


SCENES: dict[str, tuple[tuple[tuple[float, float], ...], tuple[float, ...], float]] = {
    "row": (((0, 10), (4, 14), (8, 18)), (0.9, 0.8, 0.7), 0.3),
    "middle": (((0, 10), (4, 14), (8, 18)), (0.7, 0.9, 0.8), 0.3),
    "five": (((0, 10), (4, 14), (8, 18), (12, 22), (16, 26)), (0.9, 0.8, 0.7, 0.6, 0.5), 0.3),
    "mixed": (((0, 10), (4, 14), (8, 18), (12, 22)), (0.6, 0.7, 0.9, 0.5), 0.3),
    "nested": (((0, 20), (5, 10)), (0.9, 0.8), 0.3),
    "edge": (((0, 9), (3, 12)), (0.9, 0.8), 0.5),
}
RULES = {
    "row": "a box that is dropped drops nobody, but in a matrix it does",
    "middle": "the best box is not always the first: whose scores are higher than its neighbours'?",
    "five": "NMS asks which of those kept a box overlaps; the matrix drops a box for any better"
    " box, kept or not",
    "mixed": "visit the boxes by their scores, and list survivors in that order",
    "nested": "the IoU of a box within another is the quotient of both areas, and not 1",
    "edge": "a box is dropped if the IoU is above the threshold; equal is not above",
}


def ious(spans: tuple[tuple[float, float], ...]) -> torch.Tensor:
    """Return the IoU of each pair of spans."""
    low, high = torch.tensor(spans, dtype=torch.float64).unbind(1)
    both = torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)
    both = both.clamp(min=0)
    length = high - low
    return both / (length[:, None] + length - both)


def computed(name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return who survives under each rule."""
    spans, scores, threshold = SCENES[name]
    above = (ious(spans) > threshold).tolist()
    order = sorted(range(len(spans)), key=lambda i: -scores[i])
    kept: list[int] = []
    for i in order:
        if not any(above[i][k] for k in kept):
            kept.append(i)
    alone = [i for n, i in enumerate(order) if not any(above[i][k] for k in order[:n])]
    return tuple(kept), tuple(alone)


def predicted() -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return your table, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.survivors(), fresh.survivors()
        assert rows == again, "`survivors` returned a different table when called again"
        found: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = rows
        return found


def test_every_scene_has_two_answers() -> None:
    """Each row has two tuples of box numbers."""
    rows = predicted()

    assert {*rows} == {*SCENES}, f"yours has rows {sorted(rows)}, expected {sorted(SCENES)}"
    odd = [name for name, row in rows.items() if [type(each) for each in row] != [tuple] * 2]
    assert not odd, f"expected two tuples in each row, but your rows {odd} hold something else"


@pytest.mark.parametrize("name", SCENES)
def test_survivors(name: str) -> None:
    """Who survives NMS, and who survives the matrix."""
    yours, right = predicted()[name], computed(name)
    pairs = zip(("NMS", "the matrix"), yours, right, strict=True)
    missed = [
        f"{rule}: your {list(mine)} is not who survives, or not in order of the scores"
        for rule, mine, theirs in pairs
        if tuple(mine) != theirs
    ]

    assert not missed, f"{name}: {'; '.join(missed)}; expected by the rule: {RULES[name]}"
