"""``--solutions`` and ``--unsolved``: whose answers run, and what an untouched lecture proves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = ("plugins.course", "plugins.solutions")
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
    """The stub fails and the header does not speak of solutions."""
    result = kata.run()

    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*reference solutions*")


def test_solutions_are_tested_on_request(kata: MiniCourse) -> None:
    """By the option or by the variable, and the header says so."""
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
    """A session in the same process afterwards sees what was set before."""
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
    """A stub's NotImplementedError is what is expected."""
    kata.run("--unsolved").assert_outcomes(xfailed=1)


def test_a_stub_that_passes_is_reported(course: MiniCourse) -> None:
    """Nothing would be left for the learner to do."""
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
    """Both at once is a mistake that is named."""
    result = kata.run("--unsolved", "--solutions")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --unsolved expects untouched exercises*"])
