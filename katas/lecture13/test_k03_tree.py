"""Tests of k03_tree: shapes of trees for many sizes, and the messages of real ranks."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture13 import k03_tree
from katas.lecture13.k03_tree import all_reduce
from katas.lecture13.k03_tree import broadcast
from katas.lecture13.k03_tree import children
from katas.lecture13.k03_tree import parent
from katas.lecture13.k03_tree import reduce
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.kit import Call
    from plugins.kit import World


# What `unchanged` looks at in each rank; imported once, and not by each of them.
pytestmark = pytest.mark.ranks_import("numpy.random")

# Ranks that wait for each other are stopped after so many seconds.
SOON = 6


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
            assert child not in rounds, f"rank {child} of {size} gets it twice, root {root}"
            rounds[child] = rounds[rank] + number
            waiting.append(child)
    return rounds


@pytest.mark.parametrize("size", [1, 2, 4])
def test_everybody_is_reached_once(size: int) -> None:
    """From root 0: powers of two first."""
    rounds = reached(0, size)
    assert set(range(size)) == set(rounds), f"yours reaches {sorted(rounds)} of {size} ranks"
    assert least(size) == max(rounds.values()), (
        f"yours takes {max(rounds.values())} rounds for {size} ranks; expected: {least(size)}"
    )


@pytest.mark.parametrize("size", [3, 5, 6, 7, 11, 33])
def test_any_number_of_ranks_is_reached(size: int) -> None:
    """A tree from which branches are missing."""
    found = sorted(reached(0, size))
    assert list(range(size)) == found, f"yours reaches {found} of {size} ranks"


def test_any_rank_may_be_the_root() -> None:
    """Another root is another name for the ranks: they are shifted, modulo their number."""
    for size in (2, 3, 4, 6, 7, 8):
        for root in range(size):
            found = sorted(reached(root, size))
            assert list(range(size)) == found, f"root {root} of {size}: yours reaches {found}"


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 8, 9, 16, 31, 64])
def test_all_that_have_it_pass_it_on(size: int) -> None:
    """The number of ranks that have it doubles in every round: whom to serve first matters."""
    for root in (0, 1, size - 1):
        rounds = reached(root, size)
        assert least(size) == max(rounds.values()), (
            f"{size} ranks, root {root}: yours takes {max(rounds.values())} rounds, of which "
            f"{least(size)} are enough. In which is each rank reached? {rounds}"
        )


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13])
def test_a_parent_is_whose_child_one_is(size: int) -> None:
    """And the root has none."""
    for root in range(size):
        found = parent(root, root, size)
        assert found is None, f"yours gives the root, {root} of {size}, the parent {found}"
        for rank in range(size):
            for child in children(rank, root, size):
                found = parent(child, root, size)
                assert rank == found, (
                    f"root {root} of {size}: yours has {child} among the children of {rank}, and "
                    f"{found} as the parent of {child}"
                )


def tensors(shape: Sequence[int] = (3,)) -> list[torch.Tensor]:
    """Return what every rank holds: whole numbers, all different."""
    size = dist.get_world_size()
    return [torch.full(shape, float(10**rank)) for rank in range(size)]


def check(found: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Compare a tensor of this rank."""
    # Not assert_close: at its first call each rank would import sympy, a second long.
    mine, right = found.tolist(), expected.tolist()
    assert right == mine, f"{what}, on rank {dist.get_rank()}\nyours:    {mine}\nexpected: {right}"
    assert found.dtype == expected.dtype, f"{what}: yours is {found.dtype}, not {expected.dtype}"


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


@contextmanager
def recorded() -> Iterator[list[str]]:
    """List what a rank does, ``"send 0", "recv 0", "wait for recv 0"``; all must be waited for."""
    log: list[str] = []
    # A request that is dropped takes its message with it, and the other rank would wait.
    kept: list[Message] = []

    def watched(name: str, begin: Any) -> Any:
        numbers = count()

        def call(*args: Any) -> Message:
            kept.append(Message(begin(*args), log, f"{name} {next(numbers)}"))
            return kept[-1]

        return call

    # Where send, recv, isend, irecv and batch_isend_irecv all end, whoever has imported them.
    with pytest.MonkeyPatch.context() as patch:
        for name in ("send", "recv"):
            patch.setattr(dist.ProcessGroup, name, watched(name, getattr(dist.ProcessGroup, name)))
        yield log
    begun = [what for what in log if not what.startswith("wait")]
    missing = [what for what in begun if f"wait for {what}" not in log]
    assert not missing, (
        f"yours does not call wait() of {missing}: until then the tensor belongs to the request, "
        f"and a request that is dropped may take its message with it"
    )


