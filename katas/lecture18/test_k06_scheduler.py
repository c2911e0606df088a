"""Tests of k06_scheduler: TorchX's runner on your scheduler; most processes are simulated."""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING
from typing import Any

import pytest

from katas.lecture18 import k06_scheduler as kata


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


pytestmark = pytest.mark.backend("torchx")


class Played:
    """A task without a process: its codes come from a script, one list for each replica.

    Each look takes the next code; the last code stays. A start begins the next list.
    """

    script: dict[str, list[list[int | None]]]
    made: list[Played]

    def __init__(self, role: Any, folder: str) -> None:
        self.role, self.folder = role, folder
        self.starts, self.retries, self.killed = 0, role.max_retries, 0
        self.codes: list[int | None] = []
        self.made.append(self)

    @property
    def name(self) -> str:
        """Return the role and the replica's number, which is the first argument."""
        return f"{self.role.name}/{self.role.args[0]}"

    def start(self) -> None:
        """Begin with the next list; a replica without a list runs forever."""
        lists = self.script.get(self.name, [])
        self.codes = [*lists[self.starts]] if self.starts < len(lists) else [None]
        self.starts += 1

    def code(self) -> int | None:
        """Return the next code."""
        return self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]

    def kill(self) -> None:
        """End with a signal's code, unless the task has ended."""
        if self.codes and self.codes[-1] is None:
            self.codes, self.killed = [-9], self.killed + 1


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> type[Played]:
    """Make the exercise use the scripted tasks."""
    monkeypatch.setattr(kata, "Task", Played)
    monkeypatch.setattr(Played, "made", [], raising=False)
    monkeypatch.setattr(Played, "script", {}, raising=False)
    return Played


@pytest.fixture
def runner() -> Iterator[Any]:
    """Return TorchX's runner with your scheduler, and close it afterwards."""
    from torchx.runner import Runner  # noqa: PLC0415 - may be missing

    with Runner("me", {"stubborn": kata.create}) as made:
        yield made


def app(**roles: int | tuple[int, int]) -> Any:
    """Return an app; each role has a number of replicas, and perhaps a number of retries."""
    from torchx import specs  # noqa: PLC0415 - may be missing

    made = specs.AppDef("night")
    for name, numbers in roles.items():
        replicas, retries = numbers if isinstance(numbers, tuple) else (numbers, 0)
        made.roles.append(
            specs.Role(
                name,
                image="i",
                entrypoint="fit",
                args=["${replica_id}", "${app_id}", "${img_root}/w", "${rank0_env}"],
                env={"WHO": f"{name}-${{replica_id}}"},
                num_replicas=replicas,
                max_retries=retries,
                resource=specs.Resource(cpu=1, gpu=0, memMB=1),
            )
        )
    return made


def started(runner: Any, made: Any) -> str:
    """Run an app, and return its handle."""
    handle: str = runner.run(made, "stubborn", {"folder": "/here"})
    return handle


def seen(runner: Any, handle: str, right: str, restarts: int = 0) -> None:
    """Ask for the state, and compare it."""
    __tracebackhide__ = True
    status = runner.status(handle)
    assert status is not None, f"describe: your code returns None for an app that exists: {handle}"
    yours = status.state.name, status.num_restarts
    assert yours == (right, restarts), (
        f"(state, restarts): yours {yours}, expected {(right, restarts)}"
    )


def test_a_request(stage: type[Played], runner: Any) -> None:
    """A task for each replica, role after role, with its macros replaced."""
    info = runner.dryrun(app(trainer=2, judge=1), "stubborn", {"folder": "/here"})
    app_id, tasks = info.request
    names = [task.name for task in tasks]
    right = ["trainer/0", "trainer/1", "judge/0"]
    assert right == names, f"tasks: yours {names}, expected {right}"
    words = ["1", app_id, "/here/w", "TORCHX_RANK0_HOST"]
    assert words == tasks[1].role.args, f"words: yours {tasks[1].role.args}, expected {words}"
    env = {"WHO": "trainer-1", "TORCHX_JOB_ID": f"stubborn://me/{app_id}"}
    # Also setting the address of rank 0 is not required, but not wrong.
    yours = {k: v for k, v in tasks[1].role.env.items() if k != "TORCHX_RANK0_HOST"}
    assert env == yours, f"variables: yours {yours}, expected {env}"
    assert tasks[1].folder == "/here", f"folder: yours {tasks[1].folder!r}, expected '/here'"
    assert app_id.startswith("night-"), (
        f"the id: yours {app_id!r}, expected one that begins with 'night-'"
    )
    assert "Request" in repr(info), f"expected the repr {info.request!r}, yours {info!r}"


