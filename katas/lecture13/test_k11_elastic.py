"""Tests of k11_elastic: whole checkpoints, training that goes on, an agent that restarts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from multiprocessing.connection import wait
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.k11_elastic import WorkerError
from katas.lecture13.k11_elastic import load
from katas.lecture13.k11_elastic import make
from katas.lecture13.k11_elastic import save
from katas.lecture13.k11_elastic import supervise
from katas.lecture13.k11_elastic import train
from plugins.kit import loopback
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.backend("gloo"),
    # The optimizers import it when they are first used.
    pytest.mark.ranks_import("torch._dynamo", "numpy.random"),
]


def same(found: Any, expected: Any, what: str) -> None:
    """Compare, side by side."""
    assert expected == found, f"{what}\nyours:    {found}\nexpected: {expected}"


def close(found: list[float] | None, expected: list[float], what: str) -> None:
    """Compare losses of float32."""
    assert found is not None, f"{what}: yours are None"
    torch.testing.assert_close(
        torch.tensor(found),
        torch.tensor(expected),
        rtol=1e-4,
        atol=1e-6,
        msg=lambda text: f"{what}\nyours:    {found}\nexpected: {expected}\n{text}",
    )


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    """The last of it; and None, where nothing was saved."""
    path = tmp_path / "checkpoint"
    same(load(path), None, "what is loaded where nothing was saved")
    state = {"step": 2, "weight": torch.arange(3)}
    save(path, {"step": 1, "weight": torch.ones(3)})
    with unchanged(state=state):
        save(path, state)

    found = load(path)
    told = (found["step"], found["weight"].tolist())
    same(told, (2, [0, 1, 2]), "step and weight of the second state that was saved")


def test_a_broken_checkpoint_is_not_taken_for_none(tmp_path: Path) -> None:
    """Training would begin anew, and replace what somebody could have mended."""
    path = tmp_path / "checkpoint"
    save(path, {"step": 1, "weight": torch.ones(1000)})
    same(load(path)["step"], 1, "the step that was saved")
    path.write_bytes(path.read_bytes()[:1000])

    # What torch.load raises.
    with pytest.raises(RuntimeError):
        load(path)


class Killed(BaseException):
    """Stands for the end of the process."""


class Deadly:
    """Ends a save in the middle."""

    def __reduce__(self) -> Any:
        """Do not be pickled."""
        raise Killed


def test_a_save_that_ends_in_the_middle_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    """And the next one is not disturbed by what it has left."""
    path = tmp_path / "checkpoint"
    save(path, {"step": 1})
    with pytest.raises(Killed):
        save(path, {"step": 2, "more": Deadly()})
    same(load(path), {"step": 1}, "what is there after a save that was ended in the middle")

    save(path, {"step": 3})
    same(load(path), {"step": 3}, "what is there after the next save")


def test_a_save_that_ends_at_the_last_moment_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is written, and nothing is replaced: the first checkpoint is none then."""
    path = tmp_path / "checkpoint"

    def killed(*args: Any, **kwargs: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            save(path, {"step": 1})
    same(load(path), None, "what is there after a save that ended before it replaced anything")
    save(path, {"step": 2})
    same(load(path), {"step": 2}, "what is there after the next save")


def test_all_is_on_the_disk_before_the_old_checkpoint_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a loss of power could leave a new name on an empty file."""
    path = tmp_path / "checkpoint"
    events: list[Any] = []
    replace, fsync = os.replace, os.fsync

    def noted_fsync(file: Any) -> None:
        number = file if isinstance(file, int) else file.fileno()
        events.append(("fsync", os.fstat(number).st_ino, os.fstat(number).st_size))
        fsync(number)

    def noted_replace(source: Any, target: Any, **kwargs: Any) -> None:
        events.append(("replace", os.stat(source).st_ino, os.stat(source).st_size))  # noqa: PTH116
        folder = os.path.dirname(source)  # noqa: PTH120
        assert os.fspath(tmp_path) == folder, f"in the folder of the checkpoint; yours: {source}"
        replace(source, target, **kwargs)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    save(path, {"weight": torch.ones(1000)})

    replaced = [event for event in events if event[0] == "replace"]
    assert 1 == len(replaced), f"os.replace is called once: {events}"
    before = events[: events.index(replaced[0])]
    assert ("fsync", *replaced[0][1:]) in before, f"the whole file is synced first: {events}"


# 12 rows in batches of 4: an epoch has 3 steps.
ROWS, BATCH = 12, 4


def data() -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows and what the model shall make of them."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(ROWS, 3, generator=generator)
    return x, torch.randn(ROWS, 2, generator=generator)


def undisturbed(steps: int) -> list[float]:
    """Return the losses of one process that is never restarted."""
    x, y = data()
    torch.manual_seed(0)
    model, optimizer = make()
    losses = []
    while len(losses) < steps:
        for rows in torch.randperm(ROWS).split(BATCH)[: steps - len(losses)]:
            optimizer.zero_grad()
            loss = (model(x[rows]) - y[rows]).square().sum() / BATCH
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


class Ended(Exception):  # noqa: N818 - no error
    """Stands for the end of all processes."""


def until(path: Path, steps: int, last: int) -> list[float] | None:
    """Train in this rank; it ends after so many steps, if they are fewer than all."""
    done = []

    def after(step: int) -> None:
        done.append(step)
        if step == last:
            raise Ended

    # What another user of the generator leaves in it must not matter.
    torch.rand(7)
    try:
        rows = data()
        with unchanged(but={"torch.get_rng_state()"}, rows=rows):
            losses = train(path, rows, BATCH, steps, after)
    except Ended:
        return None
    expected = list(range(steps - len(done) + 1, steps + 1))
    same(done, expected, "what after() is told: the number of steps that are done")
    return losses


def saves(path: Path) -> int:
    """Return how often this rank has replaced a checkpoint, after two steps."""
    replace, found = os.replace, []

    def noted(*args: Any, **kwargs: Any) -> None:
        found.append(args)
        replace(*args, **kwargs)

    os.replace = noted
    seen = []
    train(path, data(), BATCH, 2, lambda step: seen.append(len(found)))
    if dist.get_rank() == 0:
        same(seen, [1, 2], "how often rank 0 has saved when it calls after()")
    return len(found)


def test_rank_0_saves_and_no_other(world: Any, tmp_path: Path) -> None:
    """Their states are the same, and they would write the same file."""
    found = list(world(saves, 3, tmp_path / "checkpoint", timeout=15))
    same(found, [2, 0, 0], "how often each rank saves in two steps")


@pytest.mark.parametrize("size", [1, 3])
def test_training_depends_on_no_number_of_ranks(world: Any, tmp_path: Path, size: int) -> None:
    """The global batch is the same, and so are the losses, on each rank."""
    expected = undisturbed(7)
    for losses in world(until, size, tmp_path / "checkpoint", 7, 99, timeout=15):
        close(losses, expected, f"the losses of seven steps on {size} ranks")


def test_a_rank_may_have_nothing_to_do(world: Any, tmp_path: Path) -> None:
    """Five ranks, four rows: one takes part with a loss of 0."""
    for losses in world(until, 5, tmp_path / "checkpoint", 2, 99, timeout=15):
        close(losses, undisturbed(2), "the losses of two steps on five ranks")


@pytest.mark.parametrize("last", [2, 3])
def test_training_goes_on_where_it_was(world: Any, tmp_path: Path, last: int) -> None:
    """Within an epoch, and at its end; with another number of ranks."""
    path = tmp_path / "checkpoint"
    ended = list(world(until, 3, path, 8, last, timeout=15))
    same(ended, [None] * 3, f"what three ranks return that are ended after {last} steps: nothing")
    found = world(until, 2, path, 8, 99, timeout=15)

    for losses in found:
        close(losses, undisturbed(8), f"the losses of 8 steps, with a restart after {last}")


def test_a_finished_training_is_not_trained_again(world: Any, tmp_path: Path) -> None:
    """The losses are in the checkpoint, and nothing is summed or saved."""
    path = tmp_path / "checkpoint"
    world(until, 2, path, 3, 99, timeout=15)
    before = path.stat().st_ino
    results = world(until, 2, path, 3, 99, timeout=15)

    close(results[1], undisturbed(3), "the losses of a training that was finished before")
    same(results.calls, ((), ()), "what the ranks call: there is nothing to sum")
    assert before == path.stat().st_ino, "yours saves again, where no step was made"


class Fake:
    """A worker that ends after so many looks, with a code, and writes down what is done to it."""

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
            assert timeout is not None, f"{self.name} does not end, and is waited for, for ever"
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
            f"{running} of an earlier group still run when rank {rank} of group {group} starts"
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
        assert len(self.log) < 200, f"this has no end: {self.log[:20]}"
        for worker in self.workers:
            worker.looks -= 1

    def run(self, max_restarts: int = 3, fewest: int = 1) -> int:
        """Supervise."""
        return supervise(
            self.start,
            self.available,
            fewest=fewest,
            max_restarts=max_restarts,
            pause=self.pause,
            grace=5.0,
        )


def test_workers_are_told_who_they_are() -> None:
    """And when all have ended well there is nothing more to do."""
    machine = Machine([(0, 0), (0, 0)])

    same(machine.run(), 0, "the number of restarts")
    count = {"TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "3"}
    expected = [{"RANK": rank, "WORLD_SIZE": "2", **count} for rank in ("0", "1")]
    same(machine.environments, expected, "what the workers are told")


def test_the_agent_waits_for_the_last_one() -> None:
    """It looks, pauses, and looks again; who has ended well is left in peace."""
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
    """So ends who was killed by a signal, by the one who looks after memory for example."""
    machine = Machine([(0, 0), (2, -9)], [(0, 0)] * 2)

    same(machine.run(), 1, "the number of restarts after a worker ended with code -9")


def test_all_are_asked_before_one_is_waited_for() -> None:
    """They end together, and one who does not is killed."""
    machine = Machine([(9, 0), (0, 1), (9, 0), (9, 0)], [(0, 0)] * 4)
    machine.stubborn = {"0.2"}

    same(machine.run(), 1, "the number of restarts")
    stopped = machine.log[machine.log.index("start 0.3") + 1 : machine.log.index("start 1.0")]
    first = sorted(stopped[:3])
    expected = ["terminate 0.0", "terminate 0.2", "terminate 0.3"]
    same(first, expected, "the first three things that are done to stop a group")
    after = ["wait 0.0", "wait 0.2", "kill 0.2", "wait 0.2", "wait 0.3"]
    then = sorted(event for event in stopped[3:] if event != "wait 0.1")
    same(then, sorted(after), "what is done behind these, sorted: 0.2 does not end by itself")
    right = stopped.index("wait 0.2") < stopped.index("kill 0.2") < len(stopped) - 1
    assert right, f"0.2 is waited for, then killed, and waited for again; yours: {stopped}"


def test_the_next_group_may_be_smaller() -> None:
    """As large as what is available; fewer than the fewest are none."""
    machine = Machine([(0, 1), (0, 0), (0, 0)], [(0, 1), (0, 0)], [(0, 0)])
    same(machine.run(), 2, "the number of restarts")
    sizes = [one["WORLD_SIZE"] for one in machine.environments]
    same(sizes, ["3", "3", "3", "2", "2", "1"], "WORLD_SIZE of each worker, group by group")

    machine = Machine([(0, 1), (0, 0)], [(0, 0)])
    with pytest.raises(RuntimeError, match="too few workers"):
        machine.run(fewest=2)
    same(len(machine.workers), 2, "workers that are started: no group of one")


def test_after_so_many_restarts_a_failure_is_one() -> None:
    """The lowest rank of those that failed is told, and nobody is left."""
    machine = Machine([(0, 1)] * 3, [(1, 0), (1, 5), (1, 6), (9, 0)])
    with pytest.raises(WorkerError) as caught:
        machine.run(max_restarts=1)

    told = (caught.value.rank, caught.value.code)
    same(told, (1, 5), "rank and code in the error: of the lowest rank of those that failed")
    assert "terminate 1.3" in machine.log, f"1.3 still ran; yours: {machine.log}"
    left = [worker.name for worker in machine.workers if worker.end is None]
    same(left, [], "workers that are left behind")

    machine = Machine([(0, 0), (0, 4)])
    with pytest.raises(WorkerError) as caught:
        machine.run(max_restarts=0)
    told = (caught.value.rank, caught.value.code)
    same(told, (1, 4), "rank and code in the error, with no restart allowed")


def test_nobody_is_left_behind() -> None:
    """If the agent is ended by Ctrl-C, or cannot start one more."""
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


def test_nobody_is_left_behind_by_an_impatient_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who presses Ctrl-C while the agent waits for two that are slow to end."""
    machine = Machine([(9, 0), (0, 1), (9, 0)], [(0, 0)] * 3)
    machine.stubborn = {"0.0", "0.2"}
    waited: list[str] = []
    wait = Fake.wait

    def interrupted(worker: Fake, timeout: float | None = None) -> int:
        waited.append(worker.name)
        if len(waited) == 1:
            raise KeyboardInterrupt
        return wait(worker, timeout)

    monkeypatch.setattr(Fake, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    ends = [worker.end for worker in machine.workers]
    same(ends, [-9, 1, -9], "how the workers end after a Ctrl-C in the first wait")
    same(set(waited[1:]), {"0.0", "0.2"}, "who is killed, and then waited for as well")


class Real:
    """A process that was forked, with the methods of a Popen."""

    def __init__(self, function: Callable[..., None], *args: Any) -> None:
        self.process = multiprocessing.get_context("fork").Process(target=function, args=args)
        self.process.start()
        self.terminate, self.kill = self.process.terminate, self.process.kill

    def poll(self) -> int | None:
        """Return the exit code, or None."""
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the exit code as soon as there is one."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise TimeoutExpired("worker", timeout or 0)
        return self.process.exitcode


def worker(environment: dict[str, str], folder: Path) -> None:
    """Train; rank 1 of the first group is killed after 4 steps."""
    rank, size = int(environment["RANK"]), int(environment["WORLD_SIZE"])
    restarts = environment["TORCHELASTIC_RESTART_COUNT"]
    # A place of its own for each group: what an earlier one has left in it would be believed.
    store = dist.FileStore(str(folder / f"store{restarts}"), size)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback(socket.if_nameindex()))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)

    def after(step: int) -> None:
        if (step, rank, restarts) == (4, 1, "0"):
            os.kill(os.getpid(), signal.SIGKILL)

    losses = train(folder / "checkpoint", data(), BATCH, 7, after)
    if rank == 0:
        torch.save(losses, folder / f"losses{restarts}")


def agent(folder: Path) -> Any:
    """Supervise real workers: three, and then two."""
    sizes = [3, 2]
    alive: list[Real] = []

    def start(environment: dict[str, str]) -> Real:
        alive.append(Real(worker, environment, folder))
        return alive[-1]

    def pause() -> None:
        wait([one.process.sentinel for one in alive if one.poll() is None], timeout=0.1)

    restarts = supervise(
        start, lambda: sizes.pop(0), fewest=1, max_restarts=1, pause=pause, grace=5.0
    )
    return restarts, [one.process.exitcode for one in alive]


def test_a_rank_is_killed_and_the_loss_is_the_same(world: Any, tmp_path: Path) -> None:
    """Three processes that train; one dies, two go on from the checkpoint."""
    restarts, codes = world(agent, 1, tmp_path, backend=None, timeout=20)[0]

    same(restarts, 1, "the number of restarts")
    found = [codes[1], *codes[3:]]
    same(found, [-signal.SIGKILL, 0, 0], "the codes of the one that is killed, and of the last two")
    losses = torch.load(tmp_path / "losses1")
    close(losses, undisturbed(7), "the losses of all steps, those before the restart too")
