"""The journal that a process keeps of its tests, and what it leaves when it ends."""

from __future__ import annotations

import errno
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import pytest

from plugins.course.notes import Poisoned
from plugins.course.notes import poisoned_key
from plugins.course.notes import replaced_key
from plugins.crash.journal import Journal
from plugins.crash.journal import Reader
from plugins.crash.recorder import Recorder
from plugins.crash.recorder import dump_and_exit
from tests.support.crashes import add_fault


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


# pytest itself needs the name no longer once its classes are made.
REMOVED = "del capture.FDCaptureBase"


def test_what_it_printed_is_shown(kata: MiniCourse) -> None:
    """The message of a library that then aborts, which pytest had captured."""
    add_fault(kata, 1, "uncaught", "print('so far'); native.uncaught()")

    kata.run().stdout.fnmatch_lines(
        ["*Captured stdout call*", "so far", "*Captured stderr call*", "*what():  thrown*"]
    )


def test_a_test_may_ask_for_more_time(kata: MiniCourse) -> None:
    """A marker raises the limit; the project's own tests have none."""
    slow = "def test_slow(): time.sleep(1.3)\n"
    kata.kata(test=f"import time, pytest\n@pytest.mark.time_limit(30)\n{slow}")
    kata.write("tests/test_own.py", f"import time\n{slow}")

    kata.run("katas", "tests", "-o", "kata_timeout=1").assert_outcomes(passed=2)


def test_a_test_may_fork(kata: MiniCourse) -> None:
    """Its children are not watched."""
    test = "import os\n\ndef test_it():\n    child = os.fork()\n    if not child: os._exit(5)\n"
    kata.kata(test=f"{test}    assert 5 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n")

    kata.run().assert_outcomes(passed=1)


def test_a_debugger_is_noted_from_its_begin_to_its_end(tmp_path: Path) -> None:
    """Between the two, no time counts."""
    journal = Journal(tmp_path, "0")
    recorder, reader = Recorder(journal, None), Reader(journal)

    recorder.pytest_enter_pdb()
    reader.news()
    assert reader.record.debugged

    recorder.pytest_leave_pdb()
    reader.news()
    assert not reader.record.debugged


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("broken", [True, False])
def test_it_leaves_before_the_next_test_or_after_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, replaced: bool, broken: bool
) -> None:
    """Once a device is broken, if a process comes in place of this one."""
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    journal = Journal(tmp_path, "0")
    recorder, reader = Recorder(journal, None, replaced=replaced), Reader(journal)
    stash: dict[Any, Any] = {poisoned_key: Poisoned("cuda", "why", "a")} if broken else {}
    recorder.config = cast("pytest.Config", SimpleNamespace(stash=stash))
    leaves = replaced and broken

    protocol = recorder.pytest_runtest_protocol()
    next(protocol)
    reader.news()
    assert leaves == reader.record.left
    assert "" == reader.record.why

    collector: Any = SimpleNamespace(nodeid="a.py")
    report: Any = SimpleNamespace(longrepr="broken by a.py")
    collecting = recorder.pytest_make_collect_report(collector)
    next(collecting)
    with pytest.raises(StopIteration):
        collecting.send(report)
    reader.news()
    assert ("broken by a.py" if leaves else "") == reader.record.why
    assert [0, 0] * leaves == left


@pytest.mark.parametrize("before", [True, False])
def test_it_stays_if_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, before: bool
) -> None:
    """Nobody would know where to go on; the rest on that device is skipped, then."""
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    recorder = Recorder(Journal(tmp_path, "0"), None)
    stash: dict[Any, Any] = {poisoned_key: Poisoned("cuda", "why", "a")}
    recorder.config = cast("pytest.Config", SimpleNamespace(stash=stash))
    full = OSError(errno.ENOSPC, "No space left on device")

    def refuse(*_: object) -> int:
        raise full

    if before:
        recorder.writer.give_up(full)
    monkeypatch.setattr(os, "write", refuse)
    next(recorder.pytest_runtest_protocol())
    item: Any = SimpleNamespace(nodeid="a.py::test_b", config=recorder.config)
    recorder.begin(item)

    assert [] == left
    assert not stash[replaced_key]


@pytest.mark.parametrize("ours", [True, False])
def test_only_the_process_of_the_tests_says_from_where_it_leaves(
    tmp_path: Path, *, ours: bool
) -> None:
    """A process that a test forks leaves no trace."""
    process = os.getpid() if ours else 0
    with (tmp_path / "stack").open("wb") as stack, pytest.raises(SystemExit, match="3"):
        dump_and_exit(sys.exit, process, stack.fileno(), 3)

    assert ours == ("test_recorder.py" in (tmp_path / "stack").read_text())


@pytest.mark.parametrize("arguments", [(), ("-n2",)], ids=["alone", "workers"])
def test_a_pytest_that_hides_its_output_is_named_once(
    kata: MiniCourse, arguments: tuple[str, ...]
) -> None:
    """The tests run on, and a crash is one failed test that shows no output."""
    add_fault(kata, 1, "abort", "print('so far'); native.abort_now()")
    add_fault(kata, 2, "again", "print('so far'); native.abort_now()")
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", f"{conftest}\nfrom _pytest import capture\n\n{REMOVED}\n")

    result = kata.run(*arguments)

    result.assert_outcomes(failed=2, passed=4, warnings=1)
    result.stdout.fnmatch_lines(
        [
            (
                "*PytestWarning: a crashed test will not show what it printed: pytest * has "
                "changed where it captures output (cannot import name 'FDCaptureBase' *)"
            ),
        ]
    )
    assert "so far" not in result.outlines


NO_FILES = """
import os

_open = os.open

def refuse(path, *arguments, **options):
    if str(path).endswith((".stack", ".out", ".err")):
        raise OSError(28, "No space left on device", str(path))
    return _open(path, *arguments, **options)

os.open = refuse
if hasattr(os, "memfd_create"):
    del os.memfd_create
"""


def test_without_files_a_crash_has_no_place(kata: MiniCourse) -> None:
    """It is one failed test all the same."""
    add_fault(kata, 1, "abort", "print('so far'); native.abort_now()")
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", f"{conftest}\n{NO_FILES}")

    result = kata.run()

    result.assert_outcomes(failed=1, passed=2)
    assert "abort (SIGABRT)" in result.stdout.str()
    assert "so far" not in result.outlines


NO_ROOM = """
from plugins.crash import journal

journal.has_room = lambda _: False
"""
PRINTS = "def test_one(): print('one')\ndef test_two():\n    print('two')\n    assert 0\n"


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system lacks files in memory")
def test_what_tests_print_goes_to_memory_on_a_full_disk(kata: MiniCourse) -> None:
    """A print would raise in the test, as if it were the test's fault."""
    kata.kata("k01_prints", PRINTS)
    add_fault(kata, 2, "abort", "print('so far'); native.abort_now()")
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", f"{conftest}\n{NO_ROOM}")

    result = kata.run()

    result.assert_outcomes(failed=2, passed=3)
    assert "two" in result.outlines
    assert "so far" in result.outlines