def test_a_dry_run_starts_nothing(stage: type[Played], runner: Any) -> None:
    """A dry run does not change the app's commands either, and two requests have two ids."""
    made = app(trainer=2)
    args = copy.deepcopy(made.roles[0].args)
    ids = {runner.dryrun(made, "stubborn", {"folder": "/"}).request.app_id for _ in range(2)}
    assert len(ids) == 2, f"two dry runs: yours has ids {ids}, expected two"
    begun = [task.name for task in stage.made if task.starts]
    assert not begun, f"a dry run starts {begun}, expected nothing"
    assert args == made.roles[0].args, f"your code modified the app: {made.roles[0].args}"


@pytest.mark.usefixtures("stage")
def test_what_torchx_refuses(runner: Any) -> None:
    """TorchX refuses a request without a required option, and a role without resources."""
    from torchx import specs  # noqa: PLC0415 - may be missing

    with pytest.raises(specs.InvalidRunConfigException, match="folder"):
        runner.dryrun(app(trainer=1), "stubborn", {})
    made = app(trainer=1)
    made.roles[0].resource = specs.NULL_RESOURCE
    with pytest.raises(ValueError, match="No resource"):
        runner.dryrun(made, "stubborn", {"folder": "/"})
    assert runner.dryrun(app(a=1), "stubborn", {"folder": "/"}), "expected a request"


def test_an_app_is_started(stage: type[Played], runner: Any) -> None:
    """Each task is started once; the app runs while one of its tasks does."""
    stage.script = {"a/0": [[0]]}
    handle = started(runner, app(a=2, b=1))
    starts = [task.starts for task in stage.made]
    assert starts == [1, 1, 1], f"starts: yours {starts}, expected 1 each"
    listed = [each.state.name for each in runner.list("stubborn")]
    assert listed == ["RUNNING"], f"listed after the start: yours {listed}, expected ['RUNNING']"
    seen(runner, handle, "RUNNING")
    assert handle.startswith("stubborn://me/night-"), (
        f"your code returns the handle {handle}, expected one that begins with stubborn://me/night-"
    )


def test_no_such_app(stage: type[Played], runner: Any) -> None:
    """The app is from yesterday, or belongs to another scheduler."""
    started(runner, app(a=1))
    yours = runner.status("stubborn://me/night-0")
    assert yours is None, f"an app that does not exist: yours {yours}, expected None"
    other = kata.create("me").describe(stage.made[0].role.args[1])
    assert other is None, f"another scheduler's app: yours {other}, expected None"


def test_all_succeed(stage: type[Played], runner: Any) -> None:
    """An app succeeds only when its last task has ended."""
    stage.script = {"a/0": [[0]], "a/1": [[None, 0]]}
    handle = started(runner, app(a=2))
    seen(runner, handle, "RUNNING")
    seen(runner, handle, "SUCCEEDED")
    seen(runner, handle, "SUCCEEDED")


def test_a_failure_is_tried_again(stage: type[Played], runner: Any) -> None:
    """Three tries are one start and two restarts; no other task is restarted."""
    stage.script = {"a/0": [[None, 1], [None, 3], [0]], "a/1": [[None] * 4 + [0]]}
    handle = started(runner, app(a=(2, 2)))
    for restarts in (0, 1, 1, 2):
        seen(runner, handle, "RUNNING", restarts)
    seen(runner, handle, "SUCCEEDED", 2)
    starts = [task.starts for task in stage.made]
    assert starts == [3, 1], f"starts: yours {starts}, expected [3, 1]"


def test_started_again_is_running(stage: type[Played], runner: Any) -> None:
    """A restarted task counts as running, even if it fails at once: the next look finds that."""
    stage.script = {"a/0": [[1], [1], [1]]}
    handle = started(runner, app(a=(1, 2)))
    for state, restarts in (("RUNNING", 1), ("RUNNING", 2), ("FAILED", 2), ("FAILED", 2)):
        seen(runner, handle, state, restarts)


