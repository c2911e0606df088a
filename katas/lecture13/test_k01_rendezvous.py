"""Tests of k01_rendezvous: ranks whose operations take place in any order that a test chooses."""

from __future__ import annotations

import socket
from datetime import timedelta
from functools import partial
from itertools import product
from threading import Semaphore
from threading import Thread
from types import FunctionType
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributed as dist

from katas.lecture13 import k01_rendezvous
from katas.lecture13.k01_rendezvous import Meeting
from katas.lecture13.k01_rendezvous import MissingRanksError
from katas.lecture13.k01_rendezvous import join
from plugins.kit import forbids


if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.kit import World


LONG = timedelta(minutes=7)
# An operation that is about to take place: whose it is, and whether it is a wait that runs out.
Option = tuple[bool, int]


class StoppedError(BaseException):
    """Ends a rank of whose result nobody wants to know any more."""


class Seat:
    """The store as one rank sees it: each operation takes place when it is this rank's turn."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._go = Semaphore(0)
        # A rank that has not begun may begin.
        self.asked: tuple[str, tuple[Any, ...]] | None = ("begin", ())
        self.answer: Any = None
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"store.{name}: only set, get, add and wait may be used")

    def _ask(self, name: str, *args: Any) -> Any:
        self.made.append(name)
        assert len(self.made) < 5000, (
            f"yours asks again and again instead of waiting: its last operations are "
            f"{self.made[-3:]}. get and wait return when the key is there"
        )
        self.asked = (name, args)
        self._turns.paused.release()
        return self.go_on()

    def go_on(self) -> Any:
        """Return the answer when it is this rank's turn."""
        self._go.acquire()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def reply(self, answer: Any) -> None:
        """Let this rank go on, and return when it asks for something else or has ended."""
        self.asked, self.answer = None, answer
        self._go.release()
        self._turns.paused.acquire()

    def set(self, key: str, value: str | bytes) -> None:
        """As the method of a store."""
        return self._ask("set", key, value)

    def get(self, key: str) -> bytes:
        """As the method of a store."""
        return self._ask("get", [key])

    def add(self, key: str, number: int) -> int:
        """As the method of a store."""
        return self._ask("add", key, number)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """As the method of a store."""
        assert not isinstance(keys, str), f"store.wait takes a list of keys; yours is {keys!r}"
        return self._ask("wait", list(keys), timeout)


class Turns:
    """Runs ranks whose operations on one store take place one by one, in a chosen order."""

    def __init__(self, choose: Callable[[list[Option]], Option] = min) -> None:
        self.paused = Semaphore(0)
        self.seats: list[Seat] = []
        self.timeouts: list[tuple[int, timedelta]] = []
        self._choose = choose
        self._data: dict[str, bytes] = {}
        self._counters: set[str] = set()

    def run(self, functions: Sequence[Callable[[Any], Any]]) -> list[Any]:
        """Call each function with its store, and return what they return."""
        self.seats = [Seat(self) for _ in functions]
        self._results: list[Any] = [None] * len(functions)
        self._error: BaseException | None = None
        for number, function in enumerate(functions):
            Thread(target=self._live, args=(number, function), daemon=True).start()
        while self._error is None and any(seat.asked for seat in self.seats):
            options = [option for seat in self.seats for option in self._options(seat)]
            if not options:
                waiting = {n: seat.asked for n, seat in enumerate(self.seats) if seat.asked}
                self._error = AssertionError(
                    f"these ranks of yours wait for ever, for what nobody sets: {waiting}"
                )
                break
            runs_out, number = self._choose(options)
            self._serve(self.seats[number], runs_out=runs_out)
        for seat in self.seats:
            if seat.asked:
                seat.reply(StoppedError())
        if self._error:
            raise self._error
        return self._results

    def _live(self, number: int, function: Callable[[Any], Any]) -> None:
        try:
            self.seats[number].go_on()
            self._results[number] = function(self.seats[number])
        except StoppedError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
            self._error = self._error or error
        self.paused.release()

    def _options(self, seat: Seat) -> list[Option]:
        number = self.seats.index(seat)
        if seat.asked is None:
            return []
        name, args = seat.asked
        if name in {"begin", "set", "add"} or all(key in self._data for key in args[0]):
            return [(False, number)]
        return [(True, number)] if name == "wait" and args[1] is not None else []

    def _serve(self, seat: Seat, *, runs_out: bool) -> None:
        name, args = seat.asked or ("", ())
        answer: Any = None
        if name == "wait":
            if args[1] is not None:
                self.timeouts.append((self.seats.index(seat), args[1]))
            answer = RuntimeError("Wait timeout: what a FileStore raises") if runs_out else None
        elif name == "get":
            answer = self._data[args[0][0]]
        elif name == "set":
            key, value = args
            assert key not in self._counters, f"{key!r} is a counter: yours sets it as well"
            self._data[key] = value.encode() if isinstance(value, str) else value
        elif name == "add":
            key, number = args
            assert key in self._counters or key not in self._data, (
                f"{key!r} was set: yours adds to it, and a store would raise or read it as a number"
            )
            self._counters.add(key)
            answer = int(self._data.get(key, b"0")) + number
            self._data[key] = b"%d" % answer
        seat.reply(answer)


