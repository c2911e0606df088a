"""The course is read once, and what is broken in it is one line of the header."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


def test_a_broken_lecture_is_one_line_and_its_tests_run(course: MiniCourse) -> None:
    """Under strict settings too."""
    course.plugins("plugins.course")
    course.kata(kind="loop")
    course.kata(lecture="lecture02")

    result = course.run()

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["broken: *katas/lecture01/lecture.toml: kata k01_first: kind: expected one of lab, *"]
    )
    assert 1 == sum("broken:" in line for line in result.outlines)


def test_hook_lectures(course: MiniCourse) -> None:
    """A plugin's lecture counts as one of the course, wherever it lies."""
    course.plugins("plugins.course", "plugins.solutions", "elsewhere")
    course.kata(lecture="lecture50", stub="raise NotImplementedError\n")
    (course.katas / "lecture50").rename(course.path / "lecture50")
    code = """
    from pathlib import Path

    def pytest_kata_lectures(config):
        return [Path(__file__).parent / "lecture50"]
    """
    course.write("elsewhere.py", code)
    course.write("lecture50/test_k01_first.py", "def test_it(): raise NotImplementedError\n")

    course.run("lecture50", "--unsolved").assert_outcomes(xfailed=1)


def test_a_session_without_lectures_has_no_katas(course: MiniCourse) -> None:
    """A test outside belongs to none."""
    course.plugins("plugins.course", "plugins.solutions")
    course.write("other/test_other.py", "def test_other(): pass\n")

    course.run("other", "--unsolved").assert_outcomes(passed=1)
