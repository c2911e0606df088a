"""Tests of k10_hang: six functions without their hangs, the guard, the post-mortem."""

from __future__ import annotations

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import Condition
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.k10_hang import DisagreementError
from katas.lecture13.k10_hang import Guard
from katas.lecture13.k10_hang import Meeting
from katas.lecture13.k10_hang import adopt_best
from katas.lecture13.k10_hang import averages
from katas.lecture13.k10_hang import diagnose
from katas.lecture13.k10_hang import disagreement
from katas.lecture13.k10_hang import gather_ragged
from katas.lecture13.k10_hang import mean_on_first
from katas.lecture13.k10_hang import sum_gradients
from katas.lecture13.k10_hang import sum_if_finite
from plugins.kit import loopback
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.backend("gloo"),
    # What `unchanged` looks at in each rank; imported once, and not by each of them.
    pytest.mark.ranks_import("numpy.random"),
]

# A world that hangs is stopped after so many seconds.
SOON = 6


def finished(world: Any, function: Callable[..., Any], size: int, *args: Any) -> Any:
    """Return what ranks return; that they hang or die is what is tested here."""
    try:
        return world(function, size, *args, timeout=SOON)
    except pytest.fail.Exception as error:
        raise AssertionError(str(error)) from None


def names(results: Any) -> list[list[str]]:
    """Return the names of what each rank called."""
    return [[call.name for call in calls] for calls in results.calls]


def same(found: Any, expected: Any, what: str) -> None:
    """Compare, side by side."""
    assert expected == found, f"{what}\nyours:    {found}\nexpected: {expected}"


def mean() -> Any:
    """Each rank has twice its number as loss, and a little more than float32 can tell."""
    loss = torch.tensor(2.0 * dist.get_rank(), dtype=torch.float64) * (1 + 2**-40)
    with unchanged(loss=loss):
        return mean_on_first(loss)


def test_all_ranks_take_part_in_what_rank_0_prints(world: Any) -> None:
    """Rank 0 cannot sum alone."""
    results = finished(world, mean, 3)

    expected = [2 * (1 + 2**-40), None, None]
    same(list(results), expected, "the mean of 0, 2 and 4 times 1 + 2**-40, on rank 0 alone")


def gradients(cases: list[dict[str, int]]) -> list[dict[str, list[float]]]:
    """Rank 1 has the names in another order than rank 0, and rank 2 in a third one."""
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


def averaged(cases: list[list[int]]) -> Any:
    """Rank r has so many batches, of float64; batch i of rank r is 10 r + i."""
    rank, results = dist.get_rank(), []
    for counts in cases:
        zero = torch.zeros(2, dtype=torch.float64)
        batches = [torch.full_like(zero, 10.0 * rank + step) for step in range(counts[rank])]
        with unchanged(batches=batches, zero=zero):
            results.append([average.tolist() for average in averages(batches, zero)])
    return results


def test_a_rank_without_data_goes_on_taking_part(world: Any) -> None:
    """Until all are done; the average is over those that have a batch."""
    cases = {
        (2, 2, 3, 2): [[15.0] * 2, [16.0] * 2, [22.0] * 2],
        (0, 2, 0, 0): [[10.0] * 2, [11.0] * 2],
        (0, 0, 0, 0): [],
    }
    for rank, found in enumerate(finished(world, averaged, 4, list(cases))):
        for counts, mine in zip(cases, found, strict=True):
            same(mine, cases[counts], f"averages on rank {rank}; the ranks have {counts} batches")


def finite(cases: list[list[list[float]]]) -> Any:
    """Each rank has other numbers."""
    results = []
    for values in cases:
        gradient = torch.tensor(values[dist.get_rank()])
        done = sum_if_finite(gradient)
        results.append((done, [str(value) for value in gradient.tolist()]))
    return results


def test_all_ranks_skip_a_step_or_none(world: Any) -> None:
    """What only one of them can see has to be told."""
    sums = [[1.0, 2.0], [3.0, -2.0], [1.0, 0.0]]
    # What is looked at are the gradients: that finite ones add up to inf is another matter.
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