def slow(rank: int) -> Callable[[list[Option]], Option]:
    """Choose anybody before this rank, and nobody's time runs out while anybody can go on."""
    return lambda options: min(options, key=lambda option: (option[0], option[1] == rank, option))


def with_ranks(work: Callable[..., Any], size: int, *args: Any) -> list[Callable[[Any], Any]]:
    """Return for each rank a function of its store."""

    def function(rank: int, store: Any) -> Any:
        return work(Meeting(store, rank, size), rank, *args)

    return [partial(function, rank) for rank in range(size)]


def test_ranks_are_given_in_the_order_of_arrival() -> None:
    """0 for whoever comes first."""
    store = dist.HashStore()

    found = [join(store, 3) for _ in range(3)]
    assert [0, 1, 2] == found, f"yours: {found}; expected: whoever comes first is rank 0"


@given(order=st.randoms(use_true_random=False))
def test_no_rank_is_given_twice(order: random.Random) -> None:
    """Four processes at once, whatever the order in which the store serves them."""
    turns = Turns(order.choice)
    ranks = turns.run([lambda store: join(store, 4)] * 4)

    assert [0, 1, 2, 3] == sorted(ranks), (
        f"yours gives {ranks}: between reading a counter and writing it another rank may read it"
    )


def test_a_group_takes_no_more_than_it_has_room_for() -> None:
    """The third of two is told so, and the fourth."""
    store = dist.HashStore()
    found = [join(store, 2), join(store, 2)]
    assert [0, 1] == found, f"yours: {found}, for the two that there is room for"

    for _ in range(2):
        with pytest.raises(RuntimeError, match="full"):
            pytest.fail(
                f"a third of two: yours gives it rank {join(store, 2)}, expected a RuntimeError"
                " that says that the group is full"
            )


def pass_barriers(
    meeting: Meeting, rank: int, log: list[tuple[str, int, int]], times: int = 1
) -> None:
    """Note when this rank comes to a barrier, and when it leaves."""
    for number in range(times):
        log.append(("comes", number, rank))
        meeting.barrier()
        log.append(("leaves", number, rank))


def check(log: list[tuple[str, int, int]], size: int, times: int = 1) -> None:
    """At each barrier all come before anybody leaves."""
    assert 2 * size * times == len(log), f"{size} ranks pass {times} barriers; yours: {log}"
    for number in range(times):
        at = [what for what, which, _ in log if which == number]
        assert ["comes"] * size + ["leaves"] * size == at, (
            f"at barrier {number} of yours a rank leaves before all {size} have come: {at}"
        )


def test_nobody_leaves_a_barrier_before_all_have_come() -> None:
    """Each of three ranks is the slow one once; a group of one waits for nobody."""
    for size, last in ((1, 0), (3, 0), (3, 1), (3, 2)):
        log: list[tuple[str, int, int]] = []
        Turns(slow(last)).run(with_ranks(pass_barriers, size, log))

        check(log, size)


def test_a_barrier_can_be_used_again() -> None:
    """A door that is open stays open in the store: the next call needs another one."""
    for last in range(3):
        log: list[tuple[str, int, int]] = []
        Turns(slow(last)).run(with_ranks(pass_barriers, 3, log, 4))

        check(log, 3, 4)


