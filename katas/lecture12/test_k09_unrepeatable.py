"""Tests of k09_unrepeatable: each program is run again with something else changed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from itertools import permutations
from threading import Barrier
from threading import Event
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader

from katas.lecture12.k09_unrepeatable import epochs
from katas.lecture12.k09_unrepeatable import histogram
from katas.lecture12.k09_unrepeatable import split
from katas.lecture12.k09_unrepeatable import total
from katas.lecture12.k09_unrepeatable import vocabulary
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


TEXT = "the quick brown fox jumps over the lazy dog while nine other words wait for the fox to land"
PROGRAM = """
import json, sys
from katas.lecture12.k09_unrepeatable import vocabulary
print(json.dumps(vocabulary(sys.argv[1])))
"""


@pytest.mark.given
def test_vocabulary() -> None:
    """Each word has its own number."""
    yours = vocabulary(TEXT)
    assert set(TEXT.split()) == set(yours), (
        f"your code numbers the words {sorted(yours)}, expected {sorted(set(TEXT.split()))}"
    )
    numbers = sorted(yours.values())
    assert [*range(16)] == numbers, f"your code numbers the 16 words {numbers}, expected 0 to 15"


def test_vocabulary_in_another_process(pytestconfig: pytest.Config) -> None:
    """An embedding trained yesterday is looked up with today's numbers."""
    mine = vocabulary(TEXT)
    # Each process salts the hash of a string differently, unless this variable is set.
    other = "4711" if os.environ.get("PYTHONHASHSEED") != "4711" else "4712"
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-W", "ignore", "-c", PROGRAM, TEXT],
        cwd=pytestconfig.rootpath,
        env={**os.environ, "PYTHONHASHSEED": other},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"the other process failed:\n{done.stderr[-1500:]}"
    moved = [word for word, number in json.loads(done.stdout).items() if mine[word] != number]
    assert not moved, (
        f"in another process {len(moved)} of 16 words have different numbers: {moved}. In which "
        "order does a set yield its elements?"
    )


@pytest.mark.given
def test_split() -> None:
    """Each number occurs once."""
    yours = split(30, 1)
    assert [*range(30)] == sorted(yours), f"your split is not a permutation of 30 numbers: {yours}"


def test_split_again() -> None:
    """One seed gives one order, and the caller's generators do not change."""
    first, other = split(30, 1), split(30, 2)
    with unchanged():
        again = split(30, 1)
    assert first == again, (
        f"two calls with seed 1 differ\nfirst  {first}\nsecond {again}\nWhich generator was"
        " seeded, and which one was used?"
    )
    assert first != other, f"seeds 1 and 2 give the same order: yours {first}"


def idle() -> None:
    """Evaluate nothing."""


def loaded() -> None:
    """Read eight samples in order, without shuffling."""
    data: Any = range(8)
    list(DataLoader(data))


@pytest.mark.given
def test_epochs() -> None:
    """Eight samples in each of two epochs, and an evaluation after each."""
    calls: list[int] = []
    yours = epochs(1, lambda: calls.append(1))
    assert [[*range(8)]] * 2 == list(map(sorted, yours)), (
        f"yours {yours}, expected two epochs, each with 0 to 7 in any order"
    )
    assert len(calls) == 2, f"your code evaluates {len(calls)} times, expected 2"


def test_epochs_with_an_evaluation() -> None:
    """Even an evaluation without shuffling must not change the next epoch."""
    for seed in range(4):
        without, with_one = epochs(seed, idle), epochs(seed, loaded)
        assert without == with_one, (
            f"seed {seed}\nwithout an evaluation {without}\nwith one              {with_one}\n"
            "A DataLoader draws a seed for its workers when an epoch begins, even if it has no"
            " workers"
        )


def test_epochs_by_seed() -> None:
    """The second epoch's order differs from the first, and each seed gives its own."""
    torch.manual_seed(0)
    orders = [epochs(seed, idle) for seed in range(6)]
    torch.manual_seed(9)
    again = [epochs(seed, loaded) for seed in range(6)]
    assert orders == again, (
        f"the caller's generator decides, not the seed: yours {orders[0]}, then {again[0]}"
    )
    alike = [seed for seed, (first, second) in enumerate(orders) if first == second]
    assert not alike, f"with the seeds {alike} both epochs have the same order: yours {orders}"
    firsts = {tuple(first) for first, _ in orders}
    assert len(firsts) == 6, f"six seeds give only {len(firsts)} different orders in your code"