def test_one_alone_may_be_last(stage: type[Played], runner: Any) -> None:
    """All other tasks have succeeded, and only the restarted one runs."""
    stage.script = {"a/0": [[0]], "a/1": [[2], [None, 0]]}
    handle = started(runner, app(a=(2, 1)))
    for state in ("RUNNING", "RUNNING", "SUCCEEDED"):
        seen(runner, handle, state, 1)


def test_no_tries_left(stage: type[Played], runner: Any) -> None:
    """The app has failed, and its running tasks are killed; a signal is a failure, too."""
    for code in (1, -9):
        stage.made.clear()
        stage.script = {"a/1": [[code]]}
        handle = started(runner, app(a=2, b=1))
        seen(runner, handle, "FAILED")
        killed = [task.killed for task in stage.made]
        assert killed == [1, 0, 1], f"code {code}: your code kills {killed}, expected [1, 0, 1]"


def test_failed_is_final(stage: type[Played], runner: Any) -> None:
    """A killed task is not restarted, although it has tries left."""
    stage.script = {"b/0": [[1]]}
    handle = started(runner, app(a=(1, 5), b=1))
    for _ in range(3):
        seen(runner, handle, "FAILED")
    starts = [task.starts for task in stage.made]
    assert starts == [1, 1], f"starts: yours {starts}, expected [1, 1]"


def test_one_without_tries_ends_the_others(stage: type[Played], runner: Any) -> None:
    """Two tasks fail between two looks, and one has no tries left: the app has failed."""
    for first, second in ((0, 3), (3, 0)):
        stage.made.clear()
        stage.script = {"a/0": [[1]], "b/0": [[1]]}
        handle = started(runner, app(a=(1, first), b=(1, second)))
        status = runner.status(handle)
        state, retries = status.state.name, (first, second)
        assert state == "FAILED", (
            f"both fail, with {retries} retries: your state is {state}, expected FAILED, as one "
            "has no tries left"
        )
        alive = [task.name for task in stage.made if task.code() is None]
        assert not alive, (
            f"both fail, with {retries} retries: your scheduler ended the app, but then restarts "
            f"{alive}; look at all codes before you act"
        )


def test_cancelled_is_final(stage: type[Played], runner: Any) -> None:
    """A cancelled app is not tried again."""
    handle = started(runner, app(a=(2, 5)))
    runner.cancel(handle)
    for _ in range(2):
        seen(runner, handle, "CANCELLED")
    starts = [task.starts for task in stage.made]
    assert starts == [1, 1], f"starts: yours {starts}, expected [1, 1]"


def test_each_has_its_own_tries(stage: type[Played], runner: Any) -> None:
    """Replicas share no retries: two have one each, a third has none. Nor do two apps share any."""
    stage.script = {"a/0": [[1], [0]], "a/1": [[1], [0]], "b/0": [[0]]}
    first, second = (started(runner, app(a=(2, 1), b=1)) for _ in range(2))
    seen(runner, first, "RUNNING", 2)
    seen(runner, second, "RUNNING", 2)
    stage.made[0].codes = [7]
    seen(runner, first, "FAILED", 2)
    seen(runner, second, "SUCCEEDED", 2)


@pytest.mark.time_limit(30)
def test_real_processes(tmp_path: Path, runner: Any) -> None:
    """The third try succeeds; a second app fails, and its sleeping task is killed."""
    program = "open('tries', 'a').write('x'); import sys; sys.exit(len(open('tries').read()) < 3)"
    made = app(a=(1, 2))
    role = made.roles[0]
    role.entrypoint, role.args = sys.executable, ["-S", "-c", program]
    handle = runner.run(made, "stubborn", {"folder": str(tmp_path)})
    status = runner.wait(handle, wait_interval=0.02)
    yours = status.state.name, status.num_restarts, (tmp_path / "tries").read_text("utf-8")
    assert yours == ("SUCCEEDED", 2, "xxx"), f"yours {yours}, expected ('SUCCEEDED', 2, 'xxx')"
    made = app(sleeper=1, a=1)
    made.roles[0].entrypoint, made.roles[0].args = "sleep", ["60"]
    made.roles[1].entrypoint, made.roles[1].args = "false", []
    handle = runner.run(made, "stubborn", {"folder": str(tmp_path)})
    status = runner.wait(handle, wait_interval=0.02)
    assert status.state.name == "FAILED", f"yours {status.state.name}, expected FAILED"
