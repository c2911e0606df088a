"""The process after a crash repeats the earlier reports, and the terminal shows each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crashes import add_fault
from tests.support.crashes import add_import
from tests.support.crashes import expect_log
from tests.support.crashes import read_cases
from tests.support.crashes import read_log


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


def test_a_second_crash_while_modules_are_imported_again(kata: MiniCourse) -> None:
    """The terminal continues where the first process left it, not the second."""
    first = add_fault(kata, 1, "abort", "os.abort()")
    later = 'if os.path.exists("log") and not os.path.exists("dead"):\n'
    add_import(kata, 2, "moody", f"{later}    open('dead', 'w').close()\n    os.abort()")

    result = kata.run()

    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines(["*k01_abort.py .F.*", "*k02_moody.py F*"])
    assert 1 == sum("session starts" in line for line in result.outlines)
    assert expect_log(first) == read_log(kata)


def test_warnings_and_failures_before_a_crash_are_kept(kata: MiniCourse) -> None:
    """The summary has them with their source, and `--lf` knows every failure."""
    test = """
        import os
        import warnings

        warnings.warn("while it is imported", FutureWarning)

        def test_warns(): warnings.warn("take care", FutureWarning)
        def test_fails(): assert 1 == 2
        def test_dies(): os.abort()
        """
    kata.kata(test=test)

    result = kata.run()
    again = kata.run("--lf")

    result.assert_outcomes(failed=2, passed=1, warnings=2)
    result.stdout.fnmatch_lines(["*.FF*", "*assert 1 == 2", "*FutureWarning: take care"])
    again.assert_outcomes(failed=2)


def test_an_internal_error_is_shown(kata: MiniCourse) -> None:
    """Even while the past is replayed."""
    add_fault(kata, 1, "abort", "os.abort()")
    conftest = (kata.path / "conftest.py").read_text()
    hook = "def pytest_collection_finish():\n    if os.path.exists('log'): raise OSError('oh no')\n"
    kata.write("conftest.py", f"{conftest}\nimport os\n{hook}")

    result = kata.run()

    assert pytest.ExitCode.INTERNAL_ERROR == result.ret
    result.stdout.fnmatch_lines(["INTERNALERROR> OSError: oh no"])


def test_without_a_terminal_reporter(kata: MiniCourse) -> None:
    """Nothing is shown; all else is the same."""
    add_fault(kata, 1, "abort", "os.abort()")

    result = kata.run("-o", "addopts=", "-p", "no:terminal", "--junit-xml=report.xml")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert 3 == len(read_cases(kata))
