"""Nobody overwrites an expected output by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.snapshots import refusal


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


TEST = '''
from expecttest import assert_expected_inline
from katas.lecture01.k01_first import answer

def test_answer():
    assert_expected_inline(answer(), """right""")
'''


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A kata with a snapshot, a wrong answer and a solution that prints something new."""
    course.plugins("plugins.course", "plugins.solutions", "plugins.snapshots")
    stub, solution = (f"def answer():\n    return {word!r}\n" for word in ("wrong", "newer"))
    course.kata(test=TEST, stub=stub, solution=solution)
    return course


def test_without_acceptance_a_snapshot_is_compared(kata: MiniCourse) -> None:
    """A wrong answer fails and the expected output stays."""
    kata.run().assert_outcomes(failed=1)

    assert 'answer(), """right"""' in (kata.katas / "lecture01/test_k01_first.py").read_text()


def test_a_learner_cannot_accept(kata: MiniCourse) -> None:
    """The session does not start, and the message says whom it is for."""
    kata.monkeypatch.setenv("EXPECTTEST_ACCEPT", "1")

    result = kata.run()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: EXPECTTEST_ACCEPT is set*nox -s accept*"])
    assert 'answer(), """right"""' in (kata.katas / "lecture01/test_k01_first.py").read_text()


def test_a_no_is_a_no(kata: MiniCourse) -> None:
    """Expecttest takes the value 0 for a yes; here it means no."""
    kata.monkeypatch.setenv("EXPECTTEST_ACCEPT", "0")

    kata.run().assert_outcomes(failed=1)

    assert 'answer(), """right"""' in (kata.katas / "lecture01/test_k01_first.py").read_text()


def test_a_maintainer_accepts_with_the_solutions(kata: MiniCourse) -> None:
    """In one process the file takes the new output."""
    kata.monkeypatch.setenv("EXPECTTEST_ACCEPT", "1")
    kata.run("--solutions")

    assert 'answer(), """newer"""' in (kata.katas / "lecture01/test_k01_first.py").read_text()


def test_parallel_acceptance_is_refused(kata: MiniCourse) -> None:
    """Several processes would leave the file half updated."""
    kata.monkeypatch.setenv("EXPECTTEST_ACCEPT", "1")

    result = kata.run("--solutions", "-n", "2")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: EXPECTTEST_ACCEPT is set*Leave out -n."])


@pytest.mark.parametrize(
    ("solutions", "parallel", "word"),
    [(True, False, None), (True, True, "-n"), (False, False, "Unset"), (False, True, "Unset")],
)
def test_who_may_accept(*, solutions: bool, parallel: bool, word: str | None) -> None:
    """Only the solutions, in one process."""
    reason = refusal(solutions=solutions, parallel=parallel)

    assert (word is None) == (reason is None)
    assert (word or "") in (reason or "")