def best(cases: list[list[float]]) -> list[list[float]]:
    """Each rank has its number as weights."""
    results = []
    for losses in cases:
        weights = torch.full((3,), float(dist.get_rank()))
        adopt_best(losses[dist.get_rank()], weights)
        results.append(weights.tolist())
    return results


def test_all_ranks_know_from_whom_the_weights_come(world: Any) -> None:
    """A rank knows more than whether it is the best itself."""
    inf = float("inf")
    # The last but one are the same in float32.
    cases = [[3.0, 2.0, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, 1.0 - 1e-12], [inf, inf, inf]]
    for rank, found in enumerate(finished(world, best, 3, cases)):
        for losses, mine, owner in zip(cases, found, (2.0, 1.0, 2.0, 0.0), strict=True):
            same(mine, [owner] * 3, f"losses {losses}: whose weights has rank {rank}?")


def ragged(cases: list[list[int]]) -> list[list[list[float]]]:
    """Rank r has so many numbers r.1, r.2, ..."""
    rank, results = dist.get_rank(), []
    for lengths in cases:
        values = torch.arange(1, lengths[rank] + 1) + 10 * rank
        with unchanged(values=values):
            parts = gather_ragged(values)
        assert {part.dtype for part in parts} == {torch.int64}, f"yours, of int64: {parts}"
        results.append([part.tolist() for part in parts])
    return results


def test_tensors_of_all_lengths_are_gathered(world: Any) -> None:
    """What a collective moves has the same shape on all ranks."""
    cases = [[2, 5, 1], [0, 3, 0], [0, 0, 0]]
    for rank, found in enumerate(finished(world, ragged, 3, cases)):
        for lengths, mine in zip(cases, found, strict=True):
            expected = [
                [10 * owner + n for n in range(1, length + 1)]
                for owner, length in enumerate(lengths)
            ]
            same(mine, expected, f"tensors of {lengths} numbers, as rank {rank} has them")


def test_who_says_what_is_told_in_a_line() -> None:
    """Groups of the same, the one of the lowest rank first."""
    for number, said, expected in (
        (
            3,
            ["allreduce_ [4]", "broadcast_ [4]", "allreduce_ [4]"],
            "collective 3: ranks 0, 2: allreduce_ [4]; rank 1: broadcast_ [4]",
        ),
        (12, [None, "a", "a"], "collective 12: rank 0: nothing; ranks 1, 2: a"),
        (1, ["a", "b", None, "a"], "collective 1: ranks 0, 3: a; rank 1: b; rank 2: nothing"),
    ):
        same(disagreement(number, said), expected, f"number {number}, of which is said {said}")


def test_nothing_is_told_if_all_agree() -> None:
    """Whatever they agree about."""
    same(disagreement(3, ["allreduce_ [4]"] * 3), None, "all say the same")
    same(disagreement(1, ["the end"]), None, "one rank, which says something")


@dataclass
class Wait:
    """A rank that waits for keys: whether its time may run out, and what has come of it."""

    keys: list[str]
    limited: bool
    ended: str = ""


