"""Tests of k21_ragged: each function on ranks that have different numbers of things."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.conftest import finished
from katas.lecture13.conftest import same
from katas.lecture13.k21_ragged import adopt_best
from katas.lecture13.k21_ragged import averages
from katas.lecture13.k21_ragged import gather_ragged
from plugins.kit import unchanged


pytestmark = [
    pytest.mark.backend("gloo"),
    # What `unchanged` looks at in each rank; imported once, and not by each rank.
    pytest.mark.ranks_import("numpy.random"),
]


def averaged(cases: list[list[int]]) -> Any:
    """Rank r has this many float64 batches; batch i of rank r is 10 r + i."""
    rank, results = dist.get_rank(), []
    for counts in cases:
        zero = torch.zeros(2, dtype=torch.float64)
        batches = [torch.full_like(zero, 10.0 * rank + step) for step in range(counts[rank])]
        with unchanged(batches=batches, zero=zero):
            results.append([average.tolist() for average in averages(batches, zero)])
    return results


def test_a_rank_without_data_goes_on_taking_part(world: Any) -> None:
    """A rank takes part until all are done; the average is over the ranks that have a batch."""
    cases = {
        (2, 2, 3, 2): [[15.0] * 2, [16.0] * 2, [22.0] * 2],
        (0, 2, 0, 0): [[10.0] * 2, [11.0] * 2],
        (0, 0, 0, 0): [],
    }
    for rank, found in enumerate(finished(world, averaged, 4, list(cases))):
        for counts, mine in zip(cases, found, strict=True):
            same(mine, cases[counts], f"averages on rank {rank}; the ranks have {counts} batches")


def best(cases: list[list[float]]) -> list[list[float]]:
    """Each rank's weights are its number."""
    results = []
    for losses in cases:
        weights = torch.full((3,), float(dist.get_rank()))
        adopt_best(losses[dist.get_rank()], weights)
        results.append(weights.tolist())
    return results


def test_all_ranks_know_from_whom_the_weights_come(world: Any) -> None:
    """A rank must know more than whether its own loss is the best."""
    inf = float("inf")
    # In float32 the losses of the third case are equal.
    cases = [[3.0, 2.0, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, 1.0 - 1e-12], [inf, inf, inf]]
    for rank, found in enumerate(finished(world, best, 3, cases)):
        for losses, mine, owner in zip(cases, found, (2.0, 1.0, 2.0, 0.0), strict=True):
            same(mine, [owner] * 3, f"losses {losses}: whose weights has rank {rank}?")


def ragged(cases: list[list[int]]) -> list[list[list[float]]]:
    """Rank r has this many numbers r.1, r.2, ..."""
    rank, results = dist.get_rank(), []
    for lengths in cases:
        values = torch.arange(1, lengths[rank] + 1) + 10 * rank
        with unchanged(values=values):
            parts = gather_ragged(values)
        assert {part.dtype for part in parts} == {torch.int64}, f"yours, of int64: {parts}"
        results.append([part.tolist() for part in parts])
    return results


def test_tensors_of_all_lengths_are_gathered(world: Any) -> None:
    """A collective moves the same shape on all ranks."""
    cases = [[2, 5, 1], [0, 3, 0], [0, 0, 0]]
    for rank, found in enumerate(finished(world, ragged, 3, cases)):
        for lengths, mine in zip(cases, found, strict=True):
            expected = [
                [10 * owner + n for n in range(1, length + 1)]
                for owner, length in enumerate(lengths)
            ]
            same(mine, expected, f"tensors of {lengths} numbers, as rank {rank} has them")
