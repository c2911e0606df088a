"""Tests of k12_decoders: all paths of a few frames, one by one."""

from __future__ import annotations

import math
from functools import cache
from itertools import groupby
from itertools import product

import pytest
import torch

from katas.lecture22.k12_decoders import Beams
from katas.lecture22.k12_decoders import align
from katas.lecture22.k12_decoders import greedy
from katas.lecture22.k12_decoders import search
from katas.lecture22.k12_decoders import step
from plugins.kit import unchanged


INF = float("inf")
NONE = (-INF, -INF)


def chances(frames: int, classes: int = 3, seed: int = 0) -> torch.Tensor:
    """Return log-probabilities, float64 [frames, classes]."""
    dice = torch.Generator().manual_seed(seed)
    scores = torch.randn(frames, classes, dtype=torch.float64, generator=dice)
    return scores.mul(1.5).log_softmax(-1)


@cache
def paths(frames: int, classes: int) -> dict[tuple[int, ...], torch.Tensor]:
    """Return all paths, [paths, frames], keyed by the labels that they collapse to."""
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for path in product(range(classes), repeat=frames):
        left = tuple(label for label, _ in groupby(path) if label)
        found.setdefault(left, []).append(path)
    return {left: torch.tensor(rows) for left, rows in found.items()}