class Table:
    """A store for threads, in which time runs out as soon as nobody is left to wait for."""

    def __init__(self, ranks: int) -> None:
        self.live = ranks
        self.limits: list[timedelta] = []
        self._data: dict[str, bytes] = {}
        self._waits: list[Wait] = []
        self._changed = Condition()

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"store.{name}: only set, get, wait and check may be used")

    def set(self, key: str, value: str | bytes) -> None:
        """As the method of a store."""
        with self._changed:
            self._data[key] = value.encode() if isinstance(value, str) else value
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        """As the method of a store."""
        self.wait([key])
        return self._data[key]

    def check(self, keys: list[str]) -> bool:
        """As the method of a store."""
        return all(key in self._data for key in keys)

    def wait(self, keys: list[str], limit: timedelta | None = None) -> None:
        """As the method of a store."""
        assert not isinstance(keys, str), f"store.wait takes a list of keys; yours is {keys!r}"
        assert limit is None or isinstance(limit, timedelta), f"a timedelta; yours: {limit!r}"
        with self._changed:
            self.limits += [limit] if limit is not None else []
            self._waits.append(wait := Wait(list(keys), limit is not None))
            self._end_what_is_stuck()
            while not (wait.ended or self.check(keys)):
                # A thread that asks again and again is not stuck: then the time counts.
                if not self._changed.wait(SOON if limit is None else limit.total_seconds()):
                    wait.ended = "stuck" if limit is None else "out"
            self._waits.remove(wait)
            if not self.check(keys):
                missing = [key for key in keys if key not in self._data]
                if wait.ended == "out":
                    raise RuntimeError(f"Wait timeout: {missing}")
                raise AssertionError(
                    f"a rank of yours waits for ever, without a time-out: {missing}"
                )

    def leave(self) -> None:
        """Note that a rank has ended."""
        with self._changed:
            self.live -= 1
            self._end_what_is_stuck()

    def _end_what_is_stuck(self) -> None:
        """If all that live wait, let time run out for those who have a limit; else for all."""
        waits = [wait for wait in self._waits if not wait.ended]
        if len(waits) == self.live and not any(self.check(wait.keys) for wait in waits):
            limited = [wait for wait in waits if wait.limited]
            for wait in limited or waits:
                wait.ended = "out" if limited else "stuck"
            self._changed.notify_all()


def meet(said: list[list[str]], seconds: float = 20.0) -> list[str]:
    """Return what becomes of ranks that say these things: threads, with a store between them."""
    present = [number for number, texts in enumerate(said) if texts]
    store: Any = Table(len(present))

    def rank(number: int) -> str:
        try:
            meeting = Meeting(store, number, len(said), seconds)
            for text in said[number]:
                meeting.agree(text)
        except DisagreementError as error:
            return str(error)
        finally:
            store.leave()
        return "fine"

    with ThreadPoolExecutor(len(said)) as pool:
        results = list(pool.map(rank, present))
    long = [limit for limit in store.limits if limit > timedelta(seconds=seconds)]
    assert not long, f"yours waits for {long}, and not for {seconds} s"
    return results


def test_ranks_that_say_the_same_go_on() -> None:
    """Alone, and together, several times."""
    same(meet([["a", "b"]]), ["fine"], "one rank says a, then b")
    same(meet([["a", "b", "a"]] * 3), ["fine"] * 3, "three ranks say a, b and a")


def test_ranks_that_differ_are_told_so() -> None:
    """All of them, and at the number at which it happened."""
    line = "collective 2: ranks 0, 2: b; rank 1: c"
    same(
        meet([["a", "b"], ["a", "c"], ["a", "b"]]), [line] * 3, "rank 1 says a, c, the others a, b"
    )


def test_a_later_call_is_not_taken_for_an_earlier_one() -> None:
    """The texts are compared by number: the same two in another order are no agreement."""
    line = "collective 1: rank 0: a; rank 1: b"
    same(meet([["a", "b"], ["b", "a"]]), [line] * 2, "rank 0 says a, b, rank 1 says b, a")


def test_a_rank_that_does_not_come_says_nothing() -> None:
    """After some time the others say who it is."""
    line = "collective 1: ranks 0, 2: a; rank 1: nothing"
    same(meet([["a"], [], ["a"]], seconds=2.5), [line] * 2, "rank 1 does not come")

    # What rank 11 has said about number 1 is not what rank 1 says about number 11.
    others = [0, *range(2, 12)]
    line = f"collective 11: ranks {', '.join(map(str, others))}: b; rank 1: nothing"
    found = meet([["a"] * 10 + ["b"] * (rank in others) for rank in range(12)])
    same(found, [line, "fine", *[line] * 10], "rank 1 of twelve does not come to number 11")


