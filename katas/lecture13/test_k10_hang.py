"""Tests of k10_hang: six functions without their hangs, the guard, the post-mortem."""

from __future__ import annotations

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
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


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.backend("gloo")

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


def mean() -> Any:
    """Each rank has twice its number as loss."""
    loss = torch.tensor(2.0 * dist.get_rank())
    return mean_on_first(loss), loss.item()


def test_all_ranks_take_part_in_what_rank_0_prints(world: Any) -> None:
    """Rank 0 cannot sum alone."""
    results = finished(world, mean, 3)

    assert [2.0, None, None] == [value for value, _ in results]
    assert [0.0, 2.0, 4.0] == [loss for _, loss in results], "a loss was changed"


def gradients(sizes: dict[str, int]) -> dict[str, list[float]]:
    """Rank 1 has the names in another order than rank 0, and rank 2 in a third one."""
    rank = dist.get_rank()
    order = [*list(sizes)[rank:], *list(sizes)[:rank]]
    found = {name: torch.full((sizes[name],), 10.0 * ord(name) + rank) for name in order}
    kept = dict(found)
    sum_gradients(found)
    return {name: kept[name].tolist() for name in sizes}


def test_all_ranks_sum_the_same_gradients_in_the_same_order(world: Any) -> None:
    """If all have one shape nothing hangs, and the sums are wrong."""
    for sizes in ({"a": 2, "b": 2, "c": 2}, {"c": 3, "a": 7, "b": 1}):
        expected = {name: [30.0 * ord(name) + 3] * size for name, size in sizes.items()}
        assert [expected] * 3 == list(finished(world, gradients, 3, sizes))


def averaged(counts: list[int]) -> Any:
    """Rank r has so many batches; batch i of rank r is 10 r + i."""
    rank = dist.get_rank()
    batches = [torch.full((2,), 10.0 * rank + step) for step in range(counts[rank])]
    zero = torch.zeros(2)
    found = [average.tolist() for average in averages(batches, zero)]
    assert [[10.0 * rank + step] * 2 for step in range(counts[rank])] == [
        batch.tolist() for batch in batches
    ], "a batch was changed"
    assert [0.0, 0.0] == zero.tolist(), "zero was changed"
    return found


def test_a_rank_without_data_goes_on_taking_part(world: Any) -> None:
    """Until all are done; the average is over those that have a batch."""
    assert [[[15.0] * 2, [16.0] * 2, [22.0] * 2]] * 4 == list(
        finished(world, averaged, 4, [2, 2, 3, 2])
    )
    assert [[[10.0] * 2, [11.0] * 2]] * 3 == list(finished(world, averaged, 3, [0, 2, 0]))
    assert [[], []] == list(finished(world, averaged, 2, [0, 0]))


def finite(values: list[list[float]]) -> Any:
    """Each rank has other numbers."""
    gradient = torch.tensor(values[dist.get_rank()])
    done = sum_if_finite(gradient)
    return done, [str(value) for value in gradient.tolist()]


def test_all_ranks_skip_a_step_or_none(world: Any) -> None:
    """What only one of them can see has to be told."""
    sums = [[1.0, 2.0], [3.0, -2.0], [1.0, 0.0]]
    assert [(True, ["5.0", "0.0"])] * 3 == list(finished(world, finite, 3, sums))
    # What is looked at are the gradients: that finite ones add up to inf is another matter.
    large = [[3e38, 2.0], [3e38, -2.0], [1.0, 0.0]]
    assert [(True, ["inf", "0.0"])] * 3 == list(finished(world, finite, 3, large))
    for bad in (float("nan"), -float("inf")):
        values = [[1.0, 2.0], [3.0, bad], [1.0, 0.0]]
        expected = [(False, [str(value) for value in row]) for row in values]
        assert expected == list(finished(world, finite, 3, values))


def best(losses: list[float]) -> list[float]:
    """Each rank has its number as weights."""
    weights = torch.full((3,), float(dist.get_rank()))
    adopt_best(losses[dist.get_rank()], weights)
    return weights.tolist()


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([3.0, 2.0, 1.0], 2.0),
        ([2.0, 1.0, 1.0], 1.0),
        # The same in float32.
        ([1.0, 1.0, 1.0 - 1e-12], 2.0),
    ],
)
def test_all_ranks_know_from_whom_the_weights_come(
    world: Any, losses: list[float], expected: float
) -> None:
    """A rank knows more than whether it is the best itself."""
    assert [[expected] * 3] * 3 == list(finished(world, best, 3, losses))


def ragged(lengths: list[int]) -> list[list[float]]:
    """Rank r has so many numbers r.1, r.2, ..."""
    rank = dist.get_rank()
    values = torch.arange(1, lengths[rank] + 1) + 10 * rank
    return [part.tolist() for part in gather_ragged(values)]


