"""The course is read once; a broken lecture is one line of the header."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course.model import Course
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.course.session import katas_among


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


def test_a_broken_lecture_is_one_line_and_its_tests_run(course: MiniCourse) -> None:
    """Under strict settings too."""
    course.plugins("plugins.course.session")
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
    course.plugins("plugins.course.session", "plugins.course.solutions", "elsewhere")
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


def test_a_file_is_parsed_once_for_all_its_failures(course: MiniCourse) -> None:
    """Each failing test shows lines of it: the stub of a kata fails all its tests."""
    course.plugins("plugins.course.session", "counting")
    course.kata(test="def test_one(): assert 0\n\ndef test_two(): assert 0\n")
    code = """
    import ast

    PARSED = []
    parse = ast.parse

    def noted(text, *rest, **options):
        PARSED.append(text if isinstance(text, str) else "")
        return parse(text, *rest, **options)

    ast.parse = noted

    def pytest_terminal_summary(terminalreporter):
        # The lines of a statement are parsed too, and by the assert rewriting all of the file.
        files = [text for text in PARSED if "one" in text and "two" in text]
        terminalreporter.line(f"parsed: {len(files)}")
    """
    course.write("counting.py", code)

    result = course.run()

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*def test_one(): assert 0", "*def test_two(): assert 0"])
    result.stdout.fnmatch_lines(["parsed: 1"])


def test_a_session_without_lectures_has_no_katas(course: MiniCourse) -> None:
    """A test outside the lectures belongs to none."""
    course.plugins("plugins.course.session", "plugins.course.solutions")
    course.write("other/test_other.py", "def test_other(): pass\n")

    course.run("other", "--unsolved").assert_outcomes(passed=1)


def test_the_course_is_read_once(course: MiniCourse) -> None:
    """``--watch`` reads it before pytest is configured, and its runs share it."""
    code = """
    import pytest
    from plugins.course.session import read_session_course

    pytest_plugins = ("plugins.course.session",)

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(config):
        read_session_course(config)

    def pytest_kata_lectures(config):
        print("asked")
        return []
    """
    course.write("conftest.py", code)
    course.kata()

    result = course.run("-s")

    result.assert_outcomes(passed=1)
    assert 1 == result.outlines.count("asked")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["katas"], ["k01_a", "k02_b"]),
        (["katas/lecture01"], ["k01_a", "k02_b"]),
        (["katas/lecture01/test_k02_b.py::test_one", "katas/lecture02"], ["k02_b"]),
        (["katas/../katas/lecture01/test_k01_a.py"], ["k01_a"]),
        (["katas/lecture01/k01_a.py"], []),
        ([], []),
    ],
)
def test_arguments_name_katas_by_their_tests(
    tmp_path: Path, arguments: list[str], expected: list[str]
) -> None:
    """By a folder above them, by the test module or by a test in it."""
    folder = tmp_path / "katas/lecture01"
    katas = tuple(
        Kata("lecture01", name, "T", "lab", (), (), (), (), (), (), (), folder)
        for name in ("k01_a", "k02_b")
    )
    course = Course((Lecture("lecture01", "T", {}, katas, folder),), ())

    assert expected == [kata.name for kata in katas_among(course, arguments, tmp_path)]