def test_none_seeds_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restoring the state afterwards is too late for a thread that draws in between."""
    seeded: list[str] = []
    owners: tuple[Any, ...] = (torch, torch.random, np.random, random)
    for owner in owners:
        for name in {"manual_seed", "seed"}.intersection(vars(owner)):
            said = f"{owner.__name__}.{name}"
            monkeypatch.setattr(owner, name, lambda *_, said=said: seeded.append(said))
    before, seen = torch.get_rng_state(), []
    split(9, 1)
    epochs(1, lambda: seen.append(torch.get_rng_state()))
    assert not seeded, f"your code calls {seeded}, which seeds the whole process"
    assert all(torch.equal(before, each) for each in seen), (
        "when `evaluate` is called, the process's generator has changed: did your code"
        " seed it, or draw from it?"
    )


def finishing(order: tuple[int, ...], values: list[float]) -> list[Callable[[], float]]:
    """Return jobs that all start before any ends, and then end in this order."""
    begun = Barrier(len(values))
    ended = [Event() for _ in values]

    def job(number: int) -> float:
        begun.wait(10)
        place = order.index(number)
        if place:
            ended[order[place - 1]].wait(10)
            # Long enough that whoever waits for the previous job has seen it end.
            Event().wait(0.01)
        ended[number].set()
        return values[number]

    return [lambda number=number: job(number) for number in range(len(values))]  # type: ignore[misc]


@pytest.mark.given
def test_total() -> None:
    """The sum of jobs that run at once: each waits until the others have begun."""
    yours = total(finishing((2, 0, 1), [1.0, 2.5, 4.0]))
    assert yours == 7.5, f"1 + 2.5 + 4: yours {yours}, expected 7.5"


def test_total_on_a_busy_machine() -> None:
    """Whichever job ends first: a sum of floats depends on the order."""
    values = [1e16, 1.0, -1e16]
    orders = list(permutations(range(3)))
    yours = {order: total(finishing(order, values)) for order in orders}
    assert len(set(yours.values())) == 1, (
        f"sums of {values}, by the order in which the jobs end: yours {yours}, expected equal sums"
    )


class Dirty(TorchDispatchMode):
    """Makes `empty` return memory that was used before and holds numbers."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator, then fill new memory."""
        result = func(*args, **(kwargs or {}))
        if "empty" in func.__name__:
            result.fill_(2.0**0.5)
        return result


@pytest.fixture
def deterministic() -> Iterator[None]:
    """Fill uninitialised memory with NaN during a test."""
    torch.use_deterministic_algorithms(mode=True)
    yield
    torch.use_deterministic_algorithms(mode=False)


def check(yours: torch.Tensor, where: str) -> None:
    """Compare with the counts of 0 to 4 in [0, 0, 3, 1, 0]."""
    __tracebackhide__ = True
    expected = torch.tensor([3.0, 1.0, 0.0, 1.0, 0.0])
    assert expected.dtype == yours.dtype, (
        f"your counts are {yours.dtype}, expected {expected.dtype}"
    )
    assert torch.equal(expected, yours), f"{where}: yours {yours}, expected {expected}"


PLACES = [0, 0, 3, 1, 0]


def test_histogram_in_used_memory() -> None:
    """A new process gets fresh memory, which is often zero; a busy one does not."""
    with Dirty():  # type: ignore[no-untyped-call, unused-ignore]
        yours = histogram(torch.tensor(PLACES), 5)
    check(yours, "where the memory was used before")
    check(histogram(torch.tensor(PLACES), 5), "the second time")


@pytest.mark.usefixtures("deterministic")
def test_histogram_where_pytorch_looks() -> None:
    """use_deterministic_algorithms exposes reads of uninitialised memory."""
    places = torch.tensor(PLACES)
    with unchanged(places=places):
        yours = histogram(places, 5)
    check(yours, "torch.use_deterministic_algorithms(True)")
