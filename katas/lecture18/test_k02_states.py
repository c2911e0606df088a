"""Tests of k02_states: the apps follow TorchX's rules, and run on TorchX if it is installed."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from katas.lecture18 import k02_states as kata
from plugins.kit import forbids


class Replica(NamedTuple):
    """What a replica does: it exits with `code` (negative: a signal), at once or after 4 s."""

    code: int
    slow: bool = False
    file: bool = False


# The replicas of each role, and how often TorchX is asked to retry them.
APPS: dict[str, dict[str, tuple[tuple[Replica, ...], int]]] = {
    "good": {"a": ((Replica(0),), 3)},
    "again": {"a": ((Replica(1),), 3)},
    "pair": {"a": ((Replica(1),), 3), "b": ((Replica(0, slow=True),), 0)},
    "error": {"a": ((Replica(0, file=True),), 0)},
    "signal": {"a": ((Replica(0, slow=True), Replica(-9)), 2)},
    "cancelled": {"a": ((Replica(0, slow=True),) * 2, 0)},
}
RULES = {
    "good": "what has ended is not running, and a success is not tried again",
    "again": "how many retries does the scheduler for local processes support?",
    "pair": "what is the state while one replica lives? And who stops the others?",
    "error": "which does the state depend on, the exit code or the file?",
    "signal": "what is the exit code of a process that a signal ends?",
    "cancelled": "somebody stopped it: that is a state of its own",
}
COLUMNS = ("the state after a second", "the state in the end", "the number of processes")


def by_the_rules(name: str) -> tuple[str, str, int]:
    """Return the local scheduler's answer: an app runs while a process does, without retries."""
    replicas = [replica for some, _ in APPS[name].values() for replica in some]
    end = "FAILED" if any(replica.code for replica in replicas) else "SUCCEEDED"
    first = "RUNNING" if any(replica.slow for replica in replicas) else end
    if name == "cancelled":
        first = end = "CANCELLED"
    return first, end, len(replicas)


def predicted() -> dict[str, list[str | int]]:
    """Return your table, read where neither torch nor TorchX can be imported."""
    __tracebackhide__ = True
    names = {"torchx", *(name for name in sys.modules if name.startswith("torchx."))}
    with patch.dict(sys.modules, dict.fromkeys(names)), forbids(kata) as fresh:
        # As text: a subclass of str may be equal to anything.
        try:
            first, second = (json.dumps(fresh.outcomes()) for _ in range(2))
        except ModuleNotFoundError as error:
            raise AssertionError(f"your code imports {error.name}: work it out on paper") from None
    assert second == first, f"called again, your code returns {second}, expected {first} as before"
    rows: dict[str, list[str | int]] = json.loads(first)
    return rows


def test_every_app_has_a_row() -> None:
    """Each app has two states and a number, worked out on paper."""
    yours = predicted()
    assert {*yours} == {*APPS}, f"yours has rows {sorted(yours)}, expected {sorted(APPS)}"
    odd = [
        row
        for row in yours.values()
        if len(row) != 3 or not {*row[:2]} <= {*kata.STATES} or not isinstance(row[2], int)
    ]
    assert not odd, f"expected two of {kata.STATES} and a number in each row: yours {odd}"


@pytest.mark.parametrize("name", APPS)
def test_app(name: str) -> None:
    """The prediction is what the scheduler would report."""
    rows = zip(COLUMNS, predicted()[name], by_the_rules(name), strict=True)
    wrong = [column for column, mine, right in rows if mine != right]
    assert not wrong, f"{name}: your row differs from TorchX's in {', '.join(wrong)}. {RULES[name]}"


# Records its start, waits for the file `go` if it is slow, records its end, and ends.
SCRIPT = """
import json, os, sys, time
name, number = sys.argv[1], int(sys.argv[3])
code, slow, file = json.loads(sys.argv[2])[number]
open(f"begun-{name}-{number}-{os.getpid()}", "w").close()
if file:
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as error:
        json.dump({"message": "it failed"}, error)
until = time.monotonic() + 30
while slow and not os.path.exists("go") and time.monotonic() < until:
    time.sleep(0.02)
open(f"done-{name}-{number}-{os.getpid()}", "w").close()
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


def until(what: str, count: int) -> None:
    """Wait until there are this many files."""
    end = time.monotonic() + 30
    while len([*Path().glob(what)]) < count and time.monotonic() < end:
        time.sleep(0.02)


@pytest.mark.backend("torchx")
@pytest.mark.time_limit(60)
def test_torchx_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All six apps run at once; a slow replica waits here until all other replicas have ended."""
    from torchx.runner import get_runner  # noqa: PLC0415 - may be missing
    from torchx.specs import AppDef  # noqa: PLC0415 - may be missing
    from torchx.specs import Role  # noqa: PLC0415 - may be missing

    yours = {name: tuple(row) for name, row in predicted().items()}
    monkeypatch.chdir(tmp_path)
    Path("task.py").write_text(SCRIPT, encoding="utf-8")
    with get_runner() as runner:
        handles, states = {}, {}
        for name, roles in APPS.items():
            app = AppDef(name)
            for role, (replicas, retries) in roles.items():
                args = ["task.py", f"{name}-{role}", json.dumps(replicas), "${replica_id}"]
                app.roles.append(
                    Role(
                        role,
                        image="",
                        entrypoint=sys.executable,
                        args=args,
                        num_replicas=len(replicas),
                        max_retries=retries,
                    )
                )
            handles[name] = runner.run(app, "local_cwd", {"log_dir": str(tmp_path / "logs")})
        until("begun-*", 9)
        until("done-*", 5)
        runner.cancel(handles["cancelled"])
        # A process that has recorded its end is about to end.
        time.sleep(0.3)
        for when in ("after a second", "in the end"):
            states[when] = {n: runner.status(handle).state.name for n, handle in handles.items()}
            Path("go").touch()
            until("done-*", 7)
            for handle in handles.values():
                runner.wait(handle, wait_interval=0.05)
        begun = {name: len([*Path().glob(f"begun-{name}-*")]) for name in APPS}
    for name in APPS:
        seen = (states["after a second"][name], states["in the end"][name], begun[name])
        assert seen == yours[name], f"{name}: yours {yours[name]}, but TorchX says otherwise"
