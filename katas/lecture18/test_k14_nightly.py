"""Tests of k14_nightly: short shell jobs that fail in many ways, and two ranks with torchrun."""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from katas.lecture18 import k14_nightly as kata
from katas.lecture18.k14_nightly import Registry
from katas.lecture18.k14_nightly import Stage
from katas.lecture18.k14_nightly import StageError


pytestmark = [pytest.mark.backend("torchx"), pytest.mark.time_limit(30)]
one = pytest.mark.step(1, "the app")
two = pytest.mark.step(2, "run and wait")
three = pytest.mark.step(3, "stage after stage")
four = pytest.mark.step(4, "promote")
five = pytest.mark.step(5, "the night")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter an empty folder; torchrun is found next to this Python."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)


def job(words: str, name: str = "job", *, replicas: int = 1) -> Any:
    """Return an app that runs a shell command in each replica."""
    from torchx.specs import AppDef  # noqa: PLC0415 - may be missing
    from torchx.specs import Role  # noqa: PLC0415 - may be missing

    role = Role("part", image="", entrypoint="sh", args=["-c", words], num_replicas=replicas)
    return AppDef(name, roles=[role])


def stage(name: str, words: str) -> Stage:
    """Return a stage whose output is a file in this folder with the stage's name."""
    return Stage(job(f"echo {name} >> ran; {words}", name), Path(name))


def ran() -> list[str]:
    """Return which stages have run."""
    return Path("ran").read_text(encoding="utf-8").split() if Path("ran").exists() else []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run the jobs of `chain` without TorchX, and return the list of requested schedulers."""
    asked: list[str] = []

    def run(app: Any, scheduler: str) -> None:
        asked.append(scheduler)
        (role,) = app.roles
        if subprocess.run([role.entrypoint, *role.args], check=False).returncode:  # noqa: S603
            raise StageError(f"{app.name} has failed")

    monkeypatch.setattr(kata, "run", run)
    return asked


def same(yours: object, expected: object, why: str) -> None:
    """Compare results."""
    __tracebackhide__ = True
    assert yours == expected, f"{why}\nyours    {yours!r}\nexpected {expected!r}"


def fails(call: Any) -> str:
    """Return the message of the StageError that a call raises."""
    __tracebackhide__ = True
    try:
        call()
    except StageError as error:
        return str(error)
    raise AssertionError("no StageError: your code takes a failed stage for a success")


@one
def test_the_app_of_two_ranks() -> None:
    """The app is the one of dist.ddp: torchrun on one host, with two ranks."""
    app = kata.trainer("fit.py", "--out", "a b")
    (role,) = app.roles
    command = role.args[-1]
    same(role.num_replicas, 1, "hosts")
    for words in ("torchrun", "--nproc_per_node 2", "fit.py --out 'a b'"):
        assert words in command, f"expected {words!r} in the command, yours {command!r}"


@one
def test_more_ranks() -> None:
    """The app has the requested number of ranks, still on one host."""
    (role,) = kata.trainer("fit.py", ranks=3).roles
    assert "--nproc_per_node 3" in role.args[-1], f"3 ranks: your command is {role.args[-1]!r}"
    same(role.num_replicas, 1, "hosts")


@two
def test_run_waits() -> None:
    """When `run` returns, the job has ended."""
    kata.run(job("sleep 0.3; echo 1 > done"), "local_cwd")
    assert Path("done").exists(), (
        "the job writes a file when it finishes, but your code has not waited for it"
    )


@two
def test_a_failure_has_last_words() -> None:
    """The error contains the app's name and each replica's last lines."""
    words = "echo early >&2; for n in 1 2 3 4; do echo line $n >&2; done; echo boom >&2; exit 3"
    try:
        told = fails(lambda: kata.run(job(words, "nocturne"), "local_cwd"))
    except FileNotFoundError as error:
        raise AssertionError(
            "the job's log has been removed: does your code read it after closing the runner?"
        ) from error
    for part in ("nocturne", "[part/0] boom", "[part/0] line 1"):
        assert part in told, (
            f"expected {part!r} in the message of the StageError, yours is:\n{told}"
        )
    assert "early" not in told, f"expected only the last {kata.LINES} lines, yours is:\n{told}"


@two
def test_the_app_stays_as_it_is() -> None:
    """TorchX mutates the roles it gets: another scheduler would get this machine's variables."""
    app = job("true")
    before = copy.deepcopy(app)
    kata.run(app, "local_cwd")
    same(app.roles[0].env, before.roles[0].env, "the env of the app's role, after a run")
    same(app == before, True, "the app is what it was")  # noqa: FBT003 - expected


