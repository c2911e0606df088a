"""Tests of k20_mend: each function on ranks that differ, within seconds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.conftest import finished
from katas.lecture13.conftest import same
from katas.lecture13.k20_mend import mean_on_first
from katas.lecture13.k20_mend import sum_gradients
from katas.lecture13.k20_mend import sum_if_finite
from plugins.kit import unchanged


pytestmark = [
    pytest.mark.backend("gloo"),
    # What `unchanged` looks at in each rank; imported once, and not by each rank.
    pytest.mark.ranks_import("numpy.random"),
]


def mean() -> Any:
    """Each rank's loss is twice its number, plus too little for float32 to show."""
    loss = torch.tensor(2.0 * dist.get_rank(), dtype=torch.float64) * (1 + 2**-40)
    with unchanged(loss=loss):
        return mean_on_first(loss)


def test_all_ranks_take_part_in_what_rank_0_prints(world: Any) -> None:
    """Rank 0 cannot sum alone."""
    results = finished(world, mean, 3)

    expected = [2 * (1 + 2**-40), None, None]
    same(list(results), expected, "the mean of 0, 2 and 4 times 1 + 2**-40, on rank 0 alone")


def gradients(cases: list[dict[str, int]]) -> list[dict[str, list[float]]]:
    """Rank 1 has the names in a different order from rank 0, and rank 2 in a third one."""
    rank, results = dist.get_rank(), []
    for sizes in cases:
        order = [*list(sizes)[rank:], *list(sizes)[:rank]]
        found = {name: torch.full((sizes[name],), 10.0 * ord(name) + rank) for name in order}
        kept = dict(found)
        sum_gradients(found)
        results.append({name: kept[name].tolist() for name in sizes})
    return results


def test_all_ranks_sum_the_same_gradients_in_the_same_order(world: Any) -> None:
    """If all have one shape nothing hangs, and the sums are wrong."""
    cases = [{"a": 2, "b": 2, "c": 2}, {"c": 3, "a": 7, "b": 1}]
    results = finished(world, gradients, 3, cases)
    for number, sizes in enumerate(cases):
        expected = {name: [30.0 * ord(name) + 3] * size for name, size in sizes.items()}
        for rank, found in enumerate(results):
            same(found[number], expected, f"sums on rank {rank}, in the tensors themselves")


def finite(cases: list[list[list[float]]]) -> Any:
    """Each rank has different numbers."""
    results = []
    for values in cases:
        gradient = torch.tensor(values[dist.get_rank()])
        done = sum_if_finite(gradient)
        results.append((done, [str(value) for value in gradient.tolist()]))
    return results


def test_all_ranks_skip_a_step_or_none(world: Any) -> None:
    """A rank must tell the others what only it can see."""
    sums = [[1.0, 2.0], [3.0, -2.0], [1.0, 0.0]]
    # Only the gradients are checked; finite ones may still add up to inf.
    large = [[3e38, 3e38], [3e38, -3e38], [1.0, 0.0]]
    bad = [[[1.0, 2.0], [3.0, value], [1.0, 0.0]] for value in (float("nan"), -float("inf"))]
    # Infinities that cancel each other, to NaN or to nothing.
    bad.append([[float("inf"), 2.0], [-float("inf"), 0.0], [1.0, 0.0]])
    for rank, found in enumerate(finished(world, finite, 3, [sums, large, *bad])):
        same(found[0], (True, ["5.0", "0.0"]), f"{sums}: the sum on rank {rank}")
        same(found[1], (True, ["inf", "0.0"]), f"{large}: the sum on rank {rank}")
        for values, mine in zip(bad, found[2:], strict=True):
            kept = [str(value) for value in values[rank]]
            same(mine, (False, kept), f"{values}: rank {rank} keeps what it has")
