"""The parent of a session: one child after the other, and the status at the end."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.crash.journal import Journal
from plugins.crash.journal import Record
from plugins.crash.journal import Writer
from plugins.crash.parent import BROKEN
from plugins.crash.parent import GO_ON
from plugins.crash.parent import INTERRUPTED
from plugins.crash.parent import record_death
from plugins.crash.parent import session_status
from plugins.crash.replay import IMPORTING
from plugins.crash.replay import Past
from plugins.crash.stacks import Stack
from plugins.crash.verdict import Death
from plugins.crash.verdict import Stop
from plugins.crash.watchdog import Watch
from tests.support.crashes import FAULTS
from tests.support.crashes import PLUGINS
from tests.support.crashes import add_fault
from tests.support.crashes import expect_log
from tests.support.crashes import read_log


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


ABORTED = Death(-signal.SIGABRT, Stack())
STOPPED = Death(-signal.SIGABRT, Stack(), stop=Stop("time", "1 s"))


def test_several_faults_in_one_session(kata: MiniCourse) -> None:
    """Each costs one process; the terminal shows each test once, in order; ``-x`` stops."""
    names = [
        add_fault(kata, n, name, FAULTS[name].line) for n, name in enumerate(list(FAULTS)[:3], 1)
    ]

    result = kata.run("-v", "--durations=0")
    first = kata.run("-x", "-q")

    result.assert_outcomes(failed=3, passed=6)
    shown = [line.split()[:2] for line in result.outlines if "%]" in line]
    words = ("before PASSED", "fault FAILED", "after PASSED")
    assert [
        f"katas/lecture01/test_{name}.py::test_{word}".split() for name in names for word in words
    ] == shown
    first.assert_outcomes(failed=1, passed=1)
    assert [*expect_log(*names), *expect_log(names[0])[:2]] == read_log(kata)


def test_a_thread_that_goes_on_does_not_keep_pytest(kata: MiniCourse) -> None:
    """Python would wait for it forever; the status is that of the session."""
    kata.monkeypatch.setenv("PYTHONPATH", f"{kata.path}:{ROOT}")
    kata.write(
        "conftest.py",
        "from plugins.crash import recorder\n\nrecorder.LEAVING = 1.0\n"
        f"pytest_plugins = {PLUGINS!r}\n",
    )
    thread = "threading.Thread(target=time.sleep, args=[99]).start()"
    test = f"import threading, time\ndef test_it(): {thread}\n"
    kata.kata(test=test)

    result = kata.run()

    result.assert_outcomes(passed=1)
    assert pytest.ExitCode.OK == result.ret
    result.stderr.fnmatch_lines(
        ["katas: Python did not exit cleanly after the tests: still running after 1 s*"]
    )


def test_a_crash_after_the_tests_is_reported(kata: MiniCourse) -> None:
    """No test is to blame for it; os._exit(0) between tests is no success."""
    kata.kata(test="import atexit, os\n\ndef test_it(): atexit.register(os.abort)\n")
    ended = kata.run()
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", f"{conftest}\nimport os\ndef pytest_sessionfinish(): os._exit(0)\n")
    finished = kata.run()

    ended.assert_outcomes(passed=1)
    assert pytest.ExitCode.INTERNAL_ERROR == ended.ret
    ended.stderr.fnmatch_lines(
        ["katas: Python did not exit cleanly after the tests: abort (SIGABRT)*"]
    )
    assert pytest.ExitCode.INTERNAL_ERROR == finished.ret
    finished.stderr.fnmatch_lines(
        ["katas: Python did not exit cleanly after the tests: Python ended with status 0 at *"]
    )


@pytest.mark.parametrize(
    ("record", "death", "status", "clean"),
    [
        (Record(begun=True, status=1), Death(1, Stack()), 1, True),
        (Record(), Death(4, Stack()), 4, True),
        (Record(begun=True), Death(0, Stack()), BROKEN, False),
        (Record(begun=True, status=0), ABORTED, BROKEN, False),
        (Record(begun=True, status=1), ABORTED, 1, False),
        (Record(begun=True, status=0), STOPPED, 0, False),
        (Record(begun=True, status=1, broken=True), STOPPED, 1, True),
        (Record(begun=True, status=2, interrupted=True), Death(2, Stack()), INTERRUPTED, True),
        (Record(begun=True, interrupted=True), ABORTED, INTERRUPTED, False),
    ],
)
def test_a_session_that_is_over_has_a_status(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    record: Record,
    death: Death,
    status: int,
    clean: bool,
) -> None:
    """It is pytest's, or that of a usage error before; a process that dies late is reported."""
    assert status == session_status(record, death, tmp_path)
    assert clean == ("did not exit cleanly" not in capsys.readouterr().err)


@pytest.mark.parametrize("shown", [True, False])
def test_a_test_that_crashed_is_recorded(tmp_path: Path, *, shown: bool) -> None:
    """With the tests before it; the terminal has shown it unless it was still replaying."""
    writer = Writer(Journal(tmp_path, "0"))
    writer.write("shown", shown=shown)
    writer.write("test", nodeid="a.py::test_first")
    writer.write("tested", phase=None, limit=None)
    writer.write("test", nodeid="a.py::test_it")
    past = Past()

    status = record_death(past, Watch(Journal(tmp_path, "0"), 0, os.getpid()), -6, tmp_path)

    assert GO_ON == status
    assert ["a.py::test_first", "a.py::test_it"] == [run.nodeid for run in past.runs]
    assert [past.runs[1]] == list(past.crashes)
    assert (past.runs[1] if shown else None) == past.shown


def test_an_import_that_crashed_is_recorded(tmp_path: Path) -> None:
    """Under its module, which the next process does not import."""
    writer = Writer(Journal(tmp_path, "0"))
    writer.write("shown", shown=True)
    writer.write("collect", nodeid="katas", limit=None)
    writer.write("collect", nodeid="katas/a.py", limit=None)
    past = Past()

    status = record_death(past, Watch(Journal(tmp_path, "0"), 0, os.getpid()), -6, tmp_path)

    assert (GO_ON, ["katas/a.py"], IMPORTING) == (status, list(past.broken), past.shown)
