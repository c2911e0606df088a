"""Tests of k22_guard: the line, what may run, and who is named."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.conftest import finished
from katas.lecture13.conftest import same
from katas.lecture13.k22_guard import DisagreementError
from katas.lecture13.k22_guard import Guard
from katas.lecture13.k22_guard import Meeting
from katas.lecture13.k22_guard import disagreement
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


pytestmark = [
    pytest.mark.backend("gloo"),
    # What `unchanged` looks at in each rank; imported once, and not by each rank.
    pytest.mark.ranks_import("numpy.random"),
]


def names(results: Any) -> list[list[str]]:
    """Return the names of what each rank called."""
    return [[call.name for call in calls] for calls in results.calls]


def test_who_says_what_is_told_in_a_line() -> None:
    """Ranks that say the same form a group, the group of the lowest rank first."""
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
    """All ranks say the same, whatever it is."""
    same(disagreement(3, ["allreduce_ [4]"] * 3), None, "all say the same")
    same(disagreement(1, ["the end"]), None, "one rank, which says something")


class Noted(Meeting):
    """Records what it is told to say."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.noted_by_the_test: list[str] = []

    def say(self, text: str) -> None:
        """Record it."""
        self.noted_by_the_test.append(text)
        super().say(text)

    def agree(self, text: str) -> None:
        """Record it."""
        self.noted_by_the_test.append(text)
        super().agree(text)


def guarded(job: Callable[[], Any], name: str = "guard") -> Any:
    """Return what a job returns under the guard, or how it ended; then the guard is gone."""
    store = dist.PrefixStore(name, dist.distributed_c10d._get_default_store())  # noqa: SLF001
    meeting = Noted(store, dist.get_rank(), dist.get_world_size(), 3)
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
            f"after a DisagreementError your code notifies the others again: {told}, expected"
            f" no message: they all know, and have left"
        )
        return f"{error}"
    except (KeyError, RuntimeError) as error:
        if error.args != ("x",):
            raise
        return "its own"


def fine() -> Any:
    """Nothing is wrong here: the ranks make the same calls, and two send each other messages."""
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
    """Each call returns what it returned, and the guard calls nothing through the process group."""
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
    """Reduce different shapes of the same size."""
    dist.all_reduce(torch.ones(*((2, 3) if dist.get_rank() == 2 else (3, 2))))


def different_dtypes() -> None:
    """Reduce dtypes of the same size: nothing would hang, and the sum would be nonsense."""
    dist.all_reduce(torch.ones(2, dtype=torch.int32 if dist.get_rank() == 2 else torch.float32))


def different_roots() -> None:
    """Each of two ranks takes itself for the root."""
    dist.broadcast(torch.ones(2), min(dist.get_rank(), 1))


def different_lists() -> None:
    """Rank 0 gathers into different shapes."""
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
    """Every rank raises the same line; nothing reaches the process group."""
    results = finished(world, guarded_one_by_one, 3, list(MISMATCHES))

    for number, (what, (_, groups)) in enumerate(MISMATCHES.items()):
        lines = [found[number] for found in results]
        assert 1 == len(set(lines)), f"{what} differs: your ranks say {lines}, expected one line"
        told = str(lines[0])
        assert told.startswith("collective 1: "), (
            f"{what} differs: your code says {told}, expected collective 1"
        )
        found = told.removeprefix("collective 1: ").split("; ")
        right = len(groups) == len(found) and all(map(str.startswith, found, groups))
        assert right, f"{what} differs\nyours:    {told}\nexpected: {groups}, followed by more"
    made = [name for called in names(results) for name in called]
    assert not made, f"your code lets these run, though the ranks differ: {made}"


def leaves() -> None:
    """Rank 1 has one batch fewer."""
    for _ in range(2 if dist.get_rank() == 1 else 3):
        dist.all_reduce(torch.ones(2))


def test_a_rank_that_leaves_early_is_told_of(world: Any) -> None:
    """A rank says so when it leaves, and nobody waits for it."""
    for told in finished(world, guarded, 3, leaves):
        start, end = "collective 3: ranks 0, 2: allreduce_", "; rank 1: the end"
        right = str(told).startswith(start) and str(told).endswith(end)
        assert right, f"yours:    {told}\nexpected: {start}...{end}"


# DisagreementError is a RuntimeError, but a RuntimeError need not be a DisagreementError.
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
    """The rank's exception propagates, and the others hear which one it was."""
    results = finished(world, raises_one_by_one, 3)

    for number, name in enumerate(ERRORS):
        same(results[0][number], "its own", f"rank 0 raises a {name}, which goes on")
        for told in (found[number] for found in results[1:]):
            start = f"collective 2: rank 0: {name}; ranks 1, 2: allreduce_"
            assert str(told).startswith(start), f"yours:    {told}\nexpected: {start}..."


def raises_alone() -> None:
    """All ranks raise, and rank 2 does so when the others are gone."""
    raise KeyError("x")


def test_a_rank_that_raises_waits_for_nobody(world: Any) -> None:
    """A rank that raises hears of no other: its own exception is what went wrong."""
    found = list(finished(world, guarded, 3, raises_alone))
    same(found, ["its own"] * 3, "each rank raises a KeyError, which goes on")
