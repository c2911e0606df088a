"""Tests of k16_slow_link: sixty-four simulated ranks with known faults."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from katas.lecture14.k16_slow_link import matched
from katas.lecture14.k16_slow_link import slow_link
from katas.lecture14.k16_slow_link import wrong_rank


STAGES = 8
RANKS = STAGES * STAGES
# What the wrong rank calls instead of what the others call; in an earlier step all call it.
LIES: dict[str, dict[str, Any]] = {
    "sizes": {"input_sizes": [[512]]},
    "name": {"profiling_name": "nccl:reduce_scatter_tensor_coalesced"},
    "dtypes": {"input_dtypes": ["BFloat16"]},
}


class Run:
    """Eight pipelines, step by step, until one rank calls a different collective."""

    def __init__(self, seed: int, slow: tuple[int, int], wrong: int, lie: str) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - no secret
        self.slow, self.wrong, self.lie = slow, wrong, LIES[lie]
        self.now = [self.dice.randrange(10**6, 10**6 + 5000) for _ in range(RANKS)]
        self.stuck: set[int] = set()
        self.entries: list[list[dict[str, Any]]] = [[] for _ in range(RANKS)]
        self.numbers: dict[tuple[int, str, bool], int] = {}
        # This rank computes slowly and makes its neighbours wait; no link is to blame.
        self.lazy = self.dice.choice([rank for rank in range(RANKS) if rank not in slow])
        # Some transfers take long for a transient reason.
        links = [(a, a + 1) for a in range(RANKS) if (a + 1) % STAGES]
        self.hiccups = {(self.dice.choice(links), step) for step in range(6) for _ in range(2)}

    def note(self, rank: int, group: tuple[str, str], name: str, *, p2p: bool) -> dict[str, Any]:
        """Record a rank's call."""
        key = rank, group[0], p2p
        self.numbers[key] = self.numbers.get(key, 0) + 1
        entry = {
            "record_id": len(self.entries[rank]),
            "process_group": list(group),
            "collective_seq_id": 0 if p2p else self.numbers[key],
            "p2p_seq_id": self.numbers[key] if p2p else 0,
            "profiling_name": name,
            "time_created_ns": self.now[rank],
            "time_discovered_started_ns": 0,
            "time_discovered_completed_ns": 0,
            "input_sizes": [[1024]],
            "input_dtypes": ["Float"],
            "output_sizes": [[1024]],
            "output_dtypes": ["Float"],
            "state": "scheduled",
            "retired": False,
            "is_p2p": p2p,
        }
        self.entries[rank].append(entry)
        return entry

    def end(self, rank: int, entry: dict[str, Any], began: int, ended: int) -> None:
        """Record that a call has ended."""
        entry["time_discovered_started_ns"], entry["time_discovered_completed_ns"] = began, ended
        entry["state"], entry["retired"] = "completed", True
        self.now[rank] = ended

    def transfer(self, source: int, target: int, step: int) -> None:
        """Send from a rank to its neighbour."""
        low = min(source, target)
        group = (str(100 + low), "pp")
        names = {
            source: f"nccl:send {source - low}->{target - low}",
            target: f"nccl:recv {target - low}<-{source - low}",
        }
        ready = [rank for rank in names if rank not in self.stuck]
        entries = {rank: self.note(rank, group, names[rank], p2p=True) for rank in ready}
        if len(ready) < 2:
            self.stuck.update(ready)
            return
        # The slow link is fast now and then.
        slow = (source, target) == self.slow and step != 3
        took = self.dice.randrange(900, 1100) + 2500 * slow
        # One hiccup is longer than any slow transfer.
        took += 40000 * (((low, low + 1), step) in self.hiccups and source == low)
        began = max(self.now[rank] for rank in ready)
        for rank in ready:
            self.end(rank, entries[rank], began, began + took - self.dice.randrange(90))

    def reduce(self, stage: int, number: int = 3, *, lies: bool) -> None:
        """All-reduce the gradients of a stage."""
        members = [rank for rank in range(stage, RANKS, STAGES) if rank not in self.stuck]
        entries = {
            rank: self.note(rank, (str(stage + 1), "dp"), "nccl:all_reduce", p2p=False)
            for rank in members
        }
        for entry in entries.values():
            entry.update([*LIES.values(), {}][min(number, len(LIES))])
        if lies and self.wrong in entries:
            entries[self.wrong].update(self.lie)
        if len(members) < STAGES or (lies and self.wrong in entries):
            self.stuck.update(members)
            return
        began = max(self.now[rank] for rank in members)
        for rank in members:
            self.end(rank, entries[rank], began, began + self.dice.randrange(3000, 3300))

    def step(self, number: int, *, lies: bool = False) -> None:
        """Run forward and backward of each pipeline, and a reduction for each stage."""
        for first in range(0, RANKS, STAGES):
            pipeline = range(first, first + STAGES)
            for way in (pipeline, range(first + STAGES - 1, first - 1, -1)):
                for rank, after in pairwise(way):
                    work = self.dice.randrange(2000, 4000)
                    self.now[rank] += work * (6 if rank == self.lazy else 1)
                    self.transfer(rank, after, number)
        for stage in range(STAGES):
            self.reduce(stage, number, lies=lies)

    def dumps(self) -> list[dict[str, Any]]:
        """Return each rank's dump of its latest calls; some recorders hold more than others."""
        return [
            {"version": "2.10", "entries": mine[self.dice.randrange(4) :]} for mine in self.entries
        ]


def hung(seed: int, slow: tuple[int, int], wrong: int, lie: str) -> list[dict[str, Any]]:
    """Return the dumps of a run that has hung."""
    run = Run(seed, slow, wrong, lie)
    for number in range(5):
        run.step(number)
    run.step(5, lies=True)
    run.step(6)
    return run.dumps()


