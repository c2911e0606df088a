"""Tests of k05_tree: shapes of trees for many sizes, and the messages of real ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import distributed as dist

from katas.lecture13 import k05_tree
from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import same
from katas.lecture13.k05_tree import broadcast
from katas.lecture13.k05_tree import children
from katas.lecture13.k05_tree import parent
from katas.lecture13.k05_tree import reduce
from katas.lecture13.messages import rounds_of
from plugins.kit import Sent
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import Call
    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")


def least(size: int) -> int:
    """Return the fewest rounds in which one rank can reach all, if all help."""
    return (size - 1).bit_length()


def reached(root: int, size: int) -> dict[int, int]:
    """Return the round in which each rank has the tensor, by the order of children."""
    __tracebackhide__ = True
    rounds = {root: 0}
    waiting = [root]
    while waiting:
        rank = waiting.pop()
        for number, child in enumerate(children(rank, root, size), 1):
            assert child not in rounds, (
                f"root {root}: in your tree, rank {child} of {size} receives the tensor twice"
            )
            rounds[child] = rounds[rank] + number
            waiting.append(child)
    same(sorted(rounds), list(range(size)), f"which of {size} ranks are reached from root {root}")
    return rounds


def test_everybody_is_reached_once() -> None:
    """The root is 0, powers of two come first, and the rounds are the fewest possible."""
    for size in (1, 2, 4, 8):
        rounds = reached(0, size)
        same(max(rounds.values()), least(size), f"rounds for {size} ranks, {rounds}")


def test_any_number_of_ranks_from_any_root() -> None:
    """Branches may be missing; another root renumbers the ranks, modulo their number."""
    for size in (3, 5, 6, 7, 9):
        for root in range(size):
            reached(root, size)


def test_all_that_have_it_pass_it_on() -> None:
    """Whom to serve first matters: the rank with the most ranks behind it."""
    for size in (3, 5, 6, 7, 9, 16, 31):
        for root in (0, 1, size - 1):
            rounds = reached(root, size)
            same(
                max(rounds.values()),
                least(size),
                f"{size} ranks, root {root}: rounds. In which is each rank reached? {rounds}",
            )


def test_a_parent_is_whose_child_one_is() -> None:
    """Each rank is a child of its parent, and the root has no parent."""
    for size in (1, 2, 3, 7, 8, 13):
        for root in range(size):
            same(parent(root, root, size), None, f"the parent of the root, {root} of {size}")
            for rank in range(size):
                for child in children(rank, root, size):
                    what = f"root {root} of {size}: {child} is a child of {rank}, and its parent is"
                    same(parent(child, root, size), rank, what)


def check_tree(size: int) -> None:
    """Check the tree first: ranks that disagree about it would wait for each other."""
    __tracebackhide__ = True
    for root in range(size):
        rounds = reached(root, size)
        same(max(rounds.values()), least(size), f"{size} ranks, root {root}: rounds, {rounds}")
        same(parent(root, root, size), None, f"the parent of the root, {root} of {size}")
        for rank in range(size):
            for child in children(rank, root, size):
                same(
                    parent(child, root, size), rank, f"root {root} of {size}: the parent of {child}"
                )


def broadcasts() -> None:
    """Broadcast from every rank."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        tensor = torch.arange(3.0) + 10 * root if rank == root else torch.full((3,), torch.nan)
        broadcast(tensor, root)
        expected = [10.0 * root + number for number in range(3)]
        same(tensor.tolist(), expected, f"broadcast from {root} of {size}, on rank {rank}")


def test_all_ranks_have_what_the_root_had(world: World) -> None:
    """All ranks have the root's tensor, whatever was in theirs."""
    for size in (2, 4):
        check_tree(size)
        results = world(broadcasts, size, timeout=SOON)
        messages = sum(results.sent(rank).messages for rank in range(size))
        same(messages, size * (size - 1), f"messages in {size} broadcasts to {size} ranks")


def reduces() -> None:
    """Reduce to every rank."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        for dtype in (torch.float32, torch.int64):
            given = [torch.tensor([2**24 + 8 * each]).to(dtype) for each in range(size)]
            mine = given[rank].clone()
            reduce(mine, root)
            expected = sum(given) if rank == root else given[rank]
            what = f"reduce to {root} of {size}, on rank {rank} (the others keep theirs)"
            same((mine.dtype, mine.tolist()), (dtype, expected.tolist()), what)


def test_the_root_has_the_sum_of_all(world: World) -> None:
    """The other ranks keep what they had."""
    for size in (2, 4):
        check_tree(size)
        results = world(reduces, size, timeout=SOON)
        messages = sum(results.sent(rank).messages for rank in range(size))
        same(messages, 2 * size * (size - 1), f"messages in {2 * size} reductions of {size} ranks")


def one_of_each(part: str) -> None:
    """Broadcast, or reduce, once."""
    (broadcast if part == "broadcast" else reduce)(torch.ones(2), 1)


def listed(calls: Sequence[Sequence[Call]]) -> str:
    """Return what each rank calls, a line for each: ``rank 0: send to 1, recv from 2``."""
    ways = {"send": "to", "recv": "from"}
    return "\n".join(
        f"  rank {rank}: {', '.join(f'{call.name} {ways[call.name]} {call.peer}' for call in each)}"
        for rank, each in enumerate(calls)
    )


def test_each_takes_two_rounds_for_four(world: World) -> None:
    """Two rounds, not three: the second rank helps. There are three messages of 8 bytes in all."""
    check_tree(4)
    for part in ("broadcast", "reduce"):
        results = world(one_of_each, 4, part, timeout=SOON)
        used = {call.name for calls in results.calls for call in calls}
        same(used, {"send", "recv"}, f"what a {part} calls")
        rounds = rounds_of(results.calls)
        assert 2 == rounds, (
            f"a {part} takes {rounds} rounds, expected 2. Each rank calls, in order:\n"
            f"{listed(results.calls)}"
        )
        sent = [results.sent(rank) for rank in range(4)]
        total = Sent(sum(each.messages for each in sent), sum(each.bytes for each in sent))
        same(total, Sent(3, 24), f"messages and bytes of a {part}")


def by_fresh_import() -> tuple[list[float], list[float]]:
    """Return the results of both functions for ones; collectives are forbidden meanwhile."""
    names = ["all_gather", "all_gather_object", "all_reduce", "all_to_all", "broadcast", "gather"]
    names += ["reduce", "reduce_scatter", "scatter", "nn", "_functional_collectives"]
    with forbids(k05_tree, *(f"torch.distributed.{name}" for name in names)) as fresh:
        fresh.broadcast(first := torch.ones(1) + dist.get_rank(), 1)
        fresh.reduce(second := torch.ones(1) + dist.get_rank(), 0)
    return first.tolist(), second.tolist()


def test_nothing_but_messages_is_used(world: World) -> None:
    """No collective is called: this kata builds one."""
    check_tree(2)
    found = list(world(by_fresh_import, 2, timeout=SOON))
    expected = [([2.0], [3.0]), ([2.0], [2.0])]
    same(found, expected, "by rank: 1 and 2 broadcast from 1, then reduced to 0")
