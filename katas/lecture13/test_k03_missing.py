"""Tests of k03_missing: who is named, that all agree, and what it costs."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING
from typing import Any

import pytest
from torch import distributed as dist

from katas.lecture13 import k03_missing
from katas.lecture13.conftest import same
from katas.lecture13.k03_missing import MissingRanksError
from katas.lecture13.k03_missing import monitored_barrier
from katas.lecture13.turns import Turns
from katas.lecture13.turns import anyhow
from katas.lecture13.turns import check_cost
from katas.lecture13.turns import of_ranks
from katas.lecture13.turns import slow
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from katas.lecture13.turns import Option


LONG = timedelta(minutes=7)


def comes(store: Any, rank: int, size: int, absent: tuple[int, ...] = ()) -> list[int]:
    """Return the ranks that were missing; absent ranks do not take part."""
    if rank in absent:
        return list(absent)
    missing: list[int] | None = []
    try:
        monitored_barrier(store, rank, size, LONG)
    except MissingRanksError as error:
        missing = error.ranks or None
    assert missing is not None, f"your rank {rank} raises an error that names no rank"
    return missing


def test_it_is_a_barrier() -> None:
    """If all ranks arrive, none raises, and none leaves before the last one has arrived."""
    for size, last in ((1, 0), (3, 0), (3, 1), (3, 2)):
        log: list[str] = []

        def noted(store: Any, rank: int, size: int = size, log: list[str] = log) -> None:
            log.append("comes")
            monitored_barrier(store, rank, size, LONG)
            log.append("leaves")

        turns = Turns(slow(last))
        turns.run(of_ranks(noted, size))
        same(log, ["comes"] * size + ["leaves"] * size, f"rank {last} of {size} comes last")
        same(turns.ran_out, [], f"whose time runs out, though all {size} have come")


def test_who_has_not_come_is_named() -> None:
    """Every rank that has arrived names the missing ranks in order; rank 0 is not special."""
    for absent in ((1,), (0,), (1, 3, 10), tuple(range(1, 12))):
        for rank, missing in enumerate(Turns().run(of_ranks(comes, 12, 12, absent))):
            same(missing, list(absent), f"who is missing of 12, says rank {rank}")


def test_the_time_out_is_handed_to_the_store() -> None:
    """Each rank waits once: three missing ranks do not take three times as long as one."""
    turns = Turns()
    turns.run(of_ranks(comes, 5, 5, (0, 1, 3)))
    expected = [(2, LONG), (4, LONG)]
    same(sorted(turns.timeouts), expected, "who waits with a time-out, and with which one")


def test_a_rank_that_comes_later_hears_of_it() -> None:
    """The others have given up by then: the late rank must not wait, nor go on alone."""

    def late(options: list[Option]) -> Option:
        # Time runs out for rank 0 and then for rank 1 before rank 2 does anything.
        return min(options, key=lambda option: option[1])

    results = Turns(late).run(of_ranks(comes, 3, 3))
    same(results, [[1, 2]] * 3, "rank 0 gives up before 1 and 2 come: who is missing, by rank")


def switching(*after: int) -> Callable[[list[Option]], Option]:
    """Let one of two ranks run alone, then the other one, switching after these operations."""
    made = 0

    def choose(options: list[Option]) -> Option:
        nonlocal made
        made += 1
        current = sum(made > number for number in after) % 2
        return min(options, key=lambda option: option[1] != current)

    return choose


def test_all_ranks_agree() -> None:
    """One rank runs out of time; the other arrives at any moment, and may be interrupted too."""
    for first, more in product(range(10), range(10)):
        results = Turns(switching(first, first + more)).run(of_ranks(comes, 2, 2))
        assert results[0] == results[1], (
            f"your ranks name {results} as missing, expected both to agree. Rank 0 runs {first}"
            f" operations, rank 1 then {more}, rank 0 the rest: they must obey one verdict"
        )


def test_all_ranks_agree_in_any_order() -> None:
    """Time may run out for several of three ranks, in thirty orders."""
    for seed in range(30):
        results = Turns(anyhow(seed)).run(of_ranks(comes, 3, 3))
        same(results, [results[0]] * 3, "who is missing, by rank: the same for all, or [] for all")
        same(results[0], sorted(set(results[0])), "the missing ranks, ascending")


def test_it_costs_one_operation_for_each_rank() -> None:
    """One operation for each rank and eight more; no rank asks again and again."""
    turns = Turns()
    turns.run(of_ranks(comes, 12, 12, (3,)))
    check_cost(turns, 20)


def named(module: Any, store: dist.Store) -> list[int] | None:
    """Return whom rank 0 of 3 misses, or None."""
    try:
        module.monitored_barrier(store, 0, 3, timedelta(milliseconds=10))
    except module.MissingRanksError as error:
        missing: list[int] = error.ranks
        return missing
    return None


@pytest.mark.parametrize("kind", ["FileStore", "HashStore"])
def test_time_runs_out_in_a_real_store(kind: str, tmp_path: Path) -> None:
    """Rank 0 of 3 is alone, for a hundredth of a second: not all stores raise the same error."""
    store = dist.HashStore() if kind == "HashStore" else dist.FileStore(f"{tmp_path}/store", 3)
    names = ["barrier", "monitored_barrier", "elastic"]
    with forbids(k03_missing, *(f"torch.distributed.{name}" for name in names)) as fresh:
        found = named(fresh, store)
    same(found, [1, 2], "who is missing, if rank 0 of 3 waits alone (None: yours returns)")
