"""Tests of k04_beam: brute force over all sequences of a model that reads its whole cache."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from katas.lecture24.k04_beam import best
from katas.lecture24.k04_beam import reorder_
from katas.lecture24.k04_beam import search
from plugins.kit import unchanged


INF = float("inf")


class Model:
    """A model whose distribution depends on all tokens of a row, which it keeps in a cache."""

    def __init__(self, size: int, beams: int, length: int, seed: int) -> None:
        dice = torch.Generator().manual_seed(seed)
        self.weights = torch.randn(size, length + 1, size, dtype=torch.float64, generator=dice)
        self.cache = [torch.zeros(beams, length, 2).double(), torch.zeros(beams, length).double()]
        self.position = 0
        self.asked: list[list[int]] = []

    def law(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the log-probabilities of the token after these rows, [rows, length]."""
        position = rows.shape[1]
        seen = self.weights[rows, torch.arange(position)].sum(1)
        return torch.log_softmax(seen.sin() * 3 + self.weights[:, position, 0], -1)

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """Write the tokens to the cache, and read everything in it."""
        assert tokens.shape == self.cache[1].shape[:1], (
            f"you call `step` with tokens of shape {[*tokens.shape]}, expected one token per beam"
        )
        self.asked.append(tokens.tolist())
        self.cache[0][:, self.position, 1] = tokens.double()
        self.cache[1][:, self.position] = tokens.double()
        self.position += 1
        rows = self.cache[1][:, : self.position].long()
        others = self.cache[0][:, : self.position, 1].long()
        assert torch.equal(rows, others), (
            "the tensors of the cache were not reordered in the same way"
        )
        return self.law(rows)


def brute(model: Model, start: int, length: int, end: int) -> list[tuple[float, list[int]]]:
    """Return all sequences with their scores, the best first; after `end` there is only `end`."""
    size = model.weights.shape[0]
    found = []
    for row in product(range(size), repeat=length):
        stop = row.index(end) if end in row else length
        if {*row[stop:]} - {end}:
            continue
        total = 0.0
        for i in range(min(stop + 1, length)):
            total += float(model.law(torch.tensor([[start, *row[:i]]]))[0, row[i]])
        found.append((total, [*row]))
    return sorted(found, reverse=True)


def narrow(
    model: Model, start: int, beams: int, length: int, end: int
) -> list[tuple[float, list[int]]]:
    """Search with lists and without a cache."""
    kept: list[tuple[float, list[int]]] = [(0.0, [])]
    for _ in range(length):
        found = []
        for score, row in kept:
            if end in row:
                found.append((score, [*row, end]))
                continue
            law = model.law(torch.tensor([[start, *row]]))[0].tolist()
            found += [(score + value, [*row, token]) for token, value in enumerate(law)]
        kept = sorted(found, reverse=True)[:beams]
    return kept


def agree(
    yours: tuple[torch.Tensor, torch.Tensor], right: list[tuple[float, list[int]]], what: str
) -> None:
    """Compare sequences and scores."""
    __tracebackhide__ = True
    assert yours[0].dtype == torch.int64, f"{what}: tokens are {yours[0].dtype}, expected int64"
    rows, scores = yours[0].tolist(), yours[1].tolist()
    expected = [row for _, row in right]
    assert rows == expected, f"{what}: yours {rows}, expected {expected}"
    gaps = [abs(a - b[0]) for a, b in zip(scores, right, strict=True)]
    assert max(gaps) < 1e-12, f"{what}: scores {scores}, expected {[score for score, _ in right]}"


def test_rows_move() -> None:
    """The example of the brief: b b a c, in each tensor of the cache, and in its own memory."""
    cache = [torch.arange(8).view(4, 2) * 2.5, torch.arange(4).view(4, 1, 1) + 0.5]
    before = [tensor.clone() for tensor in cache]
    places = [tensor.data_ptr() for tensor in cache]
    parents = torch.tensor([1, 1, 0, 2])
    with unchanged(parents=parents):
        reorder_(cache, parents)

    for tensor, old in zip(cache, before, strict=True):
        yours, right = tensor.tolist(), old[parents].tolist()
        assert yours == right, (
            f"{old.tolist()} reordered by [1, 1, 0, 2]: yours {yours}, expected {right}"
        )
    assert [tensor.data_ptr() for tensor in cache] == places, "the cache moved to different memory"


def test_rows_move_any_way() -> None:
    """Orders are rotations, copies of the last row, and no move at all."""
    for order in ([3, 0, 1, 2], [3, 3, 3, 3], [0, 1, 2, 3], [1, 2, 3, 0]):
        one = torch.arange(4) + 0.5
        reorder_([one], torch.tensor(order))
        right = [i + 0.5 for i in order]
        assert one.tolist() == right, (
            f"reordered by {order}: yours {one.tolist()}, expected {right}"
        )


