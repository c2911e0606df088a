"""Tests of k03_tree: shapes of trees for many sizes, and the messages of real ranks."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.k03_tree import all_reduce
from katas.lecture13.k03_tree import broadcast
from katas.lecture13.k03_tree import children
from katas.lecture13.k03_tree import parent
from katas.lecture13.k03_tree import reduce


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import Call
    from plugins.kit import World


def least(size: int) -> int:
    """Return in how many rounds one rank can reach all, if all help."""
    return (size - 1).bit_length()


def reached(root: int, size: int) -> dict[int, int]:
    """Return the round in which each rank has the tensor, by the order of children."""
    rounds = {root: 0}
    waiting = [root]
    while waiting:
        rank = waiting.pop()
        for number, child in enumerate(children(rank, root, size), 1):
            assert child not in rounds, f"rank {child} of {size} gets it twice"
            rounds[child] = rounds[rank] + number
            waiting.append(child)
    return rounds


@pytest.mark.parametrize("size", [1, 2, 4])
def test_everybody_is_reached_once(size: int) -> None:
    """From root 0: powers of two first."""
    assert set(range(size)) == set(reached(0, size))
    assert least(size) == max(reached(0, size).values()), "rounds"


@pytest.mark.parametrize("size", [3, 5, 6, 7, 11, 33])
def test_any_number_of_ranks_is_reached(size: int) -> None:
    """A tree from which branches are missing."""
    assert set(range(size)) == set(reached(0, size))


def test_any_rank_may_be_the_root() -> None:
    """Another root is another name for the ranks: they are shifted, modulo their number."""
    for size in (2, 3, 4, 6, 7, 8):
        for root in range(size):
            assert set(range(size)) == set(reached(root, size)), f"root {root} of {size}"


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 8, 9, 16, 31, 64])
def test_all_that_have_it_pass_it_on(size: int) -> None:
    """The number of ranks that have it doubles in every round: whom to serve first matters."""
    for root in (0, 1, size - 1):
        rounds = reached(root, size)
        assert least(size) == max(rounds.values()), f"rounds, with {size} ranks and root {root}"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13])
def test_a_parent_is_whose_child_one_is(size: int) -> None:
    """And the root has none."""
    for root in range(size):
        assert parent(root, root, size) is None
        for rank in range(size):
            for child in children(rank, root, size):
                assert rank == parent(child, root, size), f"of rank {child}, root {root} of {size}"


def tensors(shape: Sequence[int] = (3,)) -> list[torch.Tensor]:
    """Return what every rank holds: whole numbers, all different."""
    size = dist.get_world_size()
    return [torch.full(shape, float(10**rank)) for rank in range(size)]


def broadcasts() -> list[int]:
    """Broadcast from every rank; return the number of messages expected from this one."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        expected = tensors()
        tensor = expected[root].clone() if rank == root else torch.full((3,), torch.nan)
        broadcast(tensor, root)
        assert expected[root].tolist() == tensor.tolist(), f"root {root} of {size}"
    return [len(children(rank, root, size)) for root in range(size)]


@pytest.mark.backend("gloo")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_all_ranks_have_what_the_root_had(world: World, size: int) -> None:
    """Whatever was in their tensors; n - 1 messages for each root, each by whom the tree says."""
    results = world(broadcasts, size)

    assert_alone(results.calls)
    for rank, counts in enumerate(results):
        assert sum(counts) == results.sent(rank).messages, "a message to each child"