def waiting(function: Callable[..., None], *args: Any) -> None:
    """Call a function that must wait for each of its messages."""
    with recorded():
        function(*args)


def broadcasts() -> list[int]:
    """Broadcast from every rank; return the number of messages expected from this one."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        expected = tensors()
        tensor = expected[root].clone() if rank == root else torch.full((3,), torch.nan)
        waiting(broadcast, tensor, root)
        check(tensor, expected[root], f"broadcast from {root} of {size}")
    return [len(children(rank, root, size)) for root in range(size)]


@pytest.mark.backend("gloo")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_all_ranks_have_what_the_root_had(world: World, size: int) -> None:
    """Whatever was in their tensors; n - 1 messages for each root, each by whom the tree says."""
    results = world(broadcasts, size, timeout=SOON)

    assert_alone(results.calls)
    for rank, counts in enumerate(results):
        sent = results.sent(rank).messages
        assert sum(counts) == sent, (
            f"for all roots together rank {rank} of yours sends {sent} messages, and has "
            f"{sum(counts)} children"
        )


def reduces() -> None:
    """Reduce to every rank."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        for dtype in (torch.float32, torch.int64):
            given = [tensor.to(dtype) + 2**30 for tensor in tensors()]
            mine = given[rank].clone()
            with unchanged(
                but={"value", "version", "storage"} if rank == root else {"version"}, mine=mine
            ):
                waiting(reduce, mine, root)
            total = torch.stack(given).sum(0)
            check(mine, total if rank == root else given[rank], f"reduce to {root} of {size}")


@pytest.mark.backend("gloo")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_root_has_the_sum_of_all(world: World, size: int) -> None:
    """The others have what they had."""
    results = world(reduces, size, timeout=SOON)

    assert_alone(results.calls)
    messages = sum(results.sent(rank).messages for rank in range(size))
    assert 2 * size * (size - 1) == messages, (
        f"yours sends {messages} messages in {2 * size} reductions; expected: {size - 1} in each"
    )


def assert_alone(calls: Sequence[Sequence[Call]]) -> None:
    """Check that nothing but messages between two was used."""
    used = {call.name for each in calls for call in each}
    assert {"send", "recv"} >= used, f"write it, by send and recv; yours calls {used}"


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
        assert before != at, f"a send of yours without its recv, or the other way round: {calls}"
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
    results = world(one_broadcast, 4, 1, timeout=SOON)

    rounds = rounds_of(results.calls)
    assert 2 == rounds, f"yours takes {rounds} rounds for 4 ranks, expected: 2; {results.calls}"
    sizes = [call.bytes for calls in results.calls for call in calls]
    assert [8] * 6 == sizes, f"three sends and three recvs of 8 bytes; yours: {sizes}"


@pytest.mark.backend("gloo")
def test_a_reduction_takes_two_rounds_for_four(world: World) -> None:
    """Whoever has to wait for its own children is received from last."""
    results = world(one_reduce, 4, 1, timeout=SOON)

    rounds = rounds_of(results.calls)
    assert 2 == rounds, f"yours takes {rounds} rounds for 4 ranks, expected: 2; {results.calls}"
    sent = sum(results.sent(rank).messages for rank in range(4))
    assert 3 == sent, f"yours sends {sent} messages, expected: 3"


def assert_at_once(log: list[str]) -> None:
    """Check that a rank sends while it receives: number k of both begins before it waits."""
    for number in range(sum(what.startswith("send") for what in log)):
        pair = (f"send {number}", f"recv {number}")
        begun = max(log.index(what) for what in pair)
        waited = min(log.index(f"wait for {what}") for what in pair)
        assert begun < waited, (
            f"yours waits before both {' and '.join(pair)} have begun: "
            f"one after the other they take two rounds. In order: {log}"
        )


