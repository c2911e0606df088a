"""Whose answers run, what an untouched lecture proves, and who may accept snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course.solutions import why_not_accept


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = ("plugins.course.session", "plugins.course.solutions")
TEST = """
from katas.lecture01.k01_first import answer

def test_answer():
    assert 42 == answer()
"""
STUB = "def answer():\n    raise NotImplementedError('answer')\n"
SOLUTION = "def answer():\n    return 42\n"


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A course of one kata whose stub fails and whose solution passes."""
    course.plugins(*PLUGINS)
    course.kata(test=TEST, stub=STUB, solution=SOLUTION)
    return course


def test_the_learner_is_tested_by_default(kata: MiniCourse) -> None:
    """The stub fails, and the header does not mention solutions."""
    result = kata.run()

    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*reference solutions*")


def test_solutions_are_tested_on_request(kata: MiniCourse) -> None:
    """By the option or by the variable; the header names them."""
    by_option = kata.run("--solutions")
    kata.monkeypatch.setenv("KATAS_SOLUTIONS", "1")
    by_variable = kata.run()

    for result in (by_option, by_variable):
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["katas: reference solutions"])


def test_workers_of_xdist_test_the_solutions_too(kata: MiniCourse) -> None:
    """The choice reaches every worker."""
    kata.run("--solutions", "-n", "2").assert_outcomes(passed=1)


def test_spawned_processes_see_the_solutions(course: MiniCourse) -> None:
    """A child that imports the kata gets the solution, not the stub."""
    course.plugins(*PLUGINS)
    test = """
    import multiprocessing
    from katas.lecture01.k01_first import answer

    def test_answer():
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert 42 == pool.apply(answer)
    """
    course.kata(test=test, stub=STUB, solution=SOLUTION)
    course.write("pyproject.toml", '[tool.pytest]\npythonpath = ["."]\n')
    course.monkeypatch.setenv("PYTHONPATH", str(course.path), prepend=":")

    course.run("--solutions").assert_outcomes(passed=1)


def test_a_lecture_with_a_conftest_shows_its_solutions(kata: MiniCourse) -> None:
    """Its package is imported before options are known."""
    kata.write("katas/lecture01/conftest.py", "import pytest\n")

    kata.run("katas/lecture01", "--solutions").assert_outcomes(passed=1)


def test_the_environment_is_left_as_it_was(kata: MiniCourse) -> None:
    """A later session in the same process finds the variable that was set before."""
    program = kata.write(
        "twice.py",
        """
        import os
        import sys
        import pytest

        for before in (None, "0"):
            if before is not None:
                os.environ["KATAS_SOLUTIONS"] = before
            assert pytest.main(["--solutions", "-q", "-p", "no:cacheprovider"]) == 0
            assert os.environ.get("KATAS_SOLUTIONS") == before
        print("as it was")
        """,
    )

    result = kata.pytester.runpython(program)

    result.stdout.fnmatch_lines(["as it was"])


def test_an_untouched_lecture_is_proved_red(kata: MiniCourse) -> None:
    """A stub is expected to raise NotImplementedError."""
    kata.run("--unsolved").assert_outcomes(xfailed=1)


def test_a_stub_that_passes_is_reported(course: MiniCourse) -> None:
    """It would leave the learner nothing to do."""
    course.plugins(*PLUGINS)
    course.kata(test=TEST, stub=SOLUTION)

    result = course.run("--unsolved")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*XPASS(strict)*the exercise is not solved*"])


def test_a_stub_that_fails_otherwise_is_reported(course: MiniCourse) -> None:
    """A TypeError is a broken kata, not an unsolved one."""
    course.plugins(*PLUGINS)
    course.kata(test=TEST, stub="def answer():\n    raise TypeError\n")

    course.run("--unsolved").assert_outcomes(failed=1)


def test_given_tests_and_foreign_tests_pass(kata: MiniCourse) -> None:
    """Worked examples, and tests that belong to no kata, are expected to pass."""
    given = "import pytest\n\n@pytest.mark.given\ndef test_example():\n    pass\n"
    kata.kata("k02_given", test=given)
    kata.write("other/test_other.py", "def test_other():\n    pass\n")

    kata.run("katas", "other", "--unsolved").assert_outcomes(passed=2, xfailed=1)