def test_best_of_all_beams() -> None:
    """With two beams and three tokens, both winners may come from one beam, the best first."""
    scores = torch.tensor([-1.0, -0.25]).double()
    log_p = torch.tensor([[-4.0, -2, -3], [-1, -5, -0.5]]).double()
    with unchanged(scores=scores, log_p=log_p):
        yours = [each.tolist() for each in best(scores, log_p)]
    right = [[-0.75, -1.25], [1, 1], [2, 0]]
    assert yours == right, f"scores, parents, tokens: yours {yours}, expected {right}"


def test_best_of_either_beam() -> None:
    """A beam with a lower score catches up."""
    scores = torch.tensor([-1.0, -2.0, -INF]).double()
    log_p = torch.tensor([[-3.0, -9], [-1.5, -0.25], [-0.1, -0.1]]).double()
    yours = [each.tolist() for each in best(scores, log_p)]
    right = [[-2.25, -3.5, -4.0], [1, 1, 0], [1, 0, 0]]
    assert yours == right, f"scores, parents, tokens: yours {yours}, expected {right}"


def test_one_beam_is_greedy() -> None:
    """With one beam, each step takes the most probable token."""
    for seed in range(4):
        model = Model(4, 1, 5, seed)
        yours = search(model, model.cache, 2, beams=1, length=5, end=-1)
        agree(yours, narrow(model, 2, 1, 5, end=-1), f"model {seed}, one beam")


@pytest.mark.parametrize("seed", range(3))
def test_enough_beams_find_the_best(seed: int) -> None:
    """27 beams over three tokens find the best of all 81 sequences of four."""
    model = Model(3, 27, 4, seed)
    yours = search(model, model.cache, 1, beams=27, length=4, end=-1)
    agree(yours, brute(model, 1, 4, end=-1)[:27], f"model {seed}, against all sequences")


@pytest.mark.parametrize("seed", range(6))
def test_few_beams(seed: int) -> None:
    """Three beams find the same as a search without a cache, which rereads its rows each time."""
    model = Model(5, 3, 6, seed)
    yours = search(model, model.cache, 0, beams=3, length=6, end=-1)
    agree(yours, narrow(model, 0, 3, 6, end=-1), f"model {seed}, three beams")


def test_beams_are_different() -> None:
    """In two steps with four beams and four tokens, no sequence is found twice."""
    model = Model(4, 4, 2, 9)
    rows, scores = search(model, model.cache, 0, beams=4, length=2, end=-1)
    assert len({tuple(row) for row in rows.tolist()}) == 4, (
        f"your sequences are {rows.tolist()}, expected four different ones"
    )
    assert scores.tolist() == sorted(scores.tolist(), reverse=True), (
        f"scores {scores.tolist()}, expected the best first"
    )


@pytest.mark.parametrize("seed", range(4))
def test_an_end(seed: int) -> None:
    """Token 0 ends a sequence: only 0 follows, at no cost; other sequences may overtake it."""
    model = Model(3, 4, 5, seed)
    yours = search(model, model.cache, 1, beams=4, length=5, end=0)
    agree(yours, narrow(model, 1, 4, 5, end=0), f"model {seed}, token 0 ends")
    model = Model(3, 81, 4, seed)
    found = search(model, model.cache, 0, beams=81, length=4, end=0)
    right = brute(model, 0, 4, end=0)
    agree((found[0][: len(right)], found[1][: len(right)]), right, "all sequences that may end")
    rest = {*found[1][len(right) :].tolist()}
    assert rest == {-INF}, f"beams without a sequence of their own score {rest}, expected -inf"


def test_calls_of_the_model() -> None:
    """`length` calls, the first with `start` in every row; the model's results are not modified."""
    model = Model(3, 2, 3, 5)
    results: list[tuple[torch.Tensor, torch.Tensor]] = []

    def step(tokens: torch.Tensor) -> torch.Tensor:
        law = model(tokens)
        results.append((law, law.clone()))
        return law

    rows, _ = search(step, model.cache, 2, beams=2, length=3, end=1)
    assert len(model.asked) == 3, f"your code calls `step` {len(model.asked)} times, expected 3"
    assert model.asked[0] == [2, 2], f"the first call is for {model.asked[0]}, expected [2, 2]"
    assert rows.shape == (2, 3), f"your shape is {[*rows.shape]}, expected [2, 3], without `start`"
    odd = [i for i, (law, old) in enumerate(results) if not torch.equal(law, old)]
    assert not odd, f"your code modified the results of the model's calls {odd}"