@given(order=st.randoms(use_true_random=False), size=st.integers(1, 4))
def test_a_barrier_holds_in_any_order(order: random.Random, size: int) -> None:
    """Whichever rank's operation takes place next."""
    log: list[tuple[str, int, int]] = []
    Turns(order.choice).run(with_ranks(pass_barriers, size, log, 3))

    check(log, size, 3)


def check_cost(turns: Turns, most: int) -> None:
    """No rank asks more of the store."""
    made = max((seat.made for seat in turns.seats), key=len)
    assert len(made) <= most, (
        f"a rank of yours makes {len(made)} operations, at most {most} are allowed: {made}"
    )


@pytest.mark.parametrize("size", [2, 40])
def test_a_barrier_costs_three_operations_whatever_the_size(size: int) -> None:
    """By each rank: it does not ask for each of the others."""
    turns = Turns(slow(0))
    turns.run(with_ranks(pass_barriers, size, []))

    check_cost(turns, 3)


def exchange(meeting: Meeting, rank: int, values: list[Any]) -> list[Any]:
    """Give the value of this rank."""
    return meeting.exchange(values[rank])


def test_everybody_learns_what_all_have_given() -> None:
    """In the order of the ranks, not of arrival; values that are no text, and None."""
    values = [{"host": "a", "port": 1}, None, bytes(range(256)), ("x", [2.5])]
    for last in range(4):
        results = Turns(slow(last)).run(with_ranks(exchange, 4, values))

        for rank, found in enumerate(results):
            assert values == found, (
                f"rank {rank} of yours gets {found}; expected, in the order of ranks: {values}"
            )


def test_an_exchange_costs_one_operation_for_each_rank() -> None:
    """And two more: get waits by itself."""
    turns = Turns(slow(7))
    turns.run(with_ranks(exchange, 20, list(range(20))))

    check_cost(turns, 22)


def exchange_often(meeting: Meeting, rank: int, times: int) -> list[list[Any]]:
    """Give another value each time."""
    return [meeting.exchange((number, rank)) for number in range(times)]


@pytest.mark.parametrize("last", [0, 5, 12])
def test_an_exchange_returns_what_was_given_to_it(last: int) -> None:
    """Not what was given to another one: 13 ranks, 25 exchanges, one rank far behind."""
    results = Turns(slow(last)).run(with_ranks(exchange_often, 13, 25))

    for result in results:
        for number, values in enumerate(result):
            assert [(number, rank) for rank in range(13)] == values, (
                f"exchange {number} of yours returns what was given to another one: {values}"
            )


def mixed(meeting: Meeting, rank: int, kinds: str, log: list[tuple[str, int, int]]) -> None:
    """Make calls of several kinds: barriers are noted, exchanges checked."""
    for number, kind in enumerate(kinds):
        if kind == "e":
            values = meeting.exchange((number, rank))
            assert [number] * len(values) == [given for given, _ in values], (
                f"call {number} of yours, an exchange, returns what was given to another: {values}"
            )
            continue
        log.append(("comes", number, rank))
        if kind == "m":
            meeting.monitored_barrier(LONG)
        else:
            meeting.barrier()
        log.append(("leaves", number, rank))


def quietly(order: random.Random, options: list[Option]) -> Option:
    """Choose at random, and let time run out only when nothing else can happen."""
    return order.choice([option for option in options if option[0] == options[0][0]])


@given(
    order=st.randoms(use_true_random=False),
    size=st.integers(1, 3),
    kinds=st.text("bem", min_size=1),
)
def test_calls_of_several_kinds_do_not_meet(order: random.Random, size: int, kinds: str) -> None:
    """A barrier, an exchange and a monitored barrier, in any order of calls and operations."""
    log: list[tuple[str, int, int]] = []
    turns = Turns(lambda options: quietly(order, sorted(options)))
    turns.run(with_ranks(mixed, size, kinds, log))

    for number, kind in enumerate(kinds):
        at = [what for what, which, _ in log if which == number]
        assert (["comes"] * size + ["leaves"] * size if kind != "e" else []) == at, (
            f"call {number} of {kinds!r} (b and m are barriers): a rank of yours leaves it before "
            f"all {size} have come: {at}"
        )


