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


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.backend("gloo"),
    # The optimizers import it when they are first used.
    pytest.mark.ranks_import("torch._dynamo"),
]


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    """The last of it; and None, where nothing was saved."""
    path = tmp_path / "checkpoint"
    assert load(path) is None
    save(path, {"step": 1, "weight": torch.ones(3)})
    save(path, {"step": 2, "weight": torch.arange(3)})

    found = load(path)
    assert 2 == found["step"]
    assert [0, 1, 2] == found["weight"].tolist()


def test_a_broken_checkpoint_is_not_taken_for_none(tmp_path: Path) -> None:
    """Training would begin anew, and replace what somebody could have mended."""
    path = tmp_path / "checkpoint"
    save(path, {"step": 1, "weight": torch.ones(1000)})
    assert 1 == load(path)["step"]
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
    assert {"step": 1} == load(path), "the old checkpoint is gone, and there is no new one"

    save(path, {"step": 3})
    assert {"step": 3} == load(path)


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
    assert load(path) is None
    save(path, {"step": 2})
    assert {"step": 2} == load(path)


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
        assert os.fspath(tmp_path) == os.path.dirname(source), "in the same folder"  # noqa: PTH120
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
        losses = train(path, data(), BATCH, steps, after)
    except Ended:
        return None
    assert list(range(steps - len(done) + 1, steps + 1)) == done, "after() is told the steps done"
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
        assert [1, 2] == seen, "rank 0 saves before it calls after()"
    return len(found)


def test_rank_0_saves_and_no_other(world: Any, tmp_path: Path) -> None:
    """Their states are the same, and they would write the same file."""
    assert [2, 0, 0] == list(world(saves, 3, tmp_path / "checkpoint", timeout=15))


@pytest.mark.parametrize("size", [1, 3])
def test_training_depends_on_no_number_of_ranks(world: Any, tmp_path: Path, size: int) -> None:
    """The global batch is the same, and so are the losses, on each rank."""
    expected = undisturbed(7)
    for losses in world(until, size, tmp_path / "checkpoint", 7, 99, timeout=15):
        assert expected == pytest.approx(losses, rel=1e-4)


def test_a_rank_may_have_nothing_to_do(world: Any, tmp_path: Path) -> None:
    """Five ranks, four rows: one takes part with a loss of 0."""
    for losses in world(until, 5, tmp_path / "checkpoint", 2, 99, timeout=15):
        assert undisturbed(2) == pytest.approx(losses, rel=1e-4)


@pytest.mark.parametrize("last", [2, 3])
def test_training_goes_on_where_it_was(world: Any, tmp_path: Path, last: int) -> None:
    """Within an epoch, and at its end; with another number of ranks."""
    path = tmp_path / "checkpoint"
    assert [None] * 3 == list(world(until, 3, path, 8, last, timeout=15))
    found = world(until, 2, path, 8, 99, timeout=15)

    for losses in found:
        assert undisturbed(8) == pytest.approx(losses, rel=1e-4), f"after {last} steps"


