"""A failed row of a prediction comes with how many rows are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.guide.rows import count_right
from tests.support.threekatas import PLUGINS


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


NAME = "k01_first"
FILE = f"katas/lecture01/{NAME}.py"
STUB = 'def predictions():\n    # TODO: write them\n    raise NotImplementedError("predictions")\n'
TESTS = """
import pytest

from katas.lecture01.k01_first import predictions

RIGHT = {"one": 1, "two": 2, "three": 3, "four": 4}

@pytest.mark.given
@pytest.mark.parametrize("number", [1, 2])
def test_the_brief(number):
    assert number

def test_every_row_is_there():
    assert set(predictions()) == set(RIGHT)

@pytest.mark.parametrize("name", RIGHT)
def test_prediction(name):
    row = predictions()[name]
    is_right = row == RIGHT[name]

    assert is_right, f"{name}: yours {row}, which is not what counts"
"""
SECOND = """
@pytest.mark.parametrize("number", [5, 6])
def test_numbers(number):
    assert number in predictions().values()
"""


def predict(course: MiniCourse, **rows: int) -> None:
    """Write rows into the exercise; the others are right."""
    right = {"one": 1, "two": 2, "three": 3, "four": 4}
    course.write(FILE, f"def predictions():\n    return {right | rows}\n")


@pytest.fixture
def table(course: MiniCourse) -> MiniCourse:
    """A course of one kata, in which four rows are predicted."""
    course.plugins(*PLUGINS)
    course.kata(NAME, TESTS, stub=STUB, kind="problem")
    return course


@pytest.mark.parametrize(
    ("passed", "line"),
    [
        ([], "0 of 3 rows are right"),
        (["b"], "1 of 3 rows is right"),
        (["x", "a", "c"], "2 of 3 rows are right"),
    ],
)
def test_rows_that_passed_are_right(passed: list[str], line: str) -> None:
    """Other tests do not count."""
    assert line == count_right(["a", "b", "c"], passed)


@pytest.mark.parametrize("options", [(), ("-n1",), ("--all-failures",)])
def test_the_count_stands_before_what_is_wrong(table: MiniCourse, options: tuple[str, ...]) -> None:
    """In a plain run, where pytest shows the wrong rows; no right answer is told."""
    predict(table, two=7, four=8)
    result = table.run("katas", *options)
    lines = result.outlines
    text = result.stdout.str()

    assert lines.index("lecture01/k01_first: 2 of 4 rows are right") < lines.index(
        f"{' FAILURES ':=^80}"
    )
    assert 2 == text.count("which is not what counts\n")
    assert 1 == text.count("rows are right")


def test_the_first_wrong_row_comes_with_the_count(table: MiniCourse) -> None:
    """With ``--next``, whose run ends at the first other test that fails, but not at a row."""
    # Of another size: within a second Python would take the bytecode of the one before.
    predict(table, two=77, four=8)
    first = table.run("katas", "--next")
    predict(table, four=8)
    again = table.run("katas", "--next")

    for result, count, name, row in (
        (first, "2 of 4 rows are right", "two", 77),
        (again, "3 of 4 rows are right", "four", 8),
    ):
        at = result.outlines.index(count)
        expected = f"AssertionError: {name}: yours {row}, which is not what counts"
        assert expected == result.outlines[at + 1]


@pytest.mark.parametrize("options", [("katas", "-x"), ("katas", "--next")])
def test_what_is_no_row_is_not_counted(table: MiniCourse, options: tuple[str, ...]) -> None:
    """An untouched kata, a row that is missing, and rows of which not all have run."""
    untouched = table.run(*options)
    table.write(FILE, "def predictions():\n    return {'one': 2}\n")
    missing = table.run(*options)

    assert "rows" not in untouched.stdout.str()
    assert "rows are right" not in missing.stdout.str()


def test_rows_that_did_not_run_are_not_counted(table: MiniCourse) -> None:
    """``-x`` ends at the first wrong row: how many more are wrong is not known."""
    predict(table, two=7)

    assert "rows are right" not in table.run("katas", "-x").stdout.str()


@pytest.mark.parametrize(("kind", "more"), [("lab", ""), ("problem", SECOND)])
def test_not_every_parameter_is_a_row(course: MiniCourse, kind: str, more: str) -> None:
    """Only those of a prediction: a kata of its kind, whose tests have the same parameters."""
    course.plugins(*PLUGINS)
    course.kata(NAME, TESTS + more, stub=STUB, kind=kind)
    predict(course, two=7)
    plain, following = course.run("katas"), course.run("katas", "--next")

    for result in (plain, following):
        assert "yours 7, which is not what counts" in result.stdout.str()
        assert "rows are right" not in result.stdout.str()