def test_tensors_of_all_lengths_are_gathered(world: Any) -> None:
    """What a collective moves has the same shape on all ranks."""
    for lengths in ([2, 5, 1], [0, 3, 0], [0, 0, 0]):
        expected = [
            [10 * rank + n for n in range(1, length + 1)] for rank, length in enumerate(lengths)
        ]
        assert [expected] * 3 == list(finished(world, ragged, 3, lengths))


def test_who_says_what_is_told_in_a_line() -> None:
    """Groups of the same, the one of the lowest rank first."""
    assert "collective 3: ranks 0, 2: allreduce_ [4]; rank 1: broadcast_ [4]" == disagreement(
        3, ["allreduce_ [4]", "broadcast_ [4]", "allreduce_ [4]"]
    )
    assert "collective 12: rank 0: nothing; ranks 1, 2: a" == disagreement(12, [None, "a", "a"])
    assert "collective 1: ranks 0, 3: a; rank 1: b; rank 2: nothing" == disagreement(
        1, ["a", "b", None, "a"]
    )


def test_nothing_is_told_if_all_agree() -> None:
    """Whatever they agree about."""
    assert disagreement(3, ["allreduce_ [4]"] * 3) is None
    assert disagreement(1, ["the end"]) is None


def meet(said: list[list[str]], seconds: float = 20.0) -> list[str]:
    """Return what becomes of ranks that say these things: threads, with a store between them."""
    store = dist.HashStore()

    def rank(number: int) -> str:
        meeting = Meeting(store, number, len(said), seconds)
        for text in said[number]:
            try:
                meeting.agree(text)
            except DisagreementError as error:
                return str(error)
        return "fine"

    present = [number for number, texts in enumerate(said) if texts]
    with ThreadPoolExecutor(len(said)) as pool:
        return list(pool.map(rank, present))


def test_ranks_that_say_the_same_go_on() -> None:
    """Alone, and together, several times."""
    assert ["fine"] == meet([["a", "b"]])
    assert ["fine"] * 3 == meet([["a", "b", "a"]] * 3)


def test_ranks_that_differ_are_told_so() -> None:
    """All of them, and at the number at which it happened."""
    line = "collective 2: ranks 0, 2: b; rank 1: c"
    assert [line] * 3 == meet([["a", "b"], ["a", "c"], ["a", "b"]])


def test_a_later_call_is_not_taken_for_an_earlier_one() -> None:
    """The texts are compared by number: the same two in another order are no agreement."""
    line = "collective 1: rank 0: a; rank 1: b"
    assert [line] * 2 == meet([["a", "b"], ["b", "a"]])


def test_a_rank_that_does_not_come_says_nothing() -> None:
    """After some time the others say who it is."""
    assert ["collective 1: ranks 0, 2: a; rank 1: nothing"] == list(
        set(meet([["a"], [], ["a"]], seconds=2.0))
    )


def guarded(job: Callable[[], Any]) -> Any:
    """Return what a job returns under the guard, or how it ended."""
    store = dist.PrefixStore("guard", dist.distributed_c10d._get_default_store())  # noqa: SLF001
    meeting = Meeting(store, dist.get_rank(), dist.get_world_size(), 60)
    try:
        with Guard(meeting):
            return job()
    except DisagreementError as error:
        return f"{error}"
    except KeyError:
        return "its own"


def fine() -> Any:
    """Nothing is wrong here: the ranks call the same, and two of them talk to each other."""
    total = torch.ones(2) + dist.get_rank()
    dist.all_reduce(total)
    work = dist.all_reduce(total, dist.ReduceOp.MAX, async_op=True)
    work.wait()
    if dist.get_rank() == 0:
        dist.send(total, 1)
    elif dist.get_rank() == 1:
        dist.recv(torch.empty(2), 0)
    dist.broadcast(total, 1)
    parts = [torch.empty(2) for _ in range(3)]
    dist.all_gather(parts, total)
    dist.barrier()
    return parts[2].tolist()


def test_what_is_right_runs_under_the_guard(world: Any) -> None:
    """It returns what it returned, and the guard calls nothing through the process group."""
    results = world(guarded, 3, fine, timeout=20)

    assert [[6.0, 6.0]] * 3 == list(results)
    together = ["all_reduce", "all_reduce", "broadcast", "all_gather", "barrier"]
    for rank, called in enumerate(names(results)):
        assert together == [name for name in called if name not in {"send", "recv"}], f"{rank=}"


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


