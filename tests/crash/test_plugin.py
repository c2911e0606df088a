"""The crash guard: a fault of a kata is one failed test, and where there is no guard."""

from __future__ import annotations

import bdb
import os
import sys
from typing import TYPE_CHECKING

import pytest

from plugins.crash.plugin import is_debugged
from plugins.crash.plugin import is_program
from plugins.crash.plugin import names_katas
from plugins.crash.plugin import why_unguarded
from tests.support.crashes import FAULTS
from tests.support.crashes import add_fault
from tests.support.crashes import expect_log
from tests.support.crashes import read_cases
from tests.support.crashes import read_log


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_failed_test(kata: MiniCourse, name: str) -> None:
    """It shows what happened, where, and its episode; summary, exit code and XML are complete."""
    fault = FAULTS[name]
    first = add_fault(kata, 1, name, fault.line)
    second = add_fault(kata, 2, "fine", "pass")

    result = kata.run("--junit-xml=report.xml")

    result.assert_outcomes(failed=1, passed=5)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    place = f" at katas/lecture01/{first}.py:*" if fault.placed else "*"
    result.stdout.fnmatch_lines(
        [
            "collected 6 items",
            "",
            f"katas/lecture01/test_{first}.py .F.*50%]",
            f"katas/lecture01/test_{second}.py ...*100%]",
            "* test_fault *",
            f"*{fault.says}{place}",
            *([f"katas/lecture01/{first}.py:*: in exercise"] if fault.placed else []),
            f"FAILED katas/lecture01/test_{first}.py::test_fault - Crashed: *",
            "*listen*#62 Strides*",
        ]
    )
    assert [1, 1] == [
        sum(text in line for line in result.outlines) for text in ("session starts", "in exercise")
    ] or not fault.placed
    assert expect_log(first, second) == read_log(kata)
    assert ["properties", "failure"] == read_cases(kata)[f"katas.lecture01.test_{first}.test_fault"]
    assert "" == result.stderr.str()


LOADER = """
import multiprocessing, time

class Loader:
    def __init__(self):
        self.me = self
        context = multiprocessing.get_context("fork")
        self.worker = context.Process(target=time.sleep, args=[99], daemon=True)
        self.worker.start()

    def __del__(self):
        self.worker.join()

def test_it():
    loader = Loader()
    assert False

def test_other():
    # Python keeps the frames of the last failure.
    assert False
"""


def test_a_worker_that_a_test_leaves_does_not_keep_pytest(kata: MiniCourse) -> None:
    """As of a DataLoader whose worker has raised; pytest collects garbage at its end."""
    kata.kata(test=LOADER)

    result = kata.run()

    result.assert_outcomes(failed=2)
    assert "" == result.stderr.str()


def test_an_exit_in_a_test_is_an_ordinary_failure(kata: MiniCourse) -> None:
    """An exit in a test is caught by pytest, like RecursionError and MemoryError."""
    add_fault(kata, 1, "exit", "sys.exit(0)")
    add_fault(kata, 2, "recursion", "exercise()")
    add_fault(kata, 3, "bytes", "bytearray(2**60)")

    result = kata.run()

    result.assert_outcomes(failed=3, passed=6)
    result.stdout.fnmatch_lines(["*- SystemExit: 0", "*- RecursionError: *", "*- MemoryError"])


def test_a_mistake_in_the_command_is_reported_once(kata: MiniCourse) -> None:
    """As without the guard; a malformed limit is a mistake too."""
    kata.kata()
    result = kata.run("--unsolved", "--solutions")
    memory = kata.run("-o", "kata_memory=4 GB")

    assert [pytest.ExitCode.USAGE_ERROR] * 2 == [result.ret, memory.ret]
    assert 1 == sum("--unsolved expects" in line for line in result.errlines)
    memory.stderr.fnmatch_lines(["ERROR: kata_memory: expected a share such as 50%, found '4 GB'"])


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--no-crashguard", "--no-crashguard"),
        ("--collect-only", "no test runs"),
        ("tests", "no lecture is among the arguments"),
    ],
)
def test_the_guard_steps_aside(kata: MiniCourse, option: str, reason: str) -> None:
    """With -v the header says why; the session then runs in the process that was started."""
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", f"{conftest}\nimport os\nPROCESS = os.getpid()\n")
    test = "import os, conftest\ndef test_here(): assert os.getpid() == conftest.PROCESS\n"
    kata.kata(test=test)
    kata.write("tests/test_own.py", test)

    kata.run().assert_outcomes(failed=1)
    result = kata.run(option, "-v")

    result.stdout.fnmatch_lines([f"crash guard: off ({reason})"])
    assert pytest.ExitCode.OK == result.ret


def test_a_program_that_calls_pytest_goes_on_once(kata: MiniCourse) -> None:
    """A program may not expect to become two processes."""
    kata.kata()
    kata.write("program.py", "import pytest\nprint('code', int(pytest.main(['-q'])))\n")

    result = kata.pytester.runpython(kata.path / "program.py")

    assert ["code 0"] == [line for line in result.outlines if line.startswith("code")]


def test_pytest_may_be_two_processes_where_it_is_the_program() -> None:
    """If it is the script or the module, with the arguments of the process."""
    assert is_program(["/venv/bin/pytest", "-x"], ["-x"])
    assert is_program(["/venv/lib/pytest/__main__.py", "-x"], ("-x",))
    assert not is_program(["/venv/bin/pytest", "-x"], ["inner.py"])
    assert not is_program(["program.py", "-x"], ["-x"])
    assert not is_program(["-c"], [])
    assert not is_program(["/tests/gate/__main__.py"], [])


def test_which_paths_are_katas(tmp_path: Path) -> None:
    """A lecture, a part of one, or a folder that holds all lectures."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/lecture.toml").touch()
    katas = ("katas", "katas/lecture04/test_k01_answer.py", "mine", "mine/test_k01_x.py", ".")

    for path in katas:
        assert names_katas((tmp_path / path).resolve(), tmp_path), path
    assert not names_katas(tmp_path / "tests", tmp_path)


def test_a_debugger_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own, and that of editors; a coverage tool is no debugger."""
    monkeypatch.delitem(sys.modules, "pydevd", raising=False)
    assert not is_debugged()

    monkeypatch.setattr(sys, "gettrace", lambda: bdb.Bdb().trace_dispatch)
    assert is_debugged()

    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "pydevd", sys)
    assert is_debugged()


def test_without_fork_there_is_no_guard(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows has none."""
    monkeypatch.delattr(os, "fork")

    assert "this system cannot fork" == why_unguarded(pytestconfig)
