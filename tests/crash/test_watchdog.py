"""The limits of a process that runs tests, and how it is stopped."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from plugins.crash.journal import Journal
from plugins.crash.journal import Writer
from plugins.crash.stacks import Stack
from plugins.crash.verdict import Death
from plugins.crash.verdict import Stop
from plugins.crash.watchdog import Watch
from plugins.tools.processes import GRACE
from plugins.tools.processes import memory_of


class Deaf:
    """A process that ignores signals, and the journal that it writes."""

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
    """A process without a memory limit."""
    return Deaf(tmp_path)


def test_a_test_that_runs_too_long_is_stopped(deaf: Deaf) -> None:
    """It gets time to write its stack, and is then killed."""
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
    """Earlier phases do not count; without a limit a phase may take forever."""
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
    """It also handles Ctrl-C itself."""
    deaf.test_begins(limit=5.0)
    deaf.writer.write("debugged", debugged=True)
    deaf.watch.look(0.0)
    deaf.watch.interrupt()
    deaf.watch.look(1e9)

    assert [] == deaf.sent


def test_ctrl_c_is_passed_on_and_then_enforced(deaf: Deaf) -> None:
    """It is sent once to a process that may not have got it; then the test is stopped."""
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
    """But its process must end within the limit after that."""
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
    """While the test runs, not before; this process takes more than a MiB."""
    deaf = Deaf(tmp_path, memory=1 << 20)
    deaf.watch.look()
    assert [] == deaf.sent

    deaf.test_begins()
    assert Stop("memory", "0.0 GiB") == deaf.watch.stop


def test_a_process_without_a_number_is_not_watched(tmp_path: Path) -> None:
    """A worker of xdist that is starting has not written it yet."""
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

    assert 0 == memory_of(process.pid)


def test_a_phase_that_is_reported_is_over(deaf: Deaf) -> None:
    """A crash after the report of the call is one of the teardown."""
    deaf.test_begins()
    death = Death(-signal.SIGABRT, Stack())
    assert "call" == deaf.watch.crash(death, Path()).when

    deaf.writer.write("report", report={"when": "call"})
    deaf.watch.look()
    assert "teardown" == deaf.watch.crash(death, Path()).when


def test_a_process_whose_journal_is_lost_has_no_limits(deaf: Deaf) -> None:
    """Where it is nobody knows; one that is being stopped is stopped."""
    deaf.test_begins(limit=5.0)
    deaf.writer.give_up(OSError(errno.ENOSPC, "full"))
    deaf.watch.look(1e9)
    assert ([], None) == (deaf.sent, deaf.watch.stop)

    deaf.watch.stop = Stop("time", "5 s")
    deaf.watch.look(GRACE + 1)
    assert [signal.SIGKILL] == deaf.sent


def test_ctrl_c_is_noted_without_a_journal(deaf: Deaf) -> None:
    """A process that responds is not sent it again."""
    deaf.writer.give_up(OSError(errno.ENOSPC, "full"))
    deaf.watch.interrupt()
    deaf.writer.write("interrupted", interrupted=True)
    deaf.watch.look(1e9)

    assert [] == deaf.sent