def test_solutions_cannot_be_unsolved(kata: MiniCourse) -> None:
    """Both at once is an error with a message."""
    result = kata.run("--unsolved", "--solutions")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --unsolved expects untouched exercises*"])


SNAPSHOT = '''
from expecttest import assert_expected_inline
from katas.lecture01.k01_first import answer

def test_answer():
    assert_expected_inline(answer(), """right""")
'''


@pytest.fixture
def snapshot(course: MiniCourse) -> MiniCourse:
    """A kata with a snapshot, a wrong answer and a solution that prints something new."""
    course.plugins(*PLUGINS)
    stub, solution = (f"def answer():\n    return {word!r}\n" for word in ("wrong", "newer"))
    course.kata(test=SNAPSHOT, stub=stub, solution=solution)
    return course


def test_without_acceptance_a_snapshot_is_compared(snapshot: MiniCourse) -> None:
    """A wrong answer fails and the expected output stays."""
    snapshot.run().assert_outcomes(failed=1)

    assert 'answer(), """right"""' in (snapshot.katas / "lecture01/test_k01_first.py").read_text()


def test_a_learner_is_not_told_to_accept(snapshot: MiniCourse) -> None:
    """What expecttest advises would be refused; instead, the message says how to read it."""
    result = snapshot.run("--junitxml=report.xml")

    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*ACCEPT*")
    result.stdout.fnmatch_lines(
        [
            '>*assert_expected_inline(answer(), """right""")',
            "E*AssertionError: Mismatch *",
            "E*-right+wrong",
            "E*A line with - is expected, one with + is yours.",
            "katas/lecture01/test_k01_first.py:6: AssertionError",
        ]
    )
    assert "ACCEPT" not in (snapshot.path / "report.xml").read_text()


def test_a_maintainer_is_told(snapshot: MiniCourse) -> None:
    """With the solutions, the advice is right."""
    snapshot.run("--solutions").stdout.fnmatch_lines(["*envvar EXPECTTEST_ACCEPT=1*"])


def test_a_learner_cannot_accept(snapshot: MiniCourse) -> None:
    """The session does not start; the message names the command for maintainers."""
    snapshot.monkeypatch.setenv("EXPECTTEST_ACCEPT", "1")

    result = snapshot.run()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: EXPECTTEST_ACCEPT is set*nox -s accept*"])
    assert 'answer(), """right"""' in (snapshot.katas / "lecture01/test_k01_first.py").read_text()


def test_a_no_is_a_no(snapshot: MiniCourse) -> None:
    """Expecttest takes any value for a yes, and 0 too; here 0 means no."""
    snapshot.monkeypatch.setenv("EXPECTTEST_ACCEPT", "0")

    snapshot.run().assert_outcomes(failed=1)

    assert 'answer(), """right"""' in (snapshot.katas / "lecture01/test_k01_first.py").read_text()


def test_a_maintainer_accepts_with_the_solutions(snapshot: MiniCourse) -> None:
    """In one process the file takes the new output."""
    snapshot.monkeypatch.setenv("EXPECTTEST_ACCEPT", "1")
    snapshot.run("--solutions")

    assert 'answer(), """newer"""' in (snapshot.katas / "lecture01/test_k01_first.py").read_text()


def test_parallel_acceptance_is_refused(snapshot: MiniCourse) -> None:
    """Several processes would leave the file half updated."""
    snapshot.monkeypatch.setenv("EXPECTTEST_ACCEPT", "1")

    result = snapshot.run("--solutions", "-n", "2")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: EXPECTTEST_ACCEPT is set*Leave out -n."])


@pytest.mark.parametrize(
    ("solutions", "parallel", "word"),
    [(True, False, None), (True, True, "-n"), (False, False, "Unset"), (False, True, "Unset")],
)
def test_who_may_accept(*, solutions: bool, parallel: bool, word: str | None) -> None:
    """Only the solutions, in one process."""
    reason = why_not_accept(solutions=solutions, parallel=parallel)

    assert (word is None) == (reason is None)
    assert (word or "") in (reason or "")
