"""The steps of a lab, read from the text of its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.guide.steps import LabStep
from plugins.guide.steps import Marked
from plugins.guide.steps import current_step
from plugins.guide.steps import function_of
from plugins.guide.steps import read_marked
from plugins.guide.steps import read_steps
from plugins.guide.steps import steps_of
from plugins.guide.steps import wrong_steps


if TYPE_CHECKING:
    from pathlib import Path


TEXT = """
import pytest

ALL = OTHERS = pytest.mark.step(2, "all operators")
ALL.name, other = 1, 2

@pytest.mark.given
def test_given(): pass

@pytest.mark.step(1, "record")
def test_add(): pass

@OTHERS
@pytest.mark.parametrize("n", [1, 2])
def test_mul(n): pass

@ALL
@unknown
def test_sub(): pass

def helper(): pass

def test_last(): pass
"""
ADD, MUL = LabStep(1, 2, "record"), LabStep(2, 2, "all operators")
STEPS = {"test_add": ADD, "test_mul": MUL, "test_sub": MUL}


def test_a_step_says_which_of_how_many_it_is() -> None:
    """As the terminal, the page and the brief have it."""
    assert str(MUL) == "step 2 of 2: all operators"


def test_the_steps_are_read_from_the_text(tmp_path: Path) -> None:
    """Above the test, or by a name of the module; the last one is the highest number."""
    file = tmp_path / "test_k01_first.py"
    file.write_text(TEXT)

    assert read_steps(file) == STEPS
    assert [] == [*wrong_steps(read_marked(TEXT))]


@pytest.mark.parametrize("text", ["", "def test(): pass", f"{TEXT}\ndef ("])
def test_a_module_without_steps_has_none(tmp_path: Path, text: str) -> None:
    """Neither has one that cannot be parsed, whose import says so."""
    file = tmp_path / "test_k01_first.py"
    file.write_text(text)

    assert read_steps(file) == {}
    assert read_steps(tmp_path / "missing.py") == {}


def marked(*marks: str) -> list[Marked]:
    """Return the tests ``test_0``, ``test_1``, ... with these decorators."""
    parts = [f"{mark}\ndef test_{place}(): pass\n" for place, mark in enumerate(marks)]
    return read_marked("".join(parts))


ONE, TWO = '@pytest.mark.step(1, "a")', '@pytest.mark.step(2, "b")'


@pytest.mark.parametrize(
    ("marks", "says"),
    [
        ([ONE, f"{ONE}\n{TWO}"], "test_1 is in 2 steps: a test is in one"),
        (['@pytest.mark.step("a", 1)'], "test_0: expected @pytest.mark.step(2, "),
        (['@pytest.mark.step(0, "a")'], "test_0: expected"),
        (['@pytest.mark.step(True, "a")'], "test_0: expected"),
        (['@pytest.mark.step(1, " ")'], "test_0: expected"),
        (["@pytest.mark.step(1)"], "test_0: expected"),
        (["@pytest.mark.step"], "test_0: expected"),
        (["@pytest.mark.step(N, 'a')"], "test_0: expected"),
        (["@pytest.mark.step(1, title='a')"], "test_0: expected"),
        (
            [ONE, '@pytest.mark.step(1, "b")'],
            "step 1 has one title, and is called 'a' by test_0 and 'b' by test_1",
        ),
        ([TWO], "step 1 has no test: number the steps from 1 on"),
        ([TWO, ONE], "test_1 is in step 1, so it comes before those of step 2"),
        (["", ONE, TWO], "test_0 is in no step, so it comes after test_1, which is in one"),
        ([ONE, "", TWO], "test_1 is in no step, so it comes after test_2, which is in one"),
    ],
)
def test_what_makes_no_steps_is_one_line(marks: list[str], says: str) -> None:
    """It names the test and what is expected."""
    (line,) = wrong_steps(marked(*marks))

    assert line.startswith(says)


def test_a_wrong_mark_puts_a_test_in_no_step() -> None:
    """The others are in theirs."""
    assert steps_of(marked(ONE, "@pytest.mark.step")) == {"test_0": LabStep(1, 1, "a")}


@pytest.mark.parametrize("name", ["test_mul", "test_mul[1]", "TestIt::test_mul[a::b]"])
def test_all_parameters_of_a_test_are_one_function(name: str) -> None:
    """A node id may be all of the name, or begin with a path."""
    assert function_of(name) == function_of(f"katas/test_k01.py::{name}") == "test_mul"


@pytest.mark.parametrize(
    ("verdicts", "step"),
    [
        ({}, None),
        ({"": "failed"}, None),
        ({"test_last": "passed"}, None),
        ({"test_add": "passed"}, MUL),
        ({"test_add": "failed"}, ADD),
        ({"test_add": "passed", "test_mul[1]": "passed", "test_mul[2]": "failed"}, MUL),
        ({"test_sub": "failed", "test_add": "failed"}, ADD),
        ({"test_mul[1]": "passed"}, ADD),
        ({"test_add": "passed", "test_mul": "skipped", "test_sub": "passed"}, None),
        ({"test_add": "passed", "test_last": "failed"}, None),
    ],
)
def test_the_step_of_a_kata_in_progress(verdicts: dict[str, str], step: LabStep | None) -> None:
    """It is the first that fails, or else the first that has not run."""
    assert current_step(STEPS, verdicts) == step
