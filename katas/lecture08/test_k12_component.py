"""Tests of k12_component: TorchX reads the component, and runs the app it returns."""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING
from typing import Any

import pytest

from katas.lecture08 import k12_component as kata


if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.backend("torchx")
# A replica prints its arguments and what it found in the environment. It is slow on purpose,
# so that a runner closed too early is noticed. Replica 1 fails only when replica 0 is done, so that
# both have printed all lines.
SCRIPT = """
import os, sys, time
time.sleep(0.3)
print("told", *sys.argv[1:])
print("world", os.environ["WORLD_SIZE"], flush=True)
print("a warning", file=sys.stderr)
if "--fail" in sys.argv:
    if sys.argv[4] == "0":
        open("done", "w").close()
    while not os.path.exists("done"):
        time.sleep(0.01)
    sys.exit(sys.argv[4] == "1")
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the path of the script, in the working directory; no Slurm program is there."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in ("sbatch", "sinfo", "srun"):
        program = bin_ / name
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/called-$(basename $0)\nexit 1\n", "utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_), prepend=":")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "fit.py"
    file.write_text(SCRIPT, encoding="utf-8")
    return str(file)


def from_words(*words: str) -> Any:
    """Let TorchX call the component with the words of a command line."""
    from torchx.specs.builders import materialize_appdef  # noqa: PLC0415 - may be missing

    return materialize_appdef(kata.trainer, list(words))


def command(app: Any) -> list[str]:
    """Return entrypoint and arguments of the only role."""
    (role,) = app.roles
    return [role.entrypoint, *role.args]


@pytest.mark.given
def test_torchx_takes_the_component() -> None:
    """TorchX's check wants a type for each parameter, and an AppDef as the result."""
    from torchx.specs.file_linter import validate  # noqa: PLC0415 - may be missing

    assert kata.__file__
    assert not validate(kata.__file__, "trainer"), "TorchX's linter rejects the component"


def test_the_app() -> None:
    """Called from Python, the component returns one role and its replicas."""
    app = kata.trainer("fit.py", replicas=3)
    names = [app.name, *((role.name, role.image, role.num_replicas) for role in app.roles)]
    right = ["training", ("trainer", ".", 3)]
    assert right == names, f"app and roles: yours {names}, expected {right}"
    again = kata.trainer("fit.py", replicas=1)
    assert [1, 3] == [again.roles[0].num_replicas, app.roles[0].num_replicas], (
        "a second call changed the first app; expected a new AppDef for each call"
    )


def test_its_command() -> None:
    """The replica's number is not known yet, so a macro takes its place."""
    yours = command(kata.trainer("fit.py", "--fast", "7", lr=1.2345678))
    own = ["--lr", "1.2345678", "--rank", "${replica_id}"]
    right = [sys.executable, "fit.py", *own, "--fast", "7"]
    assert right == yours, f"yours    {yours}\nexpected {right}"


def test_words_become_types() -> None:
    """TorchX turns "4" into an int and "1e-3" into a float, and leaves the words after -- alone."""
    app = from_words("--script", "fit.py", "--replicas", "4", "--lr", "1e-3", "--", "--lr", "x")
    role = app.roles[0]
    right = [sys.executable, "fit.py", "--lr", "0.001", "--rank", "${replica_id}", "--lr", "x"]
    assert 4 == role.num_replicas, f"replicas: yours {role.num_replicas!r}, expected 4"
    assert right == command(app), f"yours    {command(app)}\nexpected {right}"
    world = role.env.get("WORLD_SIZE")
    assert world == "4", (
        f"WORLD_SIZE: yours {world!r}, expected '4', since environment variables are strings"
    )


def test_defaults() -> None:
    """Options missing from the command line default to two replicas and a rate of 0.1."""
    app = from_words("--script", "fit.py")
    found = (app.roles[0].num_replicas, app.roles[0].env, command(app)[2:4])
    right = (2, {"WORLD_SIZE": "2"}, ["--lr", "0.1"])
    assert right == found, f"yours {found}, expected {right}"


def test_two_replicas_run_here(script: str, tmp_path: Path) -> None:
    """Each replica gets its own number, and its own lines are returned."""
    app = kata.trainer(script, "--fast", replicas=2)
    state, lines = kata.run_here(app, str(tmp_path / "logs"))
    lines = {key: [line.rstrip("\n") for line in each] for key, each in lines.items()}
    right = {f"trainer/{k}": [f"told --lr 0.1 --rank {k} --fast", "world 2"] for k in range(2)}
    assert state == "SUCCEEDED", f"state: yours {state!r}, expected 'SUCCEEDED'; lines: {lines}"
    assert right.keys() == lines.keys(), f"replicas: yours {[*lines]}, expected {[*right]}"
    for key, expected in right.items():
        unlike = lines[key] != expected
        assert not unlike, f"{key}: yours {lines[key]}, expected {expected}, standard output only"
    logs = sorted(file.name for file in (tmp_path / "logs").rglob("stdout.log"))
    assert len(logs) == 2, f"logs in log_dir: yours {logs}, expected one for each replica"