@pytest.mark.parametrize("what", MISMATCHES)
def test_what_does_not_match_is_told_and_does_not_run(world: Any, what: str) -> None:
    """On every rank the same line; the process group has heard of nothing."""
    job, groups = MISMATCHES[what]
    results = world(guarded, 3, job, timeout=20)

    assert 1 == len(set(results)), f"the ranks say different things: {list(results)}"
    told = str(results[0])
    assert told.startswith("collective 1: "), told
    found = told.removeprefix("collective 1: ").split("; ")
    assert [True] * len(groups) == [
        text.startswith(group) for text, group in zip(found, groups, strict=True)
    ], told
    assert [[], [], []] == names(results), "the collective has run"


def leaves() -> None:
    """Rank 1 has a batch less."""
    for _ in range(2 if dist.get_rank() == 1 else 3):
        dist.all_reduce(torch.ones(2))


def test_a_rank_that_leaves_early_is_told_of(world: Any) -> None:
    """At once: it says so when it leaves, and nobody waits for it."""
    for told in world(guarded, 3, leaves, timeout=20):
        assert str(told).startswith("collective 3: ranks 0, 2: allreduce_"), told
        assert str(told).endswith("; rank 1: the end"), told


def raises() -> None:
    """Rank 0 fails where the others reduce."""
    dist.all_reduce(torch.ones(2))
    if dist.get_rank() == 0:
        raise KeyError("x")
    dist.all_reduce(torch.ones(2))


def test_a_rank_that_raises_is_told_of(world: Any) -> None:
    """Its exception goes on, and the others hear which one it was."""
    results = world(guarded, 3, raises, timeout=20)

    assert "its own" == results[0]
    for told in results[1:]:
        assert str(told).startswith("collective 2: rank 0: KeyError; ranks 1, 2: allreduce_"), told


def raises_alone() -> None:
    """All ranks raise, and rank 2 comes to it when the others are gone."""
    raise KeyError(dist.get_rank())


def test_a_rank_that_raises_waits_for_nobody(world: Any) -> None:
    """Nor is it told of others: what it raised is what went wrong."""
    assert ["its own"] * 3 == list(world(guarded, 3, raises_alone, timeout=20))


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


def test_a_rank_that_did_not_call_is_found() -> None:
    """The others wait in number 2, and number 3 is behind that."""
    waiting = dump(entry(1), entry(2, retired=False), entry(3, retired=False))
    found = diagnose([waiting, dump(entry(1)), waiting])

    assert (2, {"gloo:all_reduce [[4]]": [0, 2], "no call": [1]}) == found


def test_calls_that_differ_are_found() -> None:
    """In name or size, even if both think that they are done."""
    first = dump(entry(1), entry(2, "broadcast"), entry(3))
    second = dump(entry(1), entry(2), entry(3))
    names = {"gloo:broadcast [[4]] retired": [0], "gloo:all_reduce [[4]] retired": [1]}
    assert (2, names) == diagnose([first, second])

    third = dump(entry(1, "all_reduce", 2, 2))
    sizes = {"gloo:all_reduce [[2, 2]] retired": [0], "gloo:all_reduce [[4]] retired": [1]}
    assert (1, sizes) == diagnose([third, dump(entry(1))])


def test_a_call_that_some_have_finished_is_found() -> None:
    """And one that nobody has, although all have called it."""
    done, open_ = dump(entry(1), entry(2)), dump(entry(1), entry(2, retired=False))
    told = {"gloo:all_reduce [[4]] retired": [0, 2], "gloo:all_reduce [[4]]": [1]}

    assert (2, told) == diagnose([done, open_, done])
    assert (2, {"gloo:all_reduce [[4]]": [0, 1]}) == diagnose([open_, open_])


def test_ranks_that_have_finished_alike_are_well() -> None:
    """Whether or not they have ever called anything."""
    assert diagnose([dump(entry(1), entry(2))] * 3) is None
    assert diagnose([dump(), dump()]) is None
    assert (1, {"gloo:all_reduce [[4]] retired": [0], "no call": [1]}) == diagnose(
        [dump(entry(1)), dump()]
    )


def test_what_two_ranks_send_each_other_has_other_numbers() -> None:
    """A send is no collective; the number in it is that of the last one."""
    sent = {**entry(1, "send", 9, retired=False), "is_p2p": True}

    assert diagnose([dump(entry(1), sent), dump(entry(1))]) is None


def test_what_a_buffer_has_lost_is_not_missed() -> None:
    """Only the last calls are kept: rank 0 still has number 2, of which rank 1 knows nothing."""
    short = dump(entry(4), entry(5), entry(6, retired=False))
    long = dump(entry(2), entry(3), entry(4), entry(5))

    assert (6, {"no call": [0], "gloo:all_reduce [[4]]": [1]}) == diagnose([long, short])
    assert (6, {"gloo:all_reduce [[4]]": [0], "no call": [1]}) == diagnose([short, long])


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

    assert (12, {"gloo:all_reduce [[5]]": [0, 2], "no call": [1]}) == diagnose(dumps)
