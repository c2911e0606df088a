"""The parent of a session: one child after the other, and the status at the end."""

from __future__ import annotations

import errno
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
# Ctrl-C, where nobody listens any more.
PRESSED = Death(-signal.SIGINT, Stack())


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
        (Record(begun=True, interrupted=True), PRESSED, INTERRUPTED, True),
        (Record(begun=True), PRESSED, INTERRUPTED, True),
        (Record(begun=True, status=1), PRESSED, 1, True),
        (Record(begun=True, status=1, lost="full"), Death(1, Stack()), 1, True),
        (Record(lost="full"), Death(4, Stack()), 4, True),
        (Record(begun=True, lost="full"), Death(0, Stack()), BROKEN, False),
        (Record(begun=True, lost="full"), ABORTED, BROKEN, False),
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
    error = " ".join(capsys.readouterr().err.split())
    assert clean == ("did not exit cleanly" not in error)
    assert bool(record.lost) == ("cannot be written (full)" in error)
    assert not (record.lost and "after the tests" in error)


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


def test_a_process_that_has_left_between_two_tests_is_recorded(tmp_path: Path) -> None:
    """No test has crashed; the terminal has shown the last one."""
    journal = Journal(tmp_path, "0")
    writer = Writer(journal)
    writer.write("shown", shown=True)
    writer.write("test", nodeid="a.py::test_it")
    writer.write("tested", phase=None, limit=None)
    writer.write("left", left=True, why="")
    past = Past()

    assert GO_ON == record_death(past, Watch(journal, 0, os.getpid()), 0, tmp_path)
    assert ({}, {}, past.runs[0]) == (past.crashes, past.broken, past.shown)


def test_an_import_that_crashed_is_recorded(tmp_path: Path) -> None:
    """Under its module, which the next process does not import."""
    writer = Writer(Journal(tmp_path, "0"))
    writer.write("shown", shown=True)
    writer.write("collect", nodeid="katas", limit=None)
    writer.write("collect", nodeid="katas/a.py", limit=None)
    past = Past()

    status = record_death(past, Watch(Journal(tmp_path, "0"), 0, os.getpid()), -6, tmp_path)

    assert (GO_ON, ["katas/a.py"], IMPORTING) == (status, list(past.broken), past.shown)


def test_a_session_whose_journal_was_lost_is_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which test has crashed is not known, so none is named."""
    journal = Journal(tmp_path, "0")
    writer = Writer(journal)
    writer.write("begun", begun=True)
    writer.write("test", nodeid="a.py::test_it")
    watch = Watch(journal, 0, os.getpid())
    watch.look()
    writer.give_up(OSError(errno.ENOSPC, "No space left on device"))
    past = Past()

    assert BROKEN == record_death(past, watch, -11, tmp_path)
    assert [] == past.runs
    error = " ".join(capsys.readouterr().err.split())
    assert error.startswith("katas: Python did not exit cleanly: segmentation fault (SIGSEGV)")
    assert "test_it" not in error
    assert f"cannot be written ({tmp_path}: No space left on device)" in error


def test_a_folder_that_a_test_removes_is_not_missed(kata: MiniCourse) -> None:
    """The next crash still has its test, its place and what was printed; so has the one after."""
    remove = (
        "import glob, shutil, tempfile\n    for each in glob.glob(FOLDERS): shutil.rmtree(each)"
    )
    for number, name in ((1, "one"), (2, "two")):
        line = f"{remove}\n    print('so far'); native.segfault()"
        add_fault(kata, number, name, line.replace("FOLDERS", "tempfile.gettempdir() + '/katas-*'"))
    kata.monkeypatch.setenv("TMPDIR", str(kata.path))

    result = kata.run()

    result.assert_outcomes(failed=2, passed=4)
    for name in ("one", "two"):
        result.stdout.fnmatch_lines(
            [f"*segmentation fault (SIGSEGV) at katas/lecture01/k0*_{name}*"]
        )
    assert 2 == result.outlines.count("so far")
    assert "" == result.stderr.str()


NO_GROWTH = """
import resource

def test_nothing_can_be_written_any_more():
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, most))

def test_other(): pass
"""
# What measures coverage writes at the end.
AGAIN = """
import resource

def test_it():
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert False
"""
MANY = "".join(f"def test_{n}(): pass\n" for n in range(30))


def test_a_journal_that_cannot_be_written_is_told_at_the_end(kata: MiniCourse) -> None:
    """All tests run, and none is to blame; the status is that of the tests."""
    kata.kata(test=NO_GROWTH)
    kata.kata("k02_second", MANY)
    kata.kata("k03_third", AGAIN)

    result = kata.run()

    result.assert_outcomes(passed=32, failed=1)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    told = " ".join(result.stderr.str().split())
    assert told.startswith("katas: the crash guard was off for a part of this run")
    assert "File too large). Without it a crash ends the run" in told
    assert told.endswith("TMPDIR=/another/folder, and run it again.")


def test_a_crash_without_a_journal_blames_no_test(kata: MiniCourse) -> None:
    """It ends the run, which says so; what has run before is told."""
    kata.kata(test=NO_GROWTH)
    kata.kata("k02_second", MANY)
    add_fault(kata, 3, "third", "native.segfault()")

    result = kata.run("-v")

    assert pytest.ExitCode.INTERNAL_ERROR == result.ret
    assert "test_29 PASSED" in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()
    assert "FAILED" not in result.stdout.str()
    result.stderr.fnmatch_lines(
        [
            "katas: Python did not exit cleanly: segmentation fault (SIGSEGV) at *",
            "katas: the crash guard was off for a part of this run*",
        ]
    )