def test_waits_without_a_long_sleep(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Poll more often than every ten seconds, which is meant for a cluster."""
    import torchx.runner.api  # noqa: PLC0415 - may be missing

    slept: list[float] = []
    real = torchx.runner.api.time.sleep

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        real(min(seconds, 0.2))

    monkeypatch.setattr(torchx.runner.api.time, "sleep", sleep)
    kata.run_here(kata.trainer(script, replicas=1), str(tmp_path / "logs"))
    assert max(slept, default=0) <= 0.5, (
        f"your runner sleeps {max(slept)} s at a time, expected 0.1"
    )


def test_a_replica_that_fails(script: str, tmp_path: Path) -> None:
    """If a replica fails, so does the app; its lines are still returned."""
    app = kata.trainer(script, "--fail", replicas=2)
    state, lines = kata.run_here(app, str(tmp_path / "logs"))
    assert state == "FAILED", f"replica 1 exits with 1: yours {state!r}, expected 'FAILED'"
    assert [2, 2] == [len(each) for each in lines.values()], (
        f"yours {lines}, expected two lines from each replica"
    )


def test_every_role_is_read(script: str, tmp_path: Path) -> None:
    """An app may have several roles, each with its own number of replicas."""
    first, second = (kata.trainer(script, replicas=n) for n in (1, 2))
    second.roles[0].name = "judge"
    first.roles += second.roles
    _, lines = kata.run_here(first, str(tmp_path / "logs"))
    right = ["trainer/0", "judge/0", "judge/1"]
    assert right == list(lines), f"yours {list(lines)}, expected {right}"
    told = [each[0].split()[4] for each in lines.values()]
    assert ["0", "0", "1"] == told, f"ranks: yours {told}, expected 0, 0, 1"


def test_the_runner_is_closed(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing kills running replicas, and removes the folders TorchX made for logs."""
    from torchx.runner import Runner  # noqa: PLC0415 - may be missing

    calls: list[str] = []
    for name in ("schedule", "close"):
        original = getattr(Runner, name)

        def spy(self: Any, *args: Any, original: Any = original, name: str = name) -> Any:
            calls.append(name)
            return original(self, *args)

        monkeypatch.setattr(Runner, name, spy)
    kata.run_here(kata.trainer(script, replicas=1), str(tmp_path / "logs"))
    assert ["schedule", "close"] == calls, (
        f"your calls are {calls}, expected one schedule and then one close"
    )


def test_the_app_stays_as_it_is(script: str, tmp_path: Path) -> None:
    """TorchX writes this machine's PATH into the roles; without a copy, Slurm would get it."""
    app = kata.trainer(script)
    before = copy.deepcopy(app)
    for name, *options in (("run_here", str(tmp_path / "logs")), ("sbatch_script",)):
        getattr(kata, name)(app, *options)
        more = sorted(set(app.roles[0].env) - set(before.roles[0].env))
        assert not more, (
            f"{name} leaves {more} in the env of your app's role, expected an unchanged env: pass"
            " TorchX a copy whose roles are copies too"
        )
        same = before == app
        assert same, f"{name} changed the app, expected it unchanged"


def test_the_script_for_slurm(script: str) -> None:
    """There is a job for each replica, and macros are replaced for Slurm."""
    text = kata.sbatch_script(kata.trainer(script, "--fast", replicas=3))
    first = text.partition("\n")[0]
    assert first == "#!/bin/bash", (
        f"the first line of the script: yours {first!r}, expected '#!/bin/bash'"
    )
    jobs = [line for line in text.splitlines() if "--job-name=" in line]
    assert len(jobs) == 3, f"jobs in the script: yours {len(jobs)}, expected 3\n{text}"
    for k in range(3):
        words = f"{script} --lr 0.1 --rank {k} --fast"
        assert words in text, f"expected {words!r} in yours:\n{text}"
    assert "WORLD_SIZE=3" in text, f"expected WORLD_SIZE=3 in yours:\n{text}"


def test_nothing_is_submitted(script: str, tmp_path: Path) -> None:
    """At most, a dry run asks Slurm for its partitions."""
    kata.sbatch_script(kata.trainer(script))
    assert not (tmp_path / "called-sbatch").exists(), (
        "your function called sbatch, expected a dry run"
    )


def test_another_app_for_slurm(script: str) -> None:
    """With another role and variable the script is TorchX's, line by line."""
    from torchx.runner import get_runner  # noqa: PLC0415 - may be missing

    app = kata.trainer(script, replicas=1)
    app.roles[0].name, app.roles[0].env["KATA"] = "judge", "8"
    yours = kata.sbatch_script(app)
    with get_runner() as runner:
        right = runner.dryrun(app, "slurm").request.materialize()
    assert yours == right, f"a role called judge: yours\n{yours}\nTorchX's\n{right}"