class Spy:
    """Records the calls of a runner's methods, and who closed it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from torchx.runner import Runner  # noqa: PLC0415 - may be missing

        self.calls: list[str] = []
        self.schedulers: list[str] = []
        self.waits: list[float] = []
        for name in ("schedule", "wait", "cancel", "close"):
            monkeypatch.setattr(Runner, name, self.noting(getattr(Runner, name), name))

    def noting(self, original: Any, name: str) -> Any:
        """Return the method, which records its calls."""

        def spied(runner: Any, *args: Any, **kwargs: Any) -> Any:
            names = {frame.name for frame in traceback.extract_stack()}
            if "__del__" not in names:
                self.calls.append(name)
            if name == "schedule":
                self.schedulers.append(args[0]._scheduler)  # noqa: SLF001 - what it is for
            if name == "wait":
                self.waits.append(kwargs.get("wait_interval", [*args, 10][1]))
            return original(runner, *args, **kwargs)

        return spied


@two
@pytest.mark.parametrize("words", ["true", "exit 1"])
def test_the_runner_is_closed(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` closes the runner whether the job succeeds or fails; it does not leave that to gc."""
    spy = Spy(monkeypatch)
    try:
        kata.run(job(words), "local_cwd")
    except StageError:
        calls = [*spy.calls]  # while the traceback still holds the runner
    else:
        calls = [*spy.calls]
    same(calls, ["schedule", "wait", "close"], f"what was called of the runner, for {words!r}")
    assert max(spy.waits) <= 0.5, (
        f"your code polls every {max(spy.waits)} s, expected every {kata.POLL} s"
    )


