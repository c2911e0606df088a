"""Tests of k12_resume: a run that was stopped is compared with one that was not."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import pytest
import torch

from katas.lecture06.k12_resume import Loader
from plugins.kit import unchanged


class Drawn:
    """Samples are pairs: the index, and a number drawn for it from the generator."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.count

    def sample(self, index: int, generator: torch.Generator) -> tuple[int, float]:
        """Return a pair."""
        self.asked.append(index)
        return index, torch.rand((), generator=generator, dtype=torch.float64).item()


def loader(count: int = 11, *, seed: int = 5, ahead: int = 2) -> Loader:
    """Return a loader of batches of three."""
    return Loader(Drawn(count), 3, seed=seed, ahead=ahead)


def indices(batches: list[list[Any]]) -> list[int]:
    """Return the indices in all batches."""
    return [index for batch in batches for index, _ in batch]


def order(count: int, seed: int) -> list[int]:
    """Return the order of an epoch."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()


@pytest.mark.parametrize(
    ("count", "sizes"), [(11, [3, 3, 3, 2]), (12, [3, 3, 3, 3]), (2, [2]), (0, [])]
)
def test_an_epoch(count: int, sizes: list[int]) -> None:
    """Each sample comes once, in the seed's order; the last batch may be shorter."""
    yours, expected = list(loader(count)), order(count, 5)

    assert sizes == [len(batch) for batch in yours], (
        f"{count} samples by 3: yours {yours}, expected batches of {sizes} samples"
    )
    assert expected == indices(yours), f"yours {indices(yours)}, expected {expected}"


def test_the_next_epoch_has_another_order() -> None:
    """The second epoch's order comes from the seed plus 1, and the generator continues."""
    mine = loader()
    first, second = list(mine), list(mine)

    assert order(11, 6) == indices(second), f"yours {indices(second)}, expected {order(11, 6)}"
    sizes = [len(batch) for batch in second]
    assert [3, 3, 3, 2] == sizes, (
        f"in the second epoch your batches have the sizes {sizes}, expected [3, 3, 3, 2]"
    )
    drawn = {number for batch in first + second for _, number in batch}
    assert 22 == len(drawn), (
        f"two epochs: your loader drew {len(drawn)} different numbers, expected 22"
    )


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_batches_are_fetched_ahead(ahead: int) -> None:
    """When a batch is yielded, up to `ahead` batches are fetched, counting that one."""
    mine = loader(ahead=ahead)
    batches = iter(mine)
    for number in range(1, 4):
        next(batches)
        asked = len(mine.dataset.asked)
        expected = min(11, 3 * (number - 1 + ahead))
        assert expected == asked, (
            f"batch {number} of 4, ahead {ahead}: {asked} samples fetched, expected {expected}"
        )


def resumed(stop: int, ahead: int) -> tuple[list[Any], list[Any]]:
    """Return what two epochs deliver without a stop, and with one after `stop` batches."""
    whole = loader(ahead=ahead)
    expected = [*whole, *whole]
    first = loader(ahead=ahead)
    batches = (batch for _ in range(2) for batch in first)
    found = [next(batches) for _ in range(stop)]
    # Through a file, like a checkpoint.
    file = BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = loader(ahead=ahead)
    second.load_state_dict(torch.load(file))
    found += list(second)
    found += list(second)
    return expected, found[: len(expected)]


@pytest.mark.parametrize("ahead", [1, 2, 10])
@pytest.mark.parametrize("stop", [0, 1, 2, 3, 4, 6])
def test_a_stopped_epoch_goes_on(stop: int, ahead: int) -> None:
    """A run may stop after any batch: before the first, after the last, in the next epoch."""
    expected, yours = resumed(stop, ahead)

    assert indices(expected) == indices(yours), (
        f"stopped after {stop} batches, 4 an epoch, ahead {ahead}: yours {indices(yours)},"
        f" expected {indices(expected)}: resume after the last batch delivered"
    )
    assert expected == yours, (
        f"stopped after {stop} batches, 4 an epoch, ahead {ahead}: the samples are right, but the"
        " numbers drawn for them are not: what was the generator's state after the last delivered"
        " batch?"
    )


def test_a_state_is_a_snapshot() -> None:
    """A checkpoint from an hour ago describes the loader as it was then."""
    mine = loader()
    batches = iter(mine)
    next(batches)
    state = mine.state_dict()
    before = copy.deepcopy(state)
    rest = list(batches)
    other = loader()
    other.load_state_dict(state)
    yours = list(other)
    again = loader()
    again.load_state_dict(before)

    used = loader()
    running = iter(used)
    _ = next(running), next(running)
    used.load_state_dict(before)

    assert rest == list(used), "loading a state into a loader mid-epoch gives different batches"
    assert rest == yours, (
        "loading a state after its own loader has moved on gives different batches"
    )
    assert yours == list(again), "loading a state and continuing changed the state"


def by_torchdata(stop: int) -> list[list[int]]:
    """Return what torchdata's StatefulDataLoader delivers after `stop` batches, in a new loader."""
    from torchdata.stateful_dataloader import StatefulDataLoader  # noqa: PLC0415 - may be missing

    first, second = (
        StatefulDataLoader(range(11), batch_size=3, sampler=order(11, 5)) for _ in range(2)
    )
    batches = iter(first)
    for _ in range(stop):
        next(batches)
    second.load_state_dict(first.state_dict())
    return [batch.tolist() for batch in second]


@pytest.mark.parametrize("stop", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning")
def test_the_rest_of_an_epoch(stop: int) -> None:
    """The rest of an epoch is delivered; torchdata's loader, if installed, agrees."""
    rest = order(11, 5)[3 * stop :]
    expected = [rest[at : at + 3] for at in range(0, len(rest), 3)]
    mine, other = loader(), loader()
    batches = iter(mine)
    for _ in range(stop):
        next(batches)
    other.load_state_dict(mine.state_dict())
    yours = [indices([batch]) for batch in other]

    if find_spec("torchdata"):
        assert expected == by_torchdata(stop), "torchdata's loader continues with different batches"
    assert expected == yours, f"after {stop} batches: yours {yours}, expected {expected}"


def test_an_epoch_that_was_left_goes_on() -> None:
    """After a ``break``, another ``for`` over the loader continues the epoch."""
    whole = list(loader())
    mine = loader()
    first = next(iter(mine))
    yours = [first, *mine]

    assert whole == yours, (
        f"after a break at the first batch, your loader continues with {indices(yours[1:])},"
        f" expected {indices(whole[1:])}"
    )


def test_the_global_generator_is_left_alone() -> None:
    """The model's dropout draws from the global generator."""
    mine = loader()
    with unchanged():
        batches = list(mine)
        mine.load_state_dict(mine.state_dict())

    assert 4 == len(batches), (
        f"11 samples in batches of 3: yours {len(batches)} batches, expected 4"
    )