class Noted(Meeting):
    """Keeps what it is told to say."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.noted_by_the_test: list[str] = []

    def say(self, text: str) -> None:
        """Note it."""
        self.noted_by_the_test.append(text)
        super().say(text)

    def agree(self, text: str) -> None:
        """Note it."""
        self.noted_by_the_test.append(text)
        super().agree(text)


def guarded(job: Callable[[], Any], name: str = "guard") -> Any:
    """Return what a job returns under the guard, or how it ended; then the guard is gone."""
    store = dist.PrefixStore(name, dist.distributed_c10d._get_default_store())  # noqa: SLF001
    meeting = Noted(store, dist.get_rank(), dist.get_world_size(), 60)
    with unchanged():
        return under_guard(job, meeting)


def under_guard(job: Callable[[], Any], meeting: Noted) -> Any:
    """Return what a job returns under the guard, or how it ended."""
    try:
        with Guard(meeting):
            return job()
    except DisagreementError as error:
        told = meeting.noted_by_the_test
        assert "DisagreementError" not in told, (
            f"after a DisagreementError yours tells the others once more: {told}. "
            f"All of them know, and have left"
        )
        return f"{error}"
    except (KeyError, RuntimeError) as error:
        if error.args != ("x",):
            raise
        return "its own"


def fine() -> Any:
    """Nothing is wrong here: the ranks call the same, and two of them talk to each other."""
    total = torch.ones(2) + dist.get_rank()
    dist.all_reduce(total)
    work = dist.all_reduce(total, dist.ReduceOp.MAX, async_op=True)
    work.wait()
    if dist.get_rank() == 0:
        dist.send(total, 1)
        dist.send(total, 2)
    elif dist.get_rank() == 1:
        dist.recv(torch.empty(2), 0)
    else:
        # From any rank.
        dist.recv(torch.empty(2))
    dist.broadcast(total, 1)
    parts = [torch.empty(2) for _ in range(3)]
    dist.all_gather(parts, total)
    dist.barrier()
    return parts[2].tolist()


def test_what_is_right_runs_under_the_guard(world: Any) -> None:
    """It returns what it returned, and the guard calls nothing through the process group."""
    results = finished(world, guarded, 3, fine)

    same(list(results), [[6.0, 6.0]] * 3, "what the ranks gather at the end")
    together = ["all_reduce", "all_reduce", "broadcast", "all_gather", "barrier"]
    for rank, called in enumerate(names(results)):
        found = [name for name in called if name not in {"send", "recv"}]
        same(found, together, f"collectives that rank {rank} calls, with and by the guard")


def different_names() -> None:
    """Rank 1 broadcasts."""
    tensor = torch.ones(2)
    (dist.broadcast if dist.get_rank() == 1 else dist.all_reduce)(
        tensor, *([1] if dist.get_rank() == 1 else [])
    )


def different_shapes() -> None:
    """Reduce other shapes of the same size."""
    dist.all_reduce(torch.ones(*((2, 3) if dist.get_rank() == 2 else (3, 2))))


def different_dtypes() -> None:
    """Of the same size, too: nothing would hang, and the sum would be nonsense."""
    dist.all_reduce(torch.ones(2, dtype=torch.int32 if dist.get_rank() == 2 else torch.float32))


def different_roots() -> None:
    """Each of two ranks takes itself for the one that sends."""
    dist.broadcast(torch.ones(2), min(dist.get_rank(), 1))


def different_lists() -> None:
    """Rank 0 gathers into other shapes."""
    size = 3 if dist.get_rank() == 0 else 2
    dist.all_gather([torch.ones(2), torch.ones(2), torch.ones(size)], torch.ones(2))


MISMATCHES = {
    "name": (different_names, ["ranks 0, 2: allreduce_", "rank 1: broadcast_"]),
    "shape": (different_shapes, ["ranks 0, 1: allreduce_", "rank 2: allreduce_"]),
    "dtype": (different_dtypes, ["ranks 0, 1: allreduce_", "rank 2: allreduce_"]),
    "root": (different_roots, ["rank 0: broadcast_", "ranks 1, 2: broadcast_"]),
    "list": (different_lists, ["rank 0: allgather_", "ranks 1, 2: allgather_"]),
}


def guarded_one_by_one(names: list[str]) -> Any:
    """Return how each of several jobs ended."""
    return [guarded(MISMATCHES[name][0], name) for name in names]


def test_what_does_not_match_is_told_and_does_not_run(world: Any) -> None:
    """On every rank the same line; the process group has heard of nothing."""
    results = finished(world, guarded_one_by_one, 3, list(MISMATCHES))

    for number, (what, (_, groups)) in enumerate(MISMATCHES.items()):
        lines = [found[number] for found in results]
        assert 1 == len(set(lines)), f"{what} differs: the ranks of yours say {lines}"
        told = str(lines[0])
        assert told.startswith("collective 1: "), f"{what} differs, and yours says {told}"
        found = told.removeprefix("collective 1: ").split("; ")
        right = len(groups) == len(found) and all(map(str.startswith, found, groups))
        assert right, f"{what} differs\nyours:    {told}\nexpected: {groups}, with more behind"
    made = [name for called in names(results) for name in called]
    assert not made, f"yours lets these run, though the ranks differ: {made}"


def leaves() -> None:
    """Rank 1 has a batch less."""
    for _ in range(2 if dist.get_rank() == 1 else 3):
        dist.all_reduce(torch.ones(2))


def test_a_rank_that_leaves_early_is_told_of(world: Any) -> None:
    """At once: it says so when it leaves, and nobody waits for it."""
    for told in finished(world, guarded, 3, leaves):
        start, end = "collective 3: ranks 0, 2: allreduce_", "; rank 1: the end"
        right = str(told).startswith(start) and str(told).endswith(end)
        assert right, f"yours:    {told}\nexpected: {start}...{end}"


# Of the second kind DisagreementError is one, and not the other way round.
ERRORS = {"KeyError": KeyError, "RuntimeError": RuntimeError}


def raises(kind: type[Exception]) -> None:
    """Rank 0 fails where the others reduce."""
    dist.all_reduce(torch.ones(2))
    if dist.get_rank() == 0:
        raise kind("x")
    dist.all_reduce(torch.ones(2))


def raises_one_by_one() -> Any:
    """Return how it ended for each kind of error."""
    return [guarded(partial(raises, kind), name) for name, kind in ERRORS.items()]


def test_a_rank_that_raises_is_told_of(world: Any) -> None:
    """Its exception goes on, and the others hear which one it was."""
    results = finished(world, raises_one_by_one, 3)

    for number, name in enumerate(ERRORS):
        same(results[0][number], "its own", f"rank 0 raises a {name}, which goes on")
        for told in (found[number] for found in results[1:]):
            start = f"collective 2: rank 0: {name}; ranks 1, 2: allreduce_"
            assert str(told).startswith(start), f"yours:    {told}\nexpected: {start}..."


def raises_alone() -> None:
    """All ranks raise, and rank 2 comes to it when the others are gone."""
    raise KeyError("x")


def test_a_rank_that_raises_waits_for_nobody(world: Any) -> None:
    """Nor is it told of others: what it raised is what went wrong."""
    found = list(finished(world, guarded, 3, raises_alone))
    same(found, ["its own"] * 3, "each rank raises a KeyError, which goes on")


def entry(number: int, name: str = "all_reduce", *sizes: int, retired: bool = True) -> Any:
    """Return an entry of a dump, of which only what counts is given."""
    return {
        "is_p2p": False,
        "collective_seq_id": number,
        "profiling_name": f"gloo:{name}",
        "input_sizes": [list(sizes or (4,))],
        "retired": retired,
    }


def dump(*entries: Any) -> Any:
    """Return a dump."""
    return {"version": "2.10", "entries": list(entries)}


def check_diagnosis(dumps: list[Any], expected: Any) -> None:
    """Compare what is found in dumps, which are left as they are."""
    kept = deepcopy(dumps)
    found = diagnose(dumps)
    calls = [
        [
            f"{each['collective_seq_id']} {each['profiling_name']} {each['input_sizes']}"
            f"{' retired' * each['retired']}{' (p2p)' * each['is_p2p']}"
            for each in one["entries"]
        ]
        for one in kept
    ]
    same(found, expected, f"the calls of each rank: {calls}")
    assert kept == dumps, "yours changes the dumps that it was given"


def test_a_rank_that_did_not_call_is_found() -> None:
    """The others wait in number 2, and number 3 is behind that."""
    waiting = dump(entry(1), entry(2, retired=False), entry(3, retired=False))
    expected = (2, {"gloo:all_reduce [[4]]": [0, 2], "no call": [1]})

    check_diagnosis([waiting, dump(entry(1)), waiting], expected)


def test_calls_that_differ_are_found() -> None:
    """In name or size, even if both think that they are done."""
    first = dump(entry(1), entry(2, "broadcast"), entry(3))
    second = dump(entry(1), entry(2), entry(3))
    names = {"gloo:broadcast [[4]] retired": [0], "gloo:all_reduce [[4]] retired": [1]}
    check_diagnosis([first, second], (2, names))

    third = dump(entry(1, "all_reduce", 2, 2))
    sizes = {"gloo:all_reduce [[2, 2]] retired": [0], "gloo:all_reduce [[4]] retired": [1]}
    check_diagnosis([third, dump(entry(1))], (1, sizes))


def test_a_call_that_some_have_finished_is_found() -> None:
    """And one that nobody has, although all have called it."""
    done, open_ = dump(entry(1), entry(2)), dump(entry(1), entry(2, retired=False))
    told = {"gloo:all_reduce [[4]] retired": [0, 2], "gloo:all_reduce [[4]]": [1]}

    check_diagnosis([done, open_, done], (2, told))
    check_diagnosis([open_, open_], (2, {"gloo:all_reduce [[4]]": [0, 1]}))


def test_ranks_that_have_finished_alike_are_well() -> None:
    """Whether or not they have ever called anything."""
    check_diagnosis([dump(entry(1), entry(2))] * 3, None)
    check_diagnosis([dump(), dump()], None)
    told = {"gloo:all_reduce [[4]] retired": [0], "no call": [1]}
    check_diagnosis([dump(entry(1)), dump()], (1, told))


def test_what_two_ranks_send_each_other_has_other_numbers() -> None:
    """A send is no collective; the number in it is that of the last one."""
    sent = {**entry(1, "send", 9, retired=False), "is_p2p": True}

    check_diagnosis([dump(entry(1), sent), dump(entry(1))], None)


def test_what_a_buffer_has_lost_is_not_missed() -> None:
    """Only the last calls are kept: rank 0 still has number 2, of which rank 1 knows nothing."""
    short = dump(entry(4), entry(5), entry(6, retired=False))
    long = dump(entry(2), entry(3), entry(4), entry(5))

    check_diagnosis([long, short], (6, {"no call": [0], "gloo:all_reduce [[4]]": [1]}))
    check_diagnosis([short, long], (6, {"gloo:all_reduce [[4]]": [0], "no call": [1]}))


def recorded(path: Path) -> Any:
    """Return the dump of this rank: rank 1 has not called what the others wait for."""
    os.environ["TORCH_FR_BUFFER_SIZE"] = "8"
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback(socket.if_nameindex()))
    store = dist.FileStore(str(path), size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    for _ in range(10):
        dist.all_reduce(torch.ones(2))
    dist.broadcast(torch.ones(2, 3), 0)
    # What they wait for must not be forgotten before the dump.
    work = dist.all_reduce(torch.ones(5), async_op=True) if rank != 1 else None
    while True:
        # What was waited for is retired by another thread, a moment later.
        found = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())  # noqa: SLF001
        if all(each["retired"] for each in found["entries"] if each["collective_seq_id"] < 12):
            return found, work is None


def test_a_real_dump_is_read(world: Any, tmp_path: Path) -> None:
    """The flight recorder of three ranks, of which one does not come to the twelfth collective."""
    dumps = [text for text, _ in world(recorded, 3, tmp_path / "store", backend=None, timeout=20)]

    check_diagnosis(dumps, (12, {"gloo:all_reduce [[5]]": [0, 2], "no call": [1]}))
