"""Tests of k26_agent: groups of workers that end in a planned way."""

from __future__ import annotations

from subprocess import TimeoutExpired

import pytest

from katas.lecture13.conftest import same
from katas.lecture13.k26_agent import WorkerError
from katas.lecture13.k26_agent import supervise


class Fake:
    """A worker that ends after `looks` looks, with a code, and logs what is done to it."""

    def __init__(self, log: list[str], name: str, looks: int, code: int) -> None:
        self.log, self.name, self.looks, self.code = log, name, looks, code
        self.stubborn = False
        self.end: int | None = None

    def poll(self) -> int | None:
        """Return None as long as it runs."""
        if self.end is None and self.looks <= 0:
            self.end = self.code
        return self.end

    def terminate(self) -> None:
        """Ask it to end."""
        self.log.append(f"terminate {self.name}")
        if not self.stubborn:
            self.end = -15

    def kill(self) -> None:
        """End it."""
        self.log.append(f"kill {self.name}")
        self.end = -9

    def wait(self, timeout: float | None = None) -> int:
        """Return the code, or raise if it does not end."""
        self.log.append(f"wait {self.name}")
        if self.end is None:
            assert timeout is not None, (
                f"{self.name} does not end, and your code waits for it forever"
            )
            raise TimeoutExpired(self.name, timeout)
        return self.end


class Machine:
    """Starts fake workers as a plan says: for each group, the (looks, code) of each rank."""

    def __init__(self, *plan: list[tuple[int, int]]) -> None:
        self.plan = plan
        self.log: list[str] = []
        self.environments: list[dict[str, str]] = []
        self.workers: list[Fake] = []
        self.stubborn: set[str] = set()
        self.sizes = [len(group) for group in plan]

    def start(self, environment: dict[str, str]) -> Fake:
        """Start the next worker."""
        running = [worker.name for worker in self.workers if worker.end is None]
        group, rank = int(environment["TORCHELASTIC_RESTART_COUNT"]), int(environment["RANK"])
        assert not [name for name in running if not name.startswith(f"{group}.")], (
            f"{running} of an earlier group are still running when rank {rank} of group {group}"
            " starts"
        )
        self.environments.append(environment)
        self.log.append(f"start {group}.{rank}")
        worker = Fake(self.log, f"{group}.{rank}", *self.plan[group][rank])
        worker.stubborn = worker.name in self.stubborn
        self.workers.append(worker)
        return worker

    def available(self) -> int:
        """Return the size of the next group."""
        return self.sizes.pop(0)

    def pause(self) -> None:
        """Let time go by."""
        self.log.append("pause")
        assert len(self.log) < 200, f"your loop does not end: {self.log[:20]}"
        for worker in self.workers:
            worker.looks -= 1

    def run(self, max_restarts: int = 3) -> int:
        """Supervise."""
        return supervise(self.start, self.available, self.pause, max_restarts)


def test_workers_are_told_who_they_are() -> None:
    """Once all have ended well, there is nothing more to do."""
    machine = Machine([(0, 0), (0, 0)])

    same(machine.run(), 0, "the number of restarts")
    same(machine.log.count("pause"), 0, "the pauses, where the first look finds all of them ended")
    count = {"TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "3"}
    expected = [{"RANK": rank, "WORLD_SIZE": "2", **count} for rank in ("0", "1")]
    same(machine.environments, expected, "what the workers are told")


def test_the_agent_waits_for_the_last_one() -> None:
    """The agent looks, pauses, and looks again; a worker that has ended well is left alone."""
    machine = Machine([(1, 0), (3, 0), (0, 0)])

    same(machine.run(), 0, "the number of restarts")
    found = [event for event in machine.log if not event.startswith("wait")]
    expected = ["start 0.0", "start 0.1", "start 0.2", "pause", "pause", "pause"]
    same(found, expected, "what the agent does, while the slowest worker runs for three pauses")


def test_if_one_fails_all_are_started_again() -> None:
    """Rank 0 has ended well before, and rank 2 still runs: the group starts as a whole."""
    machine = Machine([(0, 0), (1, 7), (9, 0)], [(0, 0)] * 3)

    same(machine.run(), 1, "the number of restarts")
    counts = [each["TORCHELASTIC_RESTART_COUNT"] for each in machine.environments]
    same(counts, ["0", "0", "0", "1", "1", "1"], "TORCHELASTIC_RESTART_COUNT of each worker")
    starts = [event for event in machine.log if event.startswith("start")]
    expected = [f"start {group}.{rank}" for group in range(2) for rank in range(3)]
    same(starts, expected, "which workers are started, as group.rank")
    between = machine.log[4 : machine.log.index("start 1.0") + 1]
    found = [event for event in between if event.split()[1] in {"0.2", "1.0"}]
    expected = ["terminate 0.2", "wait 0.2", "start 1.0"]
    same(found, expected, "who still runs is ended, and waited for, before anybody is started")


def test_a_negative_code_is_a_failure() -> None:
    """A worker's code is negative when a signal kills it, as the out-of-memory killer does."""
    machine = Machine([(0, 0), (2, -9)], [(0, 0)] * 2)

    same(machine.run(), 1, "the number of restarts after a worker ended with code -9")


def test_the_next_group_may_be_smaller() -> None:
    """The next group is as large as what is available; if nothing is, there is no group."""
    machine = Machine([(0, 1), (0, 0), (0, 0)], [(0, 1), (0, 0)], [(0, 0)])
    same(machine.run(), 2, "the number of restarts")
    sizes = [one["WORLD_SIZE"] for one in machine.environments]
    same(sizes, ["3", "3", "3", "2", "2", "1"], "WORLD_SIZE of each worker, group by group")

    machine = Machine([(0, 1), (0, 0)], [])
    with pytest.raises(RuntimeError, match="no workers"):
        machine.run()
    same(len(machine.workers), 2, "workers that are started: the second group would have none")


def test_after_so_many_restarts_a_failure_is_one() -> None:
    """The error names the lowest rank that failed, and no worker is left."""
    machine = Machine([(0, 1)] * 3, [(1, 0), (1, 5), (1, 6), (9, 0)])
    with pytest.raises(WorkerError) as caught:
        machine.run(max_restarts=1)

    told = (caught.value.rank, caught.value.code)
    same(told, (1, 5), "rank and code in the error: of the lowest rank of those that failed")
    assert "terminate 1.3" in machine.log, (
        f"worker 1.3 still ran, and was not terminated: {machine.log}"
    )
    left = [worker.name for worker in machine.workers if worker.end is None]
    same(left, [], "workers that are left behind")

    machine = Machine([(0, 0), (0, 4)])
    with pytest.raises(WorkerError) as caught:
        machine.run(max_restarts=0)
    told = (caught.value.rank, caught.value.code)
    same(told, (1, 4), "rank and code in the error, with no restart allowed")


def test_nobody_is_left_behind() -> None:
    """No worker is left if the agent is ended by Ctrl-C, or cannot start another worker."""
    machine = Machine([(9, 0), (9, 0)])

    def interrupted() -> None:
        raise KeyboardInterrupt

    machine.pause = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    ends = [worker.end for worker in machine.workers]
    same(ends, [-15, -15], "how both workers end when pause() raises (None: they still run)")

    machine = Machine([(9, 0), (9, 0)])
    machine.sizes = [3]
    with pytest.raises(IndexError):
        machine.run()
    ends = [worker.end for worker in machine.workers]
    same(ends, [-15, -15], "how both workers end when start() of the third raises")