@two
@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError])
def test_an_interrupt_cancels(fault: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during the wait cancels the job; on a cluster it would otherwise go on."""
    from torchx.runner import Runner  # noqa: PLC0415 - may be missing

    def wait(*_args: Any, **_kwargs: Any) -> None:
        raise fault

    monkeypatch.setattr(Runner, "wait", wait)
    spy = Spy(monkeypatch)
    try:
        kata.run(job("sleep 20"), "local_cwd")
    except fault:
        calls = [*spy.calls]
    else:
        raise AssertionError(f"the {fault.__name__} must propagate out of run")
    same(calls, ["schedule", "wait", "cancel", "close"], f"{fault.__name__} while it waits")


@two
def test_a_state_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler has forgotten the job: that is not a success."""
    from torchx.runner import Runner  # noqa: PLC0415 - may be missing

    original = Runner.wait

    def forgotten(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)

    monkeypatch.setattr(Runner, "wait", forgotten)
    fails(lambda: kata.run(job("true"), "local_cwd"))


@two
def test_a_job_that_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job cancelled by somebody else, or by the cluster, is not FAILED, but did not succeed."""
    from torchx.runner import Runner  # noqa: PLC0415 - may be missing
    from torchx.specs import AppState  # noqa: PLC0415 - may be missing
    from torchx.specs import AppStatus  # noqa: PLC0415 - may be missing

    original = Runner.wait

    def cancelled(*args: Any, **kwargs: Any) -> AppStatus:
        original(*args, **kwargs)
        return AppStatus(AppState.CANCELLED)

    monkeypatch.setattr(Runner, "wait", cancelled)
    try:
        kata.run(job("true"), "local_cwd")
    except StageError:
        return
    raise AssertionError("wait returns the state CANCELLED: expected a StageError")


@two
def test_a_job_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler's error propagates, and the runner is closed in this case too."""
    from torchx.runner import Runner  # noqa: PLC0415 - may be missing

    def schedule(*_args: Any, **_kwargs: Any) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(Runner, "schedule", schedule)
    spy = Spy(monkeypatch)
    try:
        kata.run(job("true"), "local_cwd")
    except OSError:
        calls = [*spy.calls]  # while the traceback still holds the runner
    else:
        raise AssertionError("the scheduler's error must propagate out of run")
    same(calls, ["schedule", "close"], "the start raises; is `run` called where close follows?")


@two
def test_the_scheduler_is_the_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown name is TorchX's error; no other scheduler is used."""
    spy = Spy(monkeypatch)
    with pytest.raises(KeyError, match="nowhere"):
        kata.run(job("true"), "nowhere")
    assert "schedule" not in spy.calls, (
        "the scheduler 'nowhere' was asked for, but your code ran the job"
    )
    kata.run(job("true"), "local_cwd")


@three
def test_stages_in_order() -> None:
    """Each stage sees the previous stage's output."""
    kata.chain(
        [stage("a", "echo 1 > a"), stage("b", "cat a a > b"), stage("c", "cat b b > c")],
        "local_cwd",
    )
    same(ran(), ["a", "b", "c"], "the stages that ran")
    same(Path("c").read_text(encoding="utf-8").split(), ["1"] * 4, "the output of the last")


@three
@pytest.mark.usefixtures("quick")
def test_a_failure_stops_the_chain() -> None:
    """The stages after a failure do not run, even if their input exists."""
    stages = [
        stage("first", "echo 1 > first"),
        stage("broken", "echo 1 > broken; exit 2"),
        stage("last", "cp first last"),
    ]
    told = fails(lambda: kata.chain(stages, "local_cwd"))
    same(ran(), ["first", "broken"], "the stages that ran")
    assert "broken" in told, f"expected the name of the app in the message, yours {told!r}"


@three
@pytest.mark.usefixtures("quick")
def test_no_file_of_yesterday() -> None:
    """A stage that writes nothing has failed, even if last night's output existed."""
    Path("silent").write_text("yesterday", encoding="utf-8")
    stages = [
        stage("first", "echo 1 > first"),
        stage("silent", "true"),
        stage("last", "cp silent last"),
    ]
    told = fails(lambda: kata.chain(stages, "local_cwd"))
    same(ran(), ["first", "silent"], "the stages that ran; silent wrote nothing")
    assert not Path("silent").exists(), "yesterday's output of the stage silent is still there"
    assert "silent" in told, f"expected the missing file in the message, yours {told!r}"


@three
@pytest.mark.usefixtures("quick")
def test_outputs_are_removed_before_anything_runs() -> None:
    """If the first stage fails, nobody mistakes last night's model for tonight's."""
    for name in ("a", "b"):
        Path(name).write_text("yesterday", encoding="utf-8")
    fails(lambda: kata.chain([stage("a", "exit 1"), stage("b", "true")], "local_cwd"))
    left = [name for name in ("a", "b") if Path(name).exists()]
    same(left, [], "outputs of last night that are there after a failed night")


@four
def test_the_first_champion() -> None:
    """The first model becomes the champion, whatever its loss, unless it is NaN."""
    registry = Registry()
    same(kata.promote(registry, b"0", math.nan), False, "a loss of NaN")  # noqa: FBT003 - expected
    same(registry.aliases, {}, "the aliases after a loss of NaN")
    same(kata.promote(registry, b"a", math.inf), True, "the first loss that is a number")  # noqa: FBT003
    same(registry.aliases, {"champion": 2}, "the aliases")
    same(registry.models, {1: b"0", 2: b"a"}, "the models: both are registered")


@four
def test_a_lower_loss_wins() -> None:
    """An equal loss, a higher loss and NaN do not win; all models are registered."""
    registry = Registry()
    losses = [0.5, 0.6, 0.5, math.nan, 0.4, 0.45, 0.3]
    yours = [kata.promote(registry, b"%d" % n, loss) for n, loss in enumerate(losses)]
    expected = [True, False, False, False, True, False, True]
    same(yours, expected, f"whether each was promoted, of the losses {losses}")
    same(registry.aliases, {"champion": 7}, "the champion")
    same(len(registry.models), 7, "how many are registered")
    same([registry.losses[n] for n in (1, 5, 7)], [0.5, 0.4, 0.3], "losses of versions 1, 5, 7")


@four
def test_a_champion_of_before_is_back() -> None:
    """Somebody moved the alias back to version 1: a new model must beat that, not version 2."""
    registry = Registry({1: b"a", 2: b"b"}, {1: 0.5, 2: 0.3}, {"champion": 1})
    yours = kata.promote(registry, b"c", 0.4)
    same(yours, True, "0.4 against the champion's 0.5; 0.3 is the loss of another version")  # noqa: FBT003
    same(registry.aliases, {"champion": 3}, "the champion")
    same(len(registry.models), 3, "how many are registered")


def night(loss: str, model: str = "m") -> list[Stage]:
    """Return three stages: data, a model, and its loss."""
    return [
        stage("data", "echo 1 > data"),
        stage("model", f"printf {model} > model"),
        stage("loss", f"{loss}"),
    ]


@five
@pytest.mark.usefixtures("quick")
def test_three_nights() -> None:
    """The second night's model is worse, and the third night's is better."""
    registry = Registry()
    yours = [
        kata.nightly(registry, night(f"echo {loss} > loss", model))
        for loss, model in (("0.5", "mon"), ("0.7", "tue"), ("2.5e-1", "wed"))
    ]
    same(yours, [True, False, True], "whether each night's model is the champion")
    same(registry.models, {1: b"mon", 2: b"tue", 3: b"wed"}, "the models")
    same(registry.losses, {1: 0.5, 2: 0.7, 3: 0.25}, "their losses, as floats")
    same(registry.aliases, {"champion": 3}, "the champion")


@five
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("loss", "error"),
    [("exit 1", StageError), ("true", StageError), ("echo oops > loss", ValueError)],
)
def test_a_night_that_fails(loss: str, error: type[Exception]) -> None:
    """The registry does not change: no new version, and the same champion."""
    registry = Registry({1: b"old"}, {1: 0.9}, {"champion": 1})
    before = copy.deepcopy(registry)
    try:
        yours = kata.nightly(registry, night(loss))
    except error:
        pass
    else:
        raise AssertionError(
            f"the last stage is {loss!r}: your code returns {yours}, expected {error.__name__}"
        )
    same(registry, before, f"the registry after a night whose last stage was {loss!r}")


