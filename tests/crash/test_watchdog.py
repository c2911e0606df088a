"""The limits of a process that runs tests, and who ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.journal import Journal
from plugins.journal import Writer
from plugins.stacks import Stack
from plugins.verdict import Death
from plugins.verdict import Stop
from plugins.watchdog import GRACE
from plugins.watchdog import Watch
from plugins.watchdog import allowance
from plugins.watchdog import taken


if TYPE_CHECKING:
    from collections.abc import Iterator


class Deaf:
    """A process that takes no notice of what it is sent, and the journal that it writes."""

    def __init__(self, folder: Path, memory: int = 0) -> None:
        self.journal = Journal(folder, "0")
        self.writer = Writer(self.journal)
        self.sent: list[int] = []
        self.watch = Watch(self.journal, memory, os.getpid())
        setattr(self.watch, "send", self.sent.append)  # noqa: B010 - mypy knows the method

    def test_begins(self, limit: float | None = None) -> None:
        """Begin a test."""
        self.writer.write("test", nodeid="a.py::test_it")
        self.writer.write("phase", phase="call", limit=limit)
        self.watch.look()


@pytest.fixture
def deaf(tmp_path: Path) -> Deaf:
    """A process without a limit of its memory."""
    return Deaf(tmp_path)


def test_a_test_that_runs_too_long_is_stopped(deaf: Deaf) -> None:
    """It may write its stack first; then nothing helps it."""
    deaf.test_begins(limit=5.0)
    deaf.watch.look(4.0)
    assert [] == deaf.sent

    deaf.watch.look(2.0)
    assert [signal.SIGABRT] == deaf.sent
    assert Stop("time", "5 s") == deaf.watch.stop

    deaf.watch.look(GRACE)
    assert [signal.SIGABRT] == deaf.sent

    deaf.watch.look(1.0)
    assert [signal.SIGABRT, signal.SIGKILL] == deaf.sent


def test_each_phase_has_its_time(deaf: Deaf) -> None:
    """What has happened before does not count; without a limit it may take for ever."""
    deaf.test_begins(limit=5.0)
    deaf.watch.look(4.0)
    deaf.writer.write("phase", phase="teardown", limit=5.0)
    deaf.watch.look(4.0)
    deaf.watch.look(4.0)
    deaf.writer.write("tested", phase=None, limit=None)
    deaf.watch.look(0.0)
    deaf.watch.look(1e9)

    assert [] == deaf.sent


def test_a_debugger_stops_the_clock(deaf: Deaf) -> None:
    """And Ctrl-C in it is its own affair."""
    deaf.test_begins(limit=5.0)
    deaf.writer.write("debugged", debugged=True)
    deaf.watch.look(0.0)
    deaf.watch.interrupt()
    deaf.watch.look(1e9)

    assert [] == deaf.sent


def test_ctrl_c_is_passed_on_and_then_enforced(deaf: Deaf) -> None:
    """Once to who may not have got it; then the test is stopped."""
    deaf.test_begins()
    deaf.watch.interrupt()
    deaf.watch.look(GRACE / 4)
    deaf.watch.interrupt()
    assert [] == deaf.sent

    deaf.watch.look(GRACE)
    deaf.watch.look(GRACE)
    assert [signal.SIGINT] == deaf.sent

    deaf.watch.look(GRACE)
    assert [signal.SIGINT, signal.SIGABRT] == deaf.sent
    assert Stop("interrupt") == deaf.watch.stop


def test_a_session_that_is_interrupted_ends_in_its_time(deaf: Deaf) -> None:
    """But its process must end some time after that."""
    deaf.test_begins(limit=5.0)
    deaf.watch.interrupt()
    deaf.writer.write("interrupted", interrupted=True)
    deaf.watch.look(0.0)
    deaf.watch.look(1e9)
    assert [] == deaf.sent

    deaf.writer.write("finished", status=2, limit=5.0)
    deaf.watch.look(0.0)
    deaf.watch.look(6.0)
    assert [signal.SIGABRT] == deaf.sent


def test_a_test_that_takes_too_much_memory_is_stopped(tmp_path: Path) -> None:
    """While it runs, not before; this process takes more than a MiB."""
    deaf = Deaf(tmp_path, memory=1 << 20)
    deaf.watch.look()
    assert [] == deaf.sent

    deaf.test_begins()
    assert Stop("memory", "0.0 GiB") == deaf.watch.stop


def test_who_has_not_said_its_name_is_not_watched(tmp_path: Path) -> None:
    """A worker of xdist that is starting."""
    watch = Watch(Journal(tmp_path, "gw0"), 1)
    watch.look(1e9)

    assert 0 == watch.process
    assert watch.stop is None


def test_a_process_that_is_gone_gets_no_signal(tmp_path: Path) -> None:
    """It may end at any moment."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    watch = Watch(Journal(tmp_path, "0"), 0, process.pid)

    watch.send(signal.SIGKILL)

    assert 0 == taken(process.pid)


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process that waits, and is not still being started."""
    command = [sys.executable, "-c", "input('ready')"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert b"ready" == process.stdout.read(5)
    yield process.pid
    process.communicate(b"\n")


def test_memory_is_what_the_system_says(sleeper: int, tmp_path: Path) -> None:
    """From ``/proc``, or from ``ps`` where there is none."""
    some = 1 << 20

    assert some < taken(sleeper)
    assert some < taken(sleeper, tmp_path / "nothing")
    assert 0 == taken(2**22 + 1, tmp_path / "nothing")


def test_memory_is_shared_by_workers() -> None:
    """A share of the machine's, divided."""
    assert 500 == allowance("50%", 1000)
    assert 250 == allowance(" 50% ", 1000, 2)
    assert 0 == allowance("0%", 1000)
    with pytest.raises(ValueError, match="kata_memory: expected a share such as 50%, found '4'"):
        allowance("4", 1000)


def test_a_phase_that_is_reported_is_over(deaf: Deaf) -> None:
    """A crash after the report of the call is one of the tear-down."""
    deaf.test_begins()
    death = Death(-signal.SIGABRT, Stack())
    assert "call" == deaf.watch.crash(death, Path()).when

    deaf.writer.write("report", report={"when": "call"})
    deaf.watch.look()
    assert "teardown" == deaf.watch.crash(death, Path()).when
