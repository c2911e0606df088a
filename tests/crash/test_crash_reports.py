"""The report of a test that crashed: what it says, from where, and in which phase."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.crash.crash_reports import Crash
from plugins.crash.crash_reports import Crashed
from tests.support.crashes import FAULTS
from tests.support.crashes import add_fault
from tests.support.crashes import expect_log
from tests.support.crashes import read_log


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


def test_a_fault_of_a_fixture(kata: MiniCourse) -> None:
    """In the setup it is an error of the test; in the teardown, one after the test has passed."""
    test = """
        import os
        import pytest

        @pytest.fixture
        def before(): os.abort()

        @pytest.fixture
        def after():
            yield
            os.abort()

        def test_setup(before): pass
        def test_teardown(after): pass
        def test_last(): pass
        """
    kata.kata(test=test)

    result = kata.run()

    result.assert_outcomes(errors=2, passed=2)
    result.stdout.fnmatch_lines(
        ["*.py E.E.*", "*ERROR at setup of test_setup*", "*ERROR at teardown of test_teardown*"]
    )


def test_a_crash_is_never_expected(kata: MiniCourse) -> None:
    """``--unsolved`` expects an exception."""
    add_fault(kata, 1, "abort", "os.abort()")

    kata.run("--unsolved", "-k", "fault").assert_outcomes(failed=1, deselected=2)


def test_continuous_integration_shows_the_same(
    kata: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With CI set, the message stands above and its beginning in the summary: one failed test."""
    monkeypatch.setenv("CI", "true")
    first = add_fault(kata, 1, "segfault", FAULTS["segfault"].line)

    result = kata.run()

    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(
        [
            "It read or wrote memory that is not its own: *",
            f"FAILED katas/lecture01/test_{first}.py::test_fault - Crashed: segmentati*",
            "* where to go on *",
            "*listen*#62 Strides*",
        ]
    )
    assert expect_log(first) == read_log(kata)


def test_a_crash_is_raised_where_the_test_was(tmp_path: Path) -> None:
    """The traceback ends there, for pytest and editors; the source need not have the line."""
    file = str(tmp_path / "k01_first.py")

    with pytest.raises(Crashed) as caught:
        Crash("abort (SIGABRT)", where=(file, 7)).raise_it()

    assert "Crashed: abort (SIGABRT)" == caught.exconly()
    assert (file, 7) == (str(caught.traceback[-1].path), caught.traceback[-1].lineno + 1)


def test_a_crash_without_a_place_is_raised() -> None:
    """As when native code of another thread ended the process."""
    with pytest.raises(Crashed, match="abort"):
        Crash("abort (SIGABRT)").raise_it()


def test_a_process_that_has_left_did_not_crash() -> None:
    """The failure is an ordinary one."""
    with pytest.raises(pytest.fail.Exception, match="broken") as caught:
        Crash("broken", left=True).raise_it()

    assert "Failed: broken" == caught.exconly()


def test_ctrl_c_is_raised_as_such() -> None:
    """It ends the session, not the test."""
    with pytest.raises(KeyboardInterrupt):
        Crash("Ctrl-C", interrupt=True).raise_it()


@pytest.mark.parametrize(
    ("out", "err", "sections"),
    [
        ("", "", []),
        ("so far\n", "", ["stdout"]),
        ("so far\n", "what()\n", ["stdout", "stderr"]),
    ],
)
def test_the_output_is_added_to_the_phase(out: str, err: str, sections: list[str]) -> None:
    """A stream that is empty gets no section."""
    added: list[tuple[str, str, str]] = []
    item: Any = SimpleNamespace(add_report_section=lambda *section: added.append(section))

    Crash("abort (SIGABRT)", when="setup", out=out, err=err).add_output(item)

    assert [("setup", name) for name in sections] == [each[:2] for each in added]