def monitored(meeting: Meeting, rank: int, absent: Sequence[int] = ()) -> list[int]:
    """Return the ranks that were missing; absent ranks do not come."""
    if rank in absent:
        return list(absent)
    try:
        meeting.monitored_barrier(LONG)
    except MissingRanksError as error:
        missing = error.ranks
    else:
        return []
    assert missing, f"rank {rank} of yours raises, and names nobody: all had come meanwhile"
    return missing


def test_a_monitored_barrier_is_a_barrier() -> None:
    """If all come, it returns; and it can be used again."""
    for last in range(3):
        log: list[tuple[str, int, int]] = []
        Turns(slow(last)).run(with_ranks(mixed, 3, "mmm", log))

        check(log, 3, 3)


@pytest.mark.parametrize(
    "absent",
    [[1], [0], [1, 3, 10], [*range(1, 12)]],
    ids=["one", "rank 0", "three", "all the others"],
)
def test_who_has_not_come_is_named(absent: list[int]) -> None:
    """By every rank that has come, in ascending order; rank 0 is no better than others."""
    turns = Turns()
    results = turns.run(with_ranks(monitored, 12, absent))

    for rank, missing in enumerate(results):
        assert absent == missing, f"rank {rank} of yours misses {missing}; expected: {absent}"


def test_the_time_out_is_handed_to_the_store() -> None:
    """Once by each rank: three that are missing do not take three times as long as one."""
    turns = Turns()
    turns.run(with_ranks(monitored, 5, [0, 1, 3]))

    assert [(2, LONG), (4, LONG)] == sorted(turns.timeouts), (
        f"yours waits with these time-outs, by rank: {turns.timeouts}; expected: ranks 2 and 4 "
        f"once each, for {LONG}, which is handed on as it is"
    )


def test_a_rank_that_comes_later_hears_of_it() -> None:
    """The others have given up by then: it shall not wait, and not go on alone."""

    def late(options: list[Option]) -> Option:
        # Time runs out for rank 0 and then for rank 1 before rank 2 does anything.
        return min(options, key=lambda option: option[1])

    for come in (monitored, monitored_twice):
        results = Turns(late).run(with_ranks(come, 3))
        assert results[0], "rank 0 of yours returns; its time ran out before the last rank had come"
        assert [results[0]] * 3 == results, (
            f"yours, by rank: {results} are missing; expected: all hear the first verdict"
        )


def monitored_twice(meeting: Meeting, rank: int) -> list[int]:
    """Pass one barrier, then monitor the second."""
    meeting.barrier()
    return monitored(meeting, rank)


def switching(*after: int) -> Callable[[list[Option]], Option]:
    """Let one of two ranks go on alone, then the other one, from these operations on."""
    made = 0

    def choose(options: list[Option]) -> Option:
        nonlocal made
        made += 1
        current = sum(made > number for number in after) % 2
        return min(options, key=lambda option: option[1] != current)

    return choose


def test_all_ranks_agree() -> None:
    """One runs out of time, the other one comes at any moment, and may be interrupted too."""
    for first, more in product(range(13), range(13)):
        results = Turns(switching(first, first + more)).run(with_ranks(monitored, 2))

        assert results[0] == results[1], (
            f"rank 0 makes {first} steps, rank 1 {more}, rank 0 the rest: missing {results}"
        )


@given(order=st.randoms(use_true_random=False), size=st.integers(2, 4))
def test_all_ranks_agree_in_any_order(order: random.Random, size: int) -> None:
    """Time may run out for several of up to four ranks."""
    results = Turns(order.choice).run(with_ranks(monitored, size))

    assert [results[0]] * size == results, (
        f"yours, by rank: {results} are missing; expected: the same in all, or [] in all"
    )
    assert sorted(set(results[0])) == results[0], f"yours: {results[0]}; expected: ascending"
    assert len(results[0]) < size, "yours misses all ranks; whose time runs out has come itself"


def test_a_monitored_barrier_costs_one_operation_for_each_rank_if_somebody_is_missing() -> None:
    """And eight more; it does not ask again and again."""
    turns = Turns()
    turns.run(with_ranks(monitored, 20, [3]))

    check_cost(turns, 28)


