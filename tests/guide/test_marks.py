"""A test module whose marks make no steps is refused when it is collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.guide.episodes",
    "plugins.guide.marks",
    "plugins.guide.failures",
    "plugins.guide.summary",
)
TESTS = """
import pytest

@pytest.mark.step(1, "one")
@pytest.mark.parametrize("number", range(2))
def test_one(number): pass

@pytest.mark.step(2, "two")
def test_two(): pass

def test_last(): pass
"""


def test_steps_are_no_reason_to_fail(course: MiniCourse) -> None:
    """Nor are tests that belong to no kata, whatever their marks."""
    course.plugins(*PLUGINS)
    course.kata(test=TESTS)
    course.kata("k02_plain", test="def test_it(): pass")
    course.write("test_other.py", "import pytest\n@pytest.mark.step\ndef test_other(): pass")

    course.run("katas", "test_other.py").assert_outcomes(passed=6)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("(2, ", "(3, ", "step 2 has no test: number the steps from 1 on"),
        ('(2, "two")', "", "test_two: expected @pytest.mark.step(2, *"),
        (
            "import pytest",
            "import pytest\npytestmark = pytest.mark.step(1, 'one')",
            "test_last has a step that its text does not show: write @pytest.mark.step *",
        ),
        (
            "range(2)",
            "[0, pytest.param(1, marks=pytest.mark.step(1, 'one'))]",
            "test_one has a step that its text does not show: *",
        ),
    ],
)
@pytest.mark.parametrize("options", [(), ("-n1",)])
def test_marks_that_make_no_steps_are_an_error_of_the_module(
    course: MiniCourse, options: tuple[str, ...], old: str, new: str, says: str
) -> None:
    """The error is a line, without a traceback; the other katas run."""
    course.plugins(*PLUGINS)
    course.kata(test=TESTS.replace(old, new, 1))
    course.kata("k02_plain", test="def test_it(): pass")

    result = course.run("--continue-on-collection-errors", *options)

    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines([f"test_k01_first.py: {says}"])
    result.stdout.no_fnmatch_line("*Traceback*")