def all_reduces(shapes: Sequence[tuple[int, ...]]) -> None:
    """Sum tensors over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for number, shape in enumerate(shapes):
        # Whole numbers that float64 cannot hold, then floats.
        dtype = torch.float32 if number else torch.int64
        given = [tensor.to(dtype) + (0 if number else 2**60 + 1) for tensor in tensors(shape)]
        mine = given[rank].clone()
        with recorded() as log:
            all_reduce(mine)
        if size & (size - 1) == 0:
            assert_at_once(log)
        total = torch.stack(given).sum(0)
        check(mine, total, f"all_reduce of {dtype}, shape {shape}, by {size} ranks")


@pytest.mark.backend("gloo")
def test_two_ranks_exchange_and_wait_for_it(world: World) -> None:
    """What is still being sent must not be added to; and both send at the same time."""
    shapes = [(4,), (), (2, 3)]
    results = world(all_reduces, 2, shapes, timeout=SOON)

    assert_alone(results.calls)
    assert_partners(results.calls, len(shapes))


@pytest.mark.backend("gloo")
@pytest.mark.parametrize("size", [1, 4])
def test_the_sum_is_everywhere(world: World, size: int) -> None:
    """Powers of two: log2(n) messages by each rank, of any shape."""
    shapes = [(), (5,), (2, 3)]
    results = world(all_reduces, size, shapes, timeout=SOON)

    assert_alone(results.calls)
    assert_partners(results.calls, len(shapes))


def assert_partners(calls: Sequence[Sequence[Call]], times: int) -> None:
    """Check with whom each rank exchanges, in order: at distance 1, 2, 4, ..."""
    for rank, made in enumerate(calls):
        expected = [rank ^ 1 << bit for bit in range(least(len(calls)))] * times
        for name in ("send", "recv"):
            found = [call.peer for call in made if call.name == name]
            assert expected == found, (
                f"with whom rank {rank} of {len(calls)} exchanges ({name}), in {times} "
                f"all-reduces\nyours:    {found}\nexpected: {expected}, the neighbour first"
            )


@pytest.mark.backend("gloo")
def test_the_sum_of_three_is_everywhere(world: World) -> None:
    """The largest power of two does the work; the third rank is a guest."""
    results = world(all_reduces, 3, [(4,)], timeout=SOON)

    assert_alone(results.calls)
    sent = sorted(results.sent(rank).messages for rank in range(3))
    assert [1, 1, 2] == sent, f"messages by each rank, sorted; yours: {sent}, expected: [1, 1, 2]"


@pytest.mark.backend("gloo")
def test_the_sum_of_seven_is_everywhere(world: World) -> None:
    """Three of them are guests, each of another one of the other four."""
    results = world(all_reduces, 7, [(2,), ()], timeout=SOON)

    assert_alone(results.calls)
    messages = sorted(results.sent(rank).messages for rank in range(7))
    assert [2, 2, 2, 4, 6, 6, 6] == messages, (
        f"messages of each rank in two all-reduces, sorted; yours: {messages}, expected: a guest "
        f"sends 1, a host 3, and who has no guest 2, in each"
    )


def rounded() -> list[int]:
    """Return the bits of a sum that depends on the order of adding."""
    generator = torch.Generator().manual_seed(dist.get_rank())
    tensor = torch.randn(1000, generator=generator) * 10.0 ** torch.arange(1000).remainder(7)
    waiting(all_reduce, tensor)
    return tensor.view(torch.int32).tolist()


@pytest.mark.backend("gloo")
@pytest.mark.parametrize("size", [3, 4])
def test_all_ranks_have_the_same_bits(world: World, size: int) -> None:
    """The order of two numbers does not matter to their sum, so both partners have the same."""
    results = world(rounded, size, timeout=SOON)

    same = [results[0] == result for result in results]
    assert [True] * size == same, (
        f"which ranks of yours have the bits of rank 0: {same}; with others, parameters drift apart"
    )


def by_fresh_import() -> tuple[list[float], ...]:
    """Return what all three functions make of ones, where no collective may help."""
    names = ["all_gather", "all_gather_into_tensor", "all_gather_object", "all_gather_single"]
    names += ["all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce"]
    names += ["reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter"]
    names += ["nn", "_functional_collectives"]
    forbidden = [f"torch.distributed.{name}" for name in names]
    # A method of whatever object: of a process group, or of its backend.
    forbidden += [f"torch.Tensor.{name}" for name in ("allreduce", "allgather", "_get_backend")]
    with forbids(k03_tree, *forbidden) as fresh, unchanged():
        fresh.broadcast(first := torch.ones(2) + dist.get_rank(), 1)
        fresh.reduce(second := torch.ones(2) + dist.get_rank(), 0)
        fresh.all_reduce(third := torch.ones(2) + dist.get_rank())
    return first.tolist(), second.tolist(), third.tolist()


@pytest.mark.backend("gloo")
def test_nothing_but_messages_is_used(world: World) -> None:
    """No collective, by whatever name: not of a process group, nor of its backend."""
    found = list(world(by_fresh_import, 2, timeout=SOON))

    assert [([2.0] * 2, [3.0] * 2, [3.0] * 2), ([2.0] * 2, [2.0] * 2, [3.0] * 2)] == found, (
        f"broadcast from 1, reduce to 0 and all_reduce of 1 and 2; yours: {found}"
    )