CASES = [
    (1, (11, 12), 37, "sizes"),
    (2, (54, 53), 0, "name"),
    (3, (62, 63), 63, "dtypes"),
    (4, (8, 9), 20, "sizes"),
    (5, (1, 0), 55, "name"),
]
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: f"run {case[0]}")


@pytest.mark.given
def test_pytorch_reads_these_records() -> None:
    """PyTorch's own reader of flight records knows these names."""
    from torch.distributed.flight_recorder.components.types import Op  # noqa: PLC0415 - takes long

    members = {str(100 + low): {low, low + 1} for low in range(RANKS)}
    members |= {str(stage + 1): set(range(stage, RANKS, STAGES)) for stage in range(STAGES)}
    entries = hung(*CASES[0])[11]["entries"]
    kinds = {Op(entry, members, entry["process_group"][0]).type for entry in entries}
    assert kinds == {"send", "recv", "all_reduce", "reduce_scatter_tensor_coalesced"}


def test_entries_of_one_call() -> None:
    """Two ranks, one of which lost its first call: match calls by number, not by position."""
    run = Run(1, (0, 1), 5, "sizes")
    for number in range(3):
        run.transfer(0, 1, number)
        run.reduce(0, lies=False)
    both = [{"entries": run.entries[0][2:]}, {"entries": run.entries[1]}]
    yours = {key: sorted(entries) for key, entries in matched(both, p2p=True).items()}
    expected = {("100", 1): [1], ("100", 2): [0, 1], ("100", 3): [0, 1]}
    assert yours == expected, (
        f"transfers, and which ranks have each: yours {yours}, expected {expected}"
    )
    found = matched(both, p2p=True)["100", 2]
    assert found[0] is run.entries[0][2], (
        f"rank 0's entry: yours {found[0]}, expected that of the dump"
    )


def test_groups_count_for_themselves() -> None:
    """Each group has a collective number 1, and transfers are numbered separately."""
    run = Run(1, (0, 1), 5, "sizes")
    run.step(0)
    yours = matched([{"entries": mine} for mine in run.entries], p2p=False)
    expected = {(str(stage + 1), 1) for stage in range(STAGES)}
    assert set(yours) == expected, (
        f"collectives: yours {sorted(yours)}, expected {sorted(expected)}"
    )
    members = sorted(yours["3", 1])
    assert members == list(range(2, RANKS, STAGES)), (
        f"group 3: yours {members}, expected its eight ranks"
    )


@cases
def test_the_wrong_rank(case: tuple[int, tuple[int, int], int, str]) -> None:
    """One wrong rank makes most of the 64 hang."""
    dumps = hung(*case)
    yours, right = wrong_rank(dumps), case[2]
    waiting = sum(not dump["entries"][-1]["retired"] for dump in dumps)
    assert yours == right, (
        f"run {case[0]}: you return rank {yours}, expected {right}; {waiting} hang. Take the"
        f" first collective on which a group disagrees: which rank differs in {case[3]}?"
    )


@cases
def test_the_slow_link(case: tuple[int, tuple[int, int], int, str]) -> None:
    """Not the link of a slowly computing rank, nor a link with a single long transfer."""
    run = Run(*case)
    yours, right = slow_link(hung(*case)), case[1]
    excuse = "its direction is the other" if yours[::-1] == right else "see time_created_ns"
    if set(yours) & {run.lazy}:
        excuse = f"rank {run.lazy} comes late, which is no fault of a link"
    elif any(link in {yours, yours[::-1]} for link, _ in run.hiccups):
        excuse = "it had a single long transfer"
    assert yours == right, (
        f"run {case[0]}: you return {yours[0]} to {yours[1]}, expected {right[0]} to {right[1]}; "
        f"{excuse}"
    )


def test_what_has_no_partner_or_no_end_is_no_transfer() -> None:
    """A transfer that one end lost, or that hangs, says nothing about a link."""
    run = Run(1, (0, 1), 5, "sizes")
    for number in (10, 11, 12):
        run.transfer(0, 1, number)
        run.transfer(2, 3, number)
    run.now[3] += 90000
    lost = run.note(3, ("103", "pp"), "nccl:send 0->1", p2p=True)
    run.end(3, lost, run.now[3], run.now[3] + 80000)
    run.note(4, ("104", "pp"), "nccl:send 0->1", p2p=True)
    run.note(5, ("104", "pp"), "nccl:recv 1<-0", p2p=True)
    late = run.note(6, ("106", "pp"), "nccl:send 0->1", p2p=True)
    run.end(6, late, run.now[6], run.now[6] + 70000)
    run.note(7, ("106", "pp"), "nccl:recv 1<-0", p2p=True)
    yours = slow_link([{"entries": mine} for mine in run.entries])
    assert yours == (0, 1), (
        f"you return {yours}, expected (0, 1): count a transfer only if both ranks recorded it and"
        " it has ended on both"
    )


def test_a_link_ends_when_both_ends_have() -> None:
    """The later end counts, as the later call does."""
    run = Run(1, (0, 1), 5, "sizes")
    for source, late in ((8, 0), (16, 600)):
        for number in range(3):
            ends = [
                run.note(source, (str(source), "pp"), "nccl:send 0->1", p2p=True),
                run.note(source + 1, (str(source), "pp"), "nccl:recv 1<-0", p2p=True),
            ]
            began = max(entry["time_created_ns"] for entry in ends)
            run.end(source, ends[0], began, began + 1000 + number + (late == 0))
            run.end(source + 1, ends[1], began, began + 1000 + number + late)
    yours = slow_link([{"entries": mine} for mine in run.entries])
    assert yours == (16, 17), f"you return {yours}, expected (16, 17): its receiver ended late"