def test_a_finished_training_is_not_trained_again(world: Any, tmp_path: Path) -> None:
    """The losses are in the checkpoint, and nothing is summed or saved."""
    path = tmp_path / "checkpoint"
    world(until, 2, path, 3, 99, timeout=15)
    before = path.stat().st_ino
    results = world(until, 2, path, 3, 99, timeout=15)

    assert undisturbed(3) == pytest.approx(results[1], rel=1e-4)
    assert ((), ()) == results.calls
    assert before == path.stat().st_ino


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

    assert 0 == machine.run()
    count = {"TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "3"}
    assert [
        {"RANK": "0", "WORLD_SIZE": "2", **count},
        {"RANK": "1", "WORLD_SIZE": "2", **count},
    ] == machine.environments


def test_the_agent_waits_for_the_last_one() -> None:
    """It looks, pauses, and looks again; who has ended well is left in peace."""
    machine = Machine([(1, 0), (3, 0), (0, 0)])

    assert 0 == machine.run()
    assert ["start 0.0", "start 0.1", "start 0.2", "pause", "pause", "pause"] == [
        event for event in machine.log if not event.startswith("wait")
    ]


def test_if_one_fails_all_are_started_again() -> None:
    """Rank 0 has ended well before, and rank 2 still runs: the group starts as a whole."""
    machine = Machine([(0, 0), (1, 7), (9, 0)], [(0, 0)] * 3)

    assert 1 == machine.run()
    assert ["0", "0", "0", "1", "1", "1"] == [
        environment["TORCHELASTIC_RESTART_COUNT"] for environment in machine.environments
    ]
    starts = [event for event in machine.log if event.startswith("start")]
    assert [f"start {group}.{rank}" for group in range(2) for rank in range(3)] == starts
    between = machine.log[4 : machine.log.index("start 1.0") + 1]
    assert ["terminate 0.2", "wait 0.2", "start 1.0"] == [
        event for event in between if event.split()[1] in {"0.2", "1.0"}
    ], "who still runs is ended, and waited for, before anybody is started"


def test_a_negative_code_is_a_failure() -> None:
    """So ends who was killed by a signal, by the one who looks after memory for example."""
    machine = Machine([(0, 0), (2, -9)], [(0, 0)] * 2)

    assert 1 == machine.run()


def test_all_are_asked_before_one_is_waited_for() -> None:
    """They end together, and one who does not is killed."""
    machine = Machine([(9, 0), (0, 1), (9, 0), (9, 0)], [(0, 0)] * 4)
    machine.stubborn = {"0.2"}

    assert 1 == machine.run()
    stopped = machine.log[machine.log.index("start 0.3") + 1 : machine.log.index("start 1.0")]
    assert ["terminate 0.0", "terminate 0.2", "terminate 0.3"] == sorted(stopped[:3])
    after = ["wait 0.0", "wait 0.2", "kill 0.2", "wait 0.2", "wait 0.3"]
    assert sorted(after) == sorted(event for event in stopped[3:] if event != "wait 0.1")
    assert stopped.index("wait 0.2") < stopped.index("kill 0.2") < len(stopped) - 1


def test_the_next_group_may_be_smaller() -> None:
    """As large as what is available; fewer than the fewest are none."""
    machine = Machine([(0, 1), (0, 0), (0, 0)], [(0, 1), (0, 0)], [(0, 0)])
    assert 2 == machine.run()
    assert ["3", "3", "3", "2", "2", "1"] == [one["WORLD_SIZE"] for one in machine.environments]

    machine = Machine([(0, 1), (0, 0)], [(0, 0)])
    with pytest.raises(RuntimeError, match="too few workers"):
        machine.run(fewest=2)
    assert 2 == len(machine.workers), "no group of one is started"


def test_after_so_many_restarts_a_failure_is_one() -> None:
    """The lowest rank of those that failed is told, and nobody is left."""
    machine = Machine([(0, 1)] * 3, [(1, 0), (1, 5), (1, 6), (9, 0)])
    with pytest.raises(WorkerError) as caught:
        machine.run(max_restarts=1)

    assert (1, 5) == (caught.value.rank, caught.value.code)
    assert "terminate 1.3" in machine.log
    assert not [worker.name for worker in machine.workers if worker.end is None]

    machine = Machine([(0, 0), (0, 4)])
    with pytest.raises(WorkerError) as caught:
        machine.run(max_restarts=0)
    assert (1, 4) == (caught.value.rank, caught.value.code)


def test_nobody_is_left_behind() -> None:
    """If the agent is ended by Ctrl-C, or cannot start one more."""
    machine = Machine([(9, 0), (9, 0)])

    def interrupted() -> None:
        raise KeyboardInterrupt

    machine.pause = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    assert [-15, -15] == [worker.end for worker in machine.workers]

    machine = Machine([(9, 0), (9, 0)])
    machine.sizes = [3]
    with pytest.raises(IndexError):
        machine.run()
    assert [-15, -15] == [worker.end for worker in machine.workers]


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
    assert [-9, 1, -9] == [worker.end for worker in machine.workers]
    assert {"0.0", "0.2"} == set(waited[1:]), "who is killed is waited for as well"


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

    assert 1 == restarts
    assert [-signal.SIGKILL, 0, 0] == [codes[1], *codes[3:]]
    assert undisturbed(7) == pytest.approx(torch.load(tmp_path / "losses1"), rel=1e-4)
