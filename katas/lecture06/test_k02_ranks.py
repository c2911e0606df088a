"""Tests of k02_ranks: your indices are compared with those of PyTorch's samplers."""

from __future__ import annotations

from itertools import count as count_up
from itertools import islice
from typing import TYPE_CHECKING

import pytest
import torch
from torch.utils.data import BatchSampler
from torch.utils.data import DistributedSampler

from katas.lecture06 import k02_ranks as kata
from katas.lecture06.k02_ranks import RankSampler
from katas.lecture06.k02_ranks import batches
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator


def compare(
    count: int, ranks: int, epoch: int = 0, *, seed: int = 0, shuffle: bool, drop_last: bool = False
) -> None:
    """Compare the indices of all ranks with those of PyTorch's sampler."""
    for rank in range(ranks):
        mine = RankSampler(count, ranks, rank, seed=seed, shuffle=shuffle, drop_last=drop_last)
        theirs = DistributedSampler(
            range(count), ranks, rank, seed=seed, shuffle=shuffle, drop_last=drop_last
        )
        mine.set_epoch(epoch)
        theirs.set_epoch(epoch)
        with unchanged():
            yours, again = list(mine), list(mine)
        expected = list(theirs)
        where = f"{count} samples, rank {rank} of {ranks}, epoch {epoch}, {seed=}, {drop_last=}"

        assert yours == expected, f"{where}: yours {yours}, PyTorch's {expected}"
        assert yours == again, f"{where}: your second run gives {again}, expected {yours}"
        assert all(type(each) is int for each in yours), f"{where}: expected ints, yours {yours}"


def test_one_rank_sees_all() -> None:
    """A single rank without shuffling sees every index in order."""
    compare(5, 1, shuffle=False)


def test_ranks_take_turns() -> None:
    """Rank 1 of 3 takes the indices 1, 4, 7: not a block."""
    compare(9, 3, shuffle=False)


def test_the_order_begins_again_where_samples_are_missing() -> None:
    """With ten samples and four ranks, the first two samples are repeated."""
    compare(10, 4, shuffle=False)


@pytest.mark.parametrize(("count", "ranks"), [(2, 5), (1, 7), (0, 3)])
def test_fewer_samples_than_ranks(count: int, ranks: int) -> None:
    """The order is repeated as often as needed; without samples there are no indices."""
    compare(count, ranks, shuffle=False)


@pytest.mark.parametrize(("count", "ranks"), [(10, 4), (9, 3), (2, 5)])
def test_the_end_may_be_dropped(count: int, ranks: int) -> None:
    """With `drop_last` no sample is repeated, and some are not seen at all."""
    compare(count, ranks, shuffle=False, drop_last=True)


@pytest.mark.parametrize("epoch", [0, 1, 7])
def test_epochs_are_shuffled_by_seed_and_number(epoch: int) -> None:
    """All ranks shuffle alike without communicating; padding repeats the shuffled order."""
    compare(10, 4, epoch, shuffle=True, seed=3)
    compare(10, 4, epoch, shuffle=True, seed=4, drop_last=True)


def test_the_epoch_may_change_later() -> None:
    """One sampler serves all epochs, and `set_epoch` does not disturb an epoch already begun."""
    sampler = RankSampler(20, 2, 0)
    first = list(sampler)
    running = iter(sampler)
    head = [next(running)]
    sampler.set_epoch(1)
    second, head = list(sampler), [*head, *running]

    assert first != second, (
        f"yours is {first} in both epochs 0 and 1: seed the generator with seed + epoch"
    )
    assert first == head, (
        f"an iteration begun in epoch 0 and continued after set_epoch gives {head}, expected"
        f" {first}"
    )


def test_another_seed_of_the_global_generator_changes_nothing() -> None:
    """Each rank may seed its model, dropout and augmentation differently."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        first = list(RankSampler(20, 2, 0))
        torch.manual_seed(2)
        second = list(RankSampler(20, 2, 0))

    assert first == second, f"the order depends on torch.manual_seed: {first}, then {second}"


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("count", [0, 1, 6, 7, 8])
def test_batches(count: int, drop_last: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Full batches, and a shorter last one unless it is dropped."""
    yours = list(batches(iter(range(count)), 3, drop_last=drop_last))
    theirs = list(BatchSampler(range(count), 3, drop_last=drop_last))

    assert yours == theirs, f"{count} indices by 3, {drop_last=}: yours {yours}, PyTorch's {theirs}"
    assert len({id(each) for each in yours}) == len(yours), (
        "your code yields the same list object several times"
    )


def test_a_short_batch_is_kept_unless_told() -> None:
    """Without `drop_last`, every index is in a batch."""
    yours = list(batches(range(5), 3))

    assert [[0, 1, 2], [3, 4]] == yours, (
        f"5 indices in batches of 3: yours {yours}, expected [[0, 1, 2], [3, 4]]"
    )


def test_a_batch_does_not_wait_for_the_next_index() -> None:
    """The indices may be endless, and asking for one too many may take a long time."""
    taken: list[int] = []

    def stream() -> Iterator[int]:
        for index in count_up():
            taken.append(index)
            assert index < 1000, (
                "three batches of two need indices up to 5, but your code asks an endless stream"
                f" for index {index}: take one at a time, and yield a batch as soon as it is full"
            )
            yield index

    found = list(islice(batches(stream(), 2), 3))

    assert [[0, 1], [2, 3], [4, 5]] == found, (
        f"batches of an endless stream: yours {found}, expected 0 to 5 in pairs"
    )
    assert list(range(6)) == taken, (
        f"your code had taken {taken} when it yielded the third batch, expected 0 to 5"
    )


def test_nobody_else_samples() -> None:
    """Your answer does not call `torch.utils`."""
    with forbids(kata, "torch.utils", "torch.Tensor.batched") as fresh:
        yours = list(fresh.RankSampler(4, 2, 1, shuffle=False))
    assert [1, 3] == yours, f"yours {yours}, expected every second index, starting at 1"


@pytest.mark.given
def test_a_rank_is_one_of_the_ranks() -> None:
    """Ranks are numbered from 0."""
    with pytest.raises(ValueError, match="rank 2 is not one of 2"):
        RankSampler(4, 2, 2)