def scored(log_probs: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of each path."""
    return log_probs[torch.arange(len(log_probs)), rows].sum(1)


def texts(log_probs: torch.Tensor) -> dict[tuple[int, ...], float]:
    """Return the log-probability of each text, the likeliest first."""
    found = {
        left: float(scored(log_probs, rows).logsumexp(0))
        for left, rows in paths(*log_probs.shape).items()
    }
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def agree(yours: Beams, right: dict[tuple[int, ...], tuple[float, float]], what: str) -> None:
    """Compare the sums of each text; a missing text has no path."""
    __tracebackhide__ = True
    for labels in sorted({*yours, *right}):
        for end, name in enumerate(("a blank", "a label")):
            mine = math.exp(yours.get(labels, NONE)[end])
            true = math.exp(right.get(labels, NONE)[end])
            assert abs(mine - true) < 1e-12, (
                f"{what}: for paths that give {labels} and end with {name}, your log is {mine:.4f},"
                f" expected {true:.4f}"
            )


def logs(*numbers: float) -> list[float]:
    """Return logarithms."""
    return [math.log(x) for x in numbers]


def test_greedy() -> None:
    """Repeats first, then blanks: 1 - 1 are two labels, 1 1 is one."""
    for path in ([1, 1, 0, 1, 2, 2, 0], [0, 0], [0, 2, 2], [2, 1, 2], [3, 0, 0, 3, 3]):
        log_probs = torch.full((len(path), 4), -3.0)
        log_probs[torch.arange(len(path)), torch.tensor(path)] = -0.5
        with unchanged(log_probs=log_probs):
            yours = greedy(log_probs)
        right = [label for label, _ in groupby(path) if label]
        assert yours == right, f"the best classes are {path}: yours {yours}, expected {right}"


def test_greedy_is_not_the_best() -> None:
    """The brief's example: greedy finds no label, and "a" has probability 0.64."""
    log_probs = torch.tensor([logs(0.6, 0.4)] * 2, dtype=torch.float64)
    yours = greedy(log_probs), search(log_probs, 3)
    assert yours[0] == [], f"greedy: yours {yours[0]}, expected no label"
    (labels, log_p), *_ = yours[1]
    assert labels == (1,), f"search: your best labels are {labels}, expected (1,)"
    assert abs(math.exp(log_p) - 0.64) < 1e-12, f"yours is {math.exp(log_p)}, expected 0.64"


def test_first_frame() -> None:
    """From the empty text: a blank keeps it empty, a label gives a text of that label."""
    yours = step(Beams({(): (0.0, -INF)}), logs(0.5, 0.3, 0.2))
    right = {(): (math.log(0.5), -INF), (1,): (-INF, math.log(0.3)), (2,): (-INF, math.log(0.2))}
    agree(yours, right, "the first frame")


def test_the_same_label_again() -> None:
    """Text 1: after a blank, another 1 gives 1 1; after a label, it is the same 1."""
    beams = Beams({(1,): (math.log(0.25), math.log(0.125))})
    before = dict(beams)
    yours = step(beams, logs(0.5, 0.3, 0.2))
    right = {
        (1,): (math.log(0.375 * 0.5), math.log(0.125 * 0.3)),
        (1, 1): (-INF, math.log(0.25 * 0.3)),
        (1, 2): (-INF, math.log(0.375 * 0.2)),
    }
    agree(yours, right, "one frame after text 1")
    assert dict(beams) == before, f"your step modified the beams that it got: {dict(beams)}"


def test_beams_meet() -> None:
    """A 2 after text 1 and text 1 2 itself give the same text: add their sums."""
    beams = Beams({(1,): (math.log(0.25), -INF), (1, 2): (-INF, math.log(0.5))})
    yours = step(beams, logs(0.5, 0.3, 0.2))
    assert (1, 2) in yours, f"your beams are {[*yours]}, without (1, 2)"
    mine = [math.exp(x) for x in yours[1, 2]]
    right = [0.5 * 0.5, 0.25 * 0.2 + 0.5 * 0.2]
    gap = max(abs(a - b) for a, b in zip(mine, right, strict=True))
    assert gap < 1e-12, f"text 1 2, ending with a blank or a label: yours {mine}, expected {right}"


@pytest.mark.parametrize("seed", range(3))
def test_wide_enough(seed: int) -> None:
    """With room for all texts, the search has each text's probability; they add up to 1."""
    log_probs = chances(5, seed=seed)
    yours = [each for each in search(log_probs, 1000) if each[1] > -INF]
    right = texts(log_probs)

    assert [labels for labels, _ in yours] == [*right], (
        f"texts, best first: yours {[labels for labels, _ in yours][:5]}, expected {[*right][:5]}"
    )
    gap = max(abs(log_p - right[labels]) for labels, log_p in yours)
    assert gap < 1e-12, f"log-probabilities of texts are off by up to {gap}"
    total = sum(math.exp(log_p) for _, log_p in yours)
    assert abs(total - 1) < 1e-12, f"the probabilities of all texts add up to {total}, expected 1"


def test_search_against_greedy() -> None:
    """In 40 draws of flat probabilities, eight beams find the best text, and greedy does not."""
    found = missed = 0
    for seed in range(40):
        log_probs = (chances(5, seed=seed) * 0.4).log_softmax(-1)
        best = next(iter(texts(log_probs)))
        found += search(log_probs, 8)[0][0] == best
        missed += tuple(greedy(log_probs)) != best
    assert found >= 38, (
        f"eight beams find the best text in {found} of 40 draws, expected at least 38"
    )
    assert missed >= 10, (
        f"greedy misses the best text in {missed} of 40 draws, expected at least 10"
    )


def test_align_one_frame() -> None:
    """A label or a blank fills the only frame."""
    yours = align(chances(1), [2]), align(chances(1), [])
    assert yours == ([2], [0]), f"labels 2, and no labels: yours {yours}, expected ([2], [0])"


@pytest.mark.parametrize("labels", [[1], [1, 2], [1, 1], [2, 1, 2], [2, 2, 2], [1, 2, 1, 2, 1], []])
def test_align(labels: list[int]) -> None:
    """Your path is the likeliest of all paths that give the labels."""
    for seed in range(12):
        log_probs = chances(6, seed=seed)
        with unchanged(log_probs=log_probs):
            yours = align(log_probs, [*labels])
        rows = paths(6, 3)[tuple(labels)]
        right = rows[scored(log_probs, rows).argmax()].tolist()
        assert yours == right, (
            f"labels {labels}, random scores {seed}: yours {yours}, which gives"
            f" {[label for label, _ in groupby(yours) if label]}; expected {right}, of"
            f" log-probability {float(scored(log_probs, torch.tensor([right]))):.3f}"
        )


def test_align_long() -> None:
    """600 frames of 40 labels: the path gives exactly the labels."""
    labels = [1, 2, 2, 3] * 10
    yours = align(chances(600, 4), labels)
    left = [label for label, _ in groupby(yours) if label]
    assert len(yours) == 600, f"yours has {len(yours)} frames, expected 600"
    assert left == labels, f"your path gives {left[:8]}…, expected {labels[:8]}…"


@pytest.mark.backend("torchaudio")
def test_torchaudio_aligns_alike() -> None:
    """`forced_align` takes a batch of one."""
    cases = [([1, 2, 1], 9), ([2, 2], 7), ([1], 5)]
    yours = [align(chances(frames, seed=frames), labels) for labels, frames in cases]
    from torchaudio.functional import forced_align  # noqa: PLC0415 - may be missing

    for mine, (labels, frames) in zip(yours, cases, strict=True):
        path, _ = forced_align(chances(frames, seed=frames)[None], torch.tensor([labels]))
        expected = path[0].tolist()
        assert mine == expected, f"labels {labels}: yours {mine}, torchaudio's {expected}"