def reduces() -> None:
    """Reduce to every rank."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        mine = tensors()[rank]
        reduce(mine, root)
        expected = sum(tensors()) if rank == root else tensors()[rank]
        assert expected.tolist() == mine.tolist(), f"root {root} of {size}"


@pytest.mark.backend("gloo")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_root_has_the_sum_of_all(world: World, size: int) -> None:
    """The others have what they had."""
    results = world(reduces, size)

    assert_alone(results.calls)
    messages = sum(results.sent(rank).messages for rank in range(size))
    assert size * (size - 1) == messages, "n - 1 for each root"


def assert_alone(calls: Sequence[Sequence[Call]]) -> None:
    """Check that nothing but messages between two was used."""
    used = {call.name for each in calls for call in each}
    assert {"send", "recv"} >= used, "write it, by send and recv"


def rounds_of(calls: Sequence[Sequence[Call]]) -> int:
    """Return how many rounds it takes, if a rank takes part in one message in each."""
    clocks, at = [0] * len(calls), [0] * len(calls)
    while any(place < len(each) for place, each in zip(at, calls, strict=True)):
        before = list(at)
        for sender, each in enumerate(calls):
            if at[sender] == len(each) or each[at[sender]].name != "send":
                continue
            receiver = each[at[sender]].peer or 0
            theirs = calls[receiver][at[receiver] : at[receiver] + 1]
            if theirs and theirs[0].name == "recv" and theirs[0].peer == sender:
                clocks[sender] = clocks[receiver] = max(clocks[sender], clocks[receiver]) + 1
                at[sender] += 1
                at[receiver] += 1
        assert before != at, "a send without its recv"
    return max(clocks)


def one_broadcast(root: int) -> None:
    """Broadcast once."""
    broadcast(torch.ones(2), root)


def one_reduce(root: int) -> None:
    """Reduce once."""
    reduce(torch.ones(2), root)


@pytest.mark.backend("gloo")
def test_a_broadcast_takes_two_rounds_for_four(world: World) -> None:
    """Not three: the second rank that has it helps."""
    results = world(one_broadcast, 4, 1)

    assert 2 == rounds_of(results.calls), results.calls
    assert [8] * 6 == [call.bytes for calls in results.calls for call in calls]


@pytest.mark.backend("gloo")
def test_a_reduction_takes_two_rounds_for_four(world: World) -> None:
    """Whoever has to wait for its own children is received from last."""
    results = world(one_reduce, 4, 1)

    assert 2 == rounds_of(results.calls), results.calls
    assert 3 == sum(results.sent(rank).messages for rank in range(4))


def all_reduces(shapes: Sequence[tuple[int, ...]]) -> None:
    """Sum tensors over all ranks."""
    rank = dist.get_rank()
    for shape in shapes:
        mine = tensors(shape)[rank]
        all_reduce(mine)
        assert sum(tensors(shape)).tolist() == mine.tolist()


class Message:
    """Remembers when a message was begun, and when somebody first waited for it."""

    def __init__(self, work: Any, log: list[str], name: str) -> None:
        self._work, self._log, self._name = work, log, name
        log.append(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def wait(self, *args: Any) -> Any:
        """Wait."""
        if (what := f"wait for {self._name}") not in self._log:
            self._log.append(what)
        return self._work.wait(*args)


def steps_of() -> list[str]:
    """Return what a rank does, in order: ``"send 0", "recv 0", "wait for recv 0", ...``."""
    log: list[str] = []

    def watched(name: str, begin: Any) -> Any:
        numbers = count()
        return lambda *args: Message(begin(*args), log, f"{name} {next(numbers)}")

    # Where send, recv, isend, irecv and batch_isend_irecv all end, whoever has imported them.
    with pytest.MonkeyPatch.context() as patch:
        for name in ("send", "recv"):
            patch.setattr(dist.ProcessGroup, name, watched(name, getattr(dist.ProcessGroup, name)))
        all_reduces([(4,)])
    return log


def assert_waited(log: list[str]) -> None:
    """Check that each message was waited for."""
    begun = [what for what in log if not what.startswith("wait")]
    missing = [what for what in begun if f"wait for {what}" not in log]
    assert not missing, f"call wait() of each request: not of {missing}"


def assert_at_once(log: list[str]) -> None:
    """Check that a rank sends while it receives: number k of both begins before it waits."""
    for number in range(sum(what.startswith("send") for what in log)):
        pair = (f"send {number}", f"recv {number}")
        begun = max(log.index(what) for what in pair)
        waited = min(log.index(f"wait for {what}") for what in pair)
        assert begun < waited, (
            f"begin both {' and '.join(pair)} before you wait for either: "
            f"one after the other they take two rounds. In order: {log}"
        )


@pytest.mark.backend("gloo")
def test_two_ranks_exchange_and_wait_for_it(world: World) -> None:
    """What is still being sent must not be added to."""
    for log in world(steps_of, 2):
        assert_waited(log)


@pytest.mark.backend("gloo")
@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_sum_is_everywhere(world: World, size: int) -> None:
    """Powers of two: log2(n) messages by each rank, of any shape."""
    shapes = [(), (5,), (2, 3)]
    results = world(all_reduces, size, shapes)

    assert_alone(results.calls)
    for rank in range(size):
        assert len(shapes) * least(size) == results.sent(rank).messages, f"rank {rank} of {size}"


@pytest.mark.backend("gloo")
def test_an_exchange_takes_one_round(world: World) -> None:
    """Both send at the same time: that one of them receives first would take two."""
    for log in world(steps_of, 4):
        assert_at_once(log)


@pytest.mark.backend("gloo")
def test_the_sum_of_three_is_everywhere(world: World) -> None:
    """The largest power of two does the work; the third rank is a guest."""
    results = world(all_reduces, 3, [(4,)])

    assert_alone(results.calls)
    assert [1, 1, 2] == sorted(results.sent(rank).messages for rank in range(3))


@pytest.mark.backend("gloo")
def test_the_sum_of_seven_is_everywhere(world: World) -> None:
    """Three of them are guests, each of another one of the other four."""
    results = world(all_reduces, 7, [(2,), ()])

    assert_alone(results.calls)
    messages = sorted(results.sent(rank).messages for rank in range(7))
    assert [2, 2, 2, 4, 6, 6, 6] == messages, "of two all-reductions"


def rounded() -> list[int]:
    """Return the bits of a sum that depends on the order of adding."""
    generator = torch.Generator().manual_seed(dist.get_rank())
    tensor = torch.randn(1000, generator=generator) * 10.0 ** torch.arange(1000).remainder(7)
    all_reduce(tensor)
    return tensor.view(torch.int32).tolist()


@pytest.mark.backend("gloo")
@pytest.mark.parametrize("size", [3, 4])
def test_all_ranks_have_the_same_bits(world: World, size: int) -> None:
    """The order of two numbers does not matter to their sum, so both partners have the same."""
    results = world(rounded, size)

    assert [True] * size == [results[0] == result for result in results]
