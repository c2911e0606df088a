"""Forks the warm process for a run, and reads the journal of a fork that has ended."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.gate.file_trace import read_opened
from tests.gate.file_trace import watch
from tests.gate.protocol import Result
from tests.gate.protocol import Test
from tests.gate.recorder import Recorder


if TYPE_CHECKING:
    from plugins.tools.preload import Preload
    from tests.gate.protocol import Run


MEMORY = 8 << 30
TAIL = 6000


@dataclass
class Child:
    """A fork that is running."""

    pid: int
    run: Run
    folder: tempfile.TemporaryDirectory[str]
    started: float

    @property
    def late(self) -> bool:
        """Whether it has used up its wall time."""
        return time.monotonic() - self.started > self.run.wall_seconds


def kill(child: Child) -> None:
    """Kill a child and every process of its group."""
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(child.pid, signal.SIGKILL)


def start(run: Run, late: Preload) -> Child:
    """Fork a child that runs the session; `late` learns which modules it had to import."""
    folder = tempfile.TemporaryDirectory(prefix="gate-run-")
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            status = _session(run, Path(folder.name), late)
        finally:
            os._exit(status)
    return Child(pid, run, folder, time.monotonic())


def _session(run: Run, folder: Path, late: Preload) -> int:
    os.setsid()
    # The server's signal handlers do not apply to the child.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_CPU, (run.cpu_seconds, run.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in ("EXPECTTEST_ACCEPT", "PYTEST_ADDOPTS", "KATAS_SOLUTIONS", "KATAS_OVERLAY"):
        os.environ.pop(name, None)
    # Makes conftest.py leave out the plugins that only a learner's session needs.
    os.environ["KATAS_VERDICT"] = "1"
    if run.solutions:
        os.environ["KATAS_SOLUTIONS"] = "1"
    if run.overlay:
        os.environ["KATAS_OVERLAY"] = run.overlay
    os.chdir(run.root)
    sys.path.insert(0, run.root)
    watch(run.root, folder / "opened")
    with (folder / "journal").open("w", encoding="utf-8") as journal:
        recorder = Recorder(journal, run.shuffle, run.first)
        return int(pytest.main(arguments(run), plugins=[recorder, late]))


def arguments(run: Run) -> list[str]:
    """Return the command line of a run."""
    options = ["--rootdir", run.root, "-q", "--no-header", "-p", "no:cacheprovider", "--tb=short"]
    # The warm parent has imported them already, on purpose.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    if any(Path(test).is_absolute() for test in run.tests):
        # Of a package: the settings and plugins are not those beside it, but the course's.
        options += ["-c", f"{run.root}/pyproject.toml", "-p", "conftest"]
    if run.stop:
        options.append("-x")
    if run.shuffle is not None:
        options += ["--seed", str(run.shuffle), "--hypothesis-seed", str(run.shuffle)]
    return [*options, *run.tests]


def finish(child: Child, status: int, usage: resource.struct_rusage) -> Result:
    """Read the journal of a child that has ended."""
    timed_out = child.late
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    folder = Path(child.folder.name)
    tests: dict[tuple[str, str], Test] = {}
    collection, running, finished = "", "", False
    journal = folder / "journal"
    for line in journal.read_text("utf-8").splitlines() if journal.exists() else ():
        event = json.loads(line)
        collection += event.get("collection", "")
        running = event.get("start", running)
        finished = finished or "finished" in event
        if test := event.get("test"):
            found = Test(**{**test, "errors": tuple(test["errors"]), "via": tuple(test["via"])})
            # A failing teardown makes a test that passed fail.
            tests[found.module, found.name] = found
    output = folder / "output"
    tail = output.read_text("utf-8", "replace")[-TAIL:] if output.exists() else ""
    code = os.waitstatus_to_exitcode(status)
    opened = read_opened(folder / "opened")
    late = code == -signal.SIGXCPU or (timed_out and code == -signal.SIGKILL)
    crash = "" if finished or late else _named(code)
    child.folder.cleanup()
    return Result(
        tests=tuple(tests.values()),
        collection=collection,
        running=running if crash or late else "",
        crash=crash,
        timed_out=late,
        finished=finished and not late,
        seconds=time.monotonic() - child.started,
        cpu=usage.ru_utime + usage.ru_stime,
        output=tail,
        label=child.run.label,
        opened=opened,
    )


def _named(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"