def test_threads_meet_in_a_real_store() -> None:
    """Four of them, a hundred exchanges, in one HashStore."""
    store, results = dist.HashStore(), {}
    # If one thread fails, the others shall not wait for it for ever.
    store.set_timeout(timedelta(seconds=15))

    def live() -> None:
        meeting = Meeting(store, rank := join(store, 4), 4)
        results[rank] = exchange_often(meeting, rank, 100)

    # What is not written yet raises here, and not in a thread.
    join(dist.HashStore(), 1)
    Meeting(dist.HashStore(), 0, 1)
    threads = [Thread(target=live, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    expected = [[(number, rank) for rank in range(4)] for number in range(100)]
    for rank in range(4):
        assert expected == results.get(rank), (
            f"thread {rank} of yours gets {results.get(rank)} (None: it raised, see stderr)"
        )


@pytest.mark.parametrize("kind", ["FileStore", "HashStore"])
def test_time_runs_out_in_a_real_store(kind: str, tmp_path: Path) -> None:
    """Rank 0 of 3 is alone, for a hundredth of a second: not all stores raise the same."""
    store = dist.HashStore() if kind == "HashStore" else dist.FileStore(f"{tmp_path}/store", 3)
    meeting = Meeting(store, 0, 3)

    with pytest.raises(MissingRanksError) as caught:
        pytest.fail(
            "rank 0 of 3 waits alone, and yours returns"
            f" {meeting.monitored_barrier(timedelta(milliseconds=10))}, expected MissingRanksError"
        )
    assert [1, 2] == caught.value.ranks, f"yours misses {caught.value.ranks}; expected: [1, 2]"


def test_the_store_is_all_that_is_used() -> None:
    """No function of torch.distributed, whose barriers are what is written here."""
    # Compare types: isinstance would touch deprecated names, and they warn.
    functions = [name for name, each in vars(dist).items() if type(each) is FunctionType]
    names = [f"torch.distributed.{name}" for name in (*functions, "elastic", "distributed_c10d")]
    with forbids(k01_rendezvous, *names) as fresh:
        turns = Turns()
        results = turns.run([lambda store: everything(fresh, store)] * 2)

    assert [0, 1] == sorted(results), f"yours gives these ranks: {results}"


def everything(module: Any, store: Any) -> int:
    """Call all that the exercise has; return the rank."""
    rank: int = module.join(store, 2)
    meeting = module.Meeting(store, rank, 2)
    meeting.barrier()
    meeting.exchange(rank)
    meeting.monitored_barrier(LONG)
    return rank


def find_each_other(size: int) -> tuple[int, int, list[torch.Tensor]]:
    """Listen at a port, tell the others, and greet the next rank: what a process group does."""
    # The store through which these ranks have met: a FileStore, or the TCPStore of a job.
    store = dist.PrefixStore("k01", dist.distributed_c10d._get_default_store())  # noqa: SLF001
    rank = join(store, size)
    meeting = Meeting(store, rank, size)
    with socket.create_server(("", 0)) as server:
        places = meeting.exchange((socket.gethostname(), server.getsockname()[1]))
        host, port = places[(rank + 1) % size]
        with socket.create_connection((resolved(host), port)) as to_next:
            to_next.sendall(bytes([rank]))
            with server.accept()[0] as from_last:
                heard = from_last.recv(1)[0]
        meeting.barrier()
    meeting.monitored_barrier(timedelta(minutes=1))
    return rank, heard, meeting.exchange(torch.full((2,), rank))


def resolved(host: str) -> str:
    """Return where a host is reached: this one by loopback, which needs no name service."""
    return "127.0.0.1" if host == socket.gethostname() else host


@pytest.mark.backend("gloo")
def test_processes_find_each_other(world: World) -> None:
    """They know a store and their number; at the end each has heard from the one before it."""
    results = world(find_each_other, 4, 4)

    ranks = sorted(rank for rank, _, _ in results)
    assert [0, 1, 2, 3] == ranks, f"yours gives these ranks: {ranks}"
    for rank, heard, tensors in results:
        assert (rank - 1) % 4 == heard, f"rank {rank} of yours was greeted by {heard}"
        given = [tensor.tolist() for tensor in tensors]
        assert [[each] * 2 for each in range(4)] == given, f"rank {rank} of yours gets {given}"
    assert [()] * 4 == list(results.calls), "yours uses collectives: the store is all there is"