@five
@pytest.mark.usefixtures("quick")
def test_a_night_of_nan() -> None:
    """NaN is a float: the model is registered, but does not become the champion."""
    registry = Registry()
    yours = kata.nightly(registry, night("echo nan > loss"))
    same(yours, False, "the loss is the text nan")  # noqa: FBT003 - expected
    same(registry.models, {1: b"m"}, "the models: it is registered")
    same(registry.aliases, {}, "the aliases")


@five
def test_another_scheduler(quick: list[str]) -> None:
    """Changing only the argument makes each stage run on that scheduler."""
    kata.nightly(Registry(), night("echo 1 > loss"), "slurm")
    same(quick, ["slurm"] * 3, "the schedulers of three stages, for nightly(..., 'slurm')")
    quick.clear()
    kata.nightly(Registry(), night("echo 1 > loss"))
    same(quick, ["local_cwd"] * 3, "the schedulers of three stages if none is named")


# Two ranks without torch, whose import takes seconds in each: rank 1 leaves its part of the sum in
# a file. torchrun itself imports it.
FIT = """
import json, os, pathlib, sys, time
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
part = sum(range(10)[rank::ranks])
if rank:
    pathlib.Path("part.new").write_text(str(part))
    pathlib.Path("part.new").rename("part")
else:
    while not pathlib.Path("part").exists():
        time.sleep(0.01)
    total = part + int(pathlib.Path("part").read_text())
    pathlib.Path(sys.argv[1]).write_text(json.dumps([total, ranks]))
"""
JUDGE = "import json; print(json.load(open('model.json'))[0] / 90)"


@five
@pytest.mark.time_limit(120)
def test_two_ranks_by_torchrun() -> None:
    """Both ranks start under torchrun: each sums its half, and rank 0 writes the model."""
    Path("fit.py").write_text(FIT, encoding="utf-8")
    registry = Registry()
    stages = [
        Stage(kata.trainer("fit.py", "model.json"), Path("model.json")),
        Stage(job(f'{sys.executable} -c "{JUDGE}" > loss', "judge"), Path("loss")),
    ]
    yours = kata.nightly(registry, stages)
    same(yours, True, "the first model is the champion")  # noqa: FBT003 - expected
    same(json.loads(registry.models[1]), [45, 2], "the sum of 0 to 9, and how many ranks")
    same(registry.losses, {1: 0.5}, "its loss")
