"""Tests of k02_rendezvous: ranks whose operations take place in any order that a test chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
from torch import distributed as dist

from katas.lecture13 import k02_rendezvous
from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import same
from katas.lecture13.k02_rendezvous import Meeting
from katas.lecture13.k02_rendezvous import join
from katas.lecture13.turns import Turns
from katas.lecture13.turns import check_cost
from katas.lecture13.turns import of_ranks
from katas.lecture13.turns import quietly
from katas.lecture13.turns import slow
from plugins.kit import forbids


if TYPE_CHECKING:
    from plugins.kit import World

    Log = list[tuple[str, int]]


def test_ranks_are_given_in_the_order_of_arrival() -> None:
    """The first to arrive gets 0; in a group of two, the third gets an error."""
    store = dist.HashStore()
    same([join(store, 2), join(store, 2)], [0, 1], "the ranks of the first two, in their order")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="full"):
            pytest.fail(
                f"a third rank joins a group of two: your code gives it rank {join(store, 2)},"
                " expected a RuntimeError that says that the group is full"
            )


def test_no_rank_is_given_twice() -> None:
    """Four processes join at once, and the store serves them in twenty different orders."""
    for seed in range(20):
        ranks = Turns(quietly(seed)).run([lambda store: join(store, 4)] * 4)
        assert [0, 1, 2, 3] == sorted(ranks), (
            f"your code gives {ranks}, expected each of 0 to 3 once: between reading a counter and"
            " writing it another process may read it"
        )


def pass_barriers(store: Any, rank: int, size: int, times: int, log: Log) -> None:
    """Record when this rank reaches a barrier, and when it leaves."""
    meeting = Meeting(store, rank, size)
    for number in range(times):
        log.append(("comes", number))
        meeting.barrier()
        log.append(("leaves", number))


def check(log: Log, size: int, times: int) -> None:
    """At each barrier all ranks arrive before any leaves."""
    __tracebackhide__ = True
    for number in range(times):
        at = [what for what, which in log if which == number]
        assert ["comes"] * size + ["leaves"] * size == at, (
            f"at your barrier {number} a rank leaves before all {size} have arrived: {at}"
        )


def test_nobody_leaves_a_barrier_before_all_have_come() -> None:
    """Each of three ranks is the slow one once; a group of one waits for nobody."""
    for size, last in ((1, 0), (3, 0), (3, 1), (3, 2)):
        log: Log = []
        Turns(slow(last)).run(of_ranks(pass_barriers, size, size, 1, log))
        check(log, size, 1)


def test_a_barrier_can_be_used_again() -> None:
    """A door that is open stays open in the store: the next call needs another one."""
    for last in range(3):
        log: Log = []
        Turns(slow(last)).run(of_ranks(pass_barriers, 3, 3, 4, log))
        check(log, 3, 4)


def test_a_barrier_costs_three_operations_whatever_the_size() -> None:
    """A barrier does not ask for each of the other ranks."""
    turns = Turns(slow(0))
    turns.run(of_ranks(pass_barriers, 12, 12, 1, []))
    check_cost(turns, 3)


def exchange(store: Any, rank: int, values: list[list[Any]]) -> list[Any]:
    """Exchange this rank's value in each round."""
    meeting = Meeting(store, rank, len(values[0]))
    return [meeting.exchange(each[rank]) for each in values]


def test_everybody_learns_what_all_have_given() -> None:
    """Values come in rank order, not in order of arrival; some are not text, and some are None."""
    values = [{"host": "a", "port": 1}, None, bytes(range(256)), ("x", [2.5])]
    for last in range(4):
        results = Turns(slow(last)).run(of_ranks(exchange, 4, [values]))
        for rank, found in enumerate(results):
            same(found[0], values, f"what rank {rank} gets, in the order of ranks")


def test_an_exchange_costs_one_operation_for_each_rank() -> None:
    """One operation for each rank and two more: get waits by itself."""
    turns = Turns(slow(7))
    turns.run(of_ranks(exchange, 9, [list(range(9))]))
    check_cost(turns, 11)


def test_an_exchange_returns_what_was_given_to_it() -> None:
    """No value comes from a different exchange: 13 ranks, 12 exchanges, one rank far behind."""
    values = [[(number, rank) for rank in range(13)] for number in range(12)]
    for result in Turns(slow(5)).run(of_ranks(exchange, 13, values)):
        same(result, values, "what a rank gets in twelve exchanges, as (number, rank)")


def mixed(store: Any, rank: int, size: int, kinds: str, log: Log) -> None:
    """Make calls of both kinds: record barriers, check exchanges."""
    meeting = Meeting(store, rank, size)
    for number, kind in enumerate(kinds):
        if kind == "e":
            values = meeting.exchange((number, rank))
            same(values, [(number, each) for each in range(size)], f"call {number}, an exchange")
            continue
        log.append(("comes", number))
        meeting.barrier()
        log.append(("leaves", number))


def test_calls_of_both_kinds_do_not_meet() -> None:
    """Barriers and exchanges, in any order of calls and operations."""
    for seed, kinds in enumerate(("beb", "eeb", "bbe", "ebeb")):
        log: Log = []
        Turns(quietly(seed)).run(of_ranks(mixed, 3, 3, kinds, log))
        kept = [(what, number) for what, number in log if kinds[number] == "b"]
        for number in (number for number, kind in enumerate(kinds) if kind == "b"):
            at = [what for what, which in kept if which == number]
            same(at, ["comes"] * 3 + ["leaves"] * 3, f"call {number} of {kinds!r} (b: a barrier)")


def meet() -> tuple[int, list[str]]:
    """Join and exchange through the store of a real group, and through nothing else."""
    store = dist.PrefixStore("k02", dist.distributed_c10d._get_default_store())  # noqa: SLF001
    size = dist.get_world_size()
    names = ["barrier", "all_gather_object", "monitored_barrier", "elastic"]
    with forbids(k02_rendezvous, *(f"torch.distributed.{name}" for name in names)) as fresh:
        rank = fresh.join(store, size)
        meeting = fresh.Meeting(store, rank, size)
        meeting.barrier()
        return rank, meeting.exchange(f"hello from {rank}")


@pytest.mark.backend("gloo")
def test_processes_find_each_other(world: World) -> None:
    """Three processes and the store through which they have met: no collective is called."""
    results = world(meet, 3, timeout=SOON)
    same(sorted(rank for rank, _ in results), [0, 1, 2], "the ranks")
    for _, greetings in results:
        same(greetings, [f"hello from {rank}" for rank in range(3)], "what a rank hears")
    same(list(results.calls), [()] * 3, "collectives that each rank calls: the store is enough")
