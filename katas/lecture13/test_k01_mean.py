"""Tests of k01_mean: the value on each rank, whose tensor it is, and what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k01_mean import mean_over_ranks
from plugins.kit import Call


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")


def losses(dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """Return the inputs of three ranks: irrational numbers, and a loss without dims."""
    return [torch.tensor(2.0, dtype=dtype).sqrt() * (rank + 1) for rank in range(4)]


def means(inputs: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean, and what has become of this rank's input."""
    x = inputs[dist.get_rank()].clone()
    return mean_over_ranks(x), x


def test_each_rank_has_the_mean(world: World) -> None:
    """Rank 0 is not special."""
    inputs = losses()
    results = world(means, 4, inputs, timeout=SOON)
    for rank, (mean, _) in enumerate(results):
        close(mean, torch.stack(inputs).mean(0), f"the mean of four losses, on rank {rank}")


def test_what_you_are_given_keeps_its_value(world: World) -> None:
    """``all_reduce`` writes to its argument, and the caller still needs the loss of this rank."""
    inputs = [torch.arange(6.0).view(2, 3).t() * (rank + 1) for rank in range(3)]
    results = world(means, 3, inputs, timeout=SOON)
    for rank, (mean, x) in enumerate(results):
        close(x, inputs[rank], f"x of rank {rank}, after the call")
        close(mean, 2 * inputs[0], f"the mean of 1, 2 and 3 times a matrix, on rank {rank}")


def test_one_message_of_its_bytes(world: World) -> None:
    """Each rank calls one all-reduce, of as many bytes as `x` has."""
    results = world(means, 2, [torch.ones(5)] * 2, timeout=SOON)
    for rank, calls in enumerate(results.calls):
        same(calls, (Call("all_reduce", 20),), f"what rank {rank} calls, with five float32")
