"""What a pull request is, judged from its files: practice, a contribution, or both."""

from __future__ import annotations

import pytest

from plugins.fork.judge import Change
from plugins.fork.judge import Judgement
from plugins.fork.judge import judge
from plugins.fork.judge import part_of
from tests.support.fork import SOLVED
from tests.support.fork import STUB


FOLDER = "katas/lecture01"
KATA = f"{FOLDER}/k01_first.py"
TEST = f"{FOLDER}/test_k01_first.py"
SOLUTION = f"{FOLDER}/solutions/k01_first.py"
NAME = "lecture01/k01_first"
TWO = f"""{STUB}

def other(n):
    # TODO
    raise NotImplementedError("other")


def given(n):
    return n
"""
ONE_FILLED = TWO.replace('raise NotImplementedError("other")', "return n")


def change(before: str | None, after: str | None, path: str = KATA) -> Change:
    """Return a change of the exercise, or of another file."""
    old, new = (None if text is None else text.encode() for text in (before, after))
    return Change(path, old, new)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (KATA, "exercise"),
        (f"{FOLDER}/csrc/k01_first.cu", "exercise"),
        (TEST, "tests"),
        (SOLUTION, "solution"),
        (f"{FOLDER}/solutions/csrc/k01_first.cpp", "solution"),
        ("katas/lecture01/.meta/k01_first/wrong.toml", "answers"),
        ("katas/lecture01/.meta/k01_first/right/k01_first.short.py", "answers"),
        (f"{FOLDER}/lecture.toml", None),
        ("plugins/k01_first.py", None),
    ],
)
def test_a_path_is_one_part_of_a_kata(path: str, expected: str | None) -> None:
    """Any other path belongs to no kata."""
    assert ((NAME, expected) if expected else None) == part_of(path)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (STUB, SOLVED, "practice"),
        (TWO, ONE_FILLED, "practice"),
        (TWO, TWO.replace("return n", "return 2 * n"), "contribution"),
        (TWO, TWO.replace("(n)", "(count)"), "contribution"),
        (TWO, TWO.replace("brief", "better brief"), "contribution"),
        (SOLVED, SOLVED.replace("2", "3"), "contribution"),
        (SOLVED, STUB, "contribution"),
        (None, STUB, "contribution"),
        (STUB, None, "contribution"),
    ],
)
def test_an_exercise_is_answered_where_a_place_was_filled(
    before: str | None, after: str | None, expected: str
) -> None:
    """A stub that was mended is no answer, and a file without a place to write has none."""
    assert expected == judge([change(before, after)]).verdict


def test_a_kata_that_changes_for_everybody_may_move_its_places() -> None:
    """Its tests and its solution change with it, both of them."""
    files = [change(TWO, ONE_FILLED), change("a", "b", TEST), change("a", "b", SOLUTION)]

    assert "contribution" == judge(files).verdict
    assert "mixed" == judge(files[:2]).verdict
    assert "mixed" == judge([files[0], files[2]]).verdict


def test_the_judgement_names_what_it_is_about() -> None:
    """Which katas are answered, which parts are touched, and what else there is."""
    files = [change(STUB, SOLVED), change("a", "b", TEST), change(None, "a", "notes.md")]

    expected = Judgement("mixed", (NAME,), ((NAME, ("exercise", "tests")),), (TEST, "notes.md"))
    assert expected == judge(files)
    assert Judgement("nothing") == judge([])


def test_a_comment_in_another_exercise_is_practice_still() -> None:
    """A comment is no change of another exercise."""
    other = KATA.replace("k01_first", "k02_second")
    files = [change(STUB, SOLVED), change(STUB, f"{STUB}# how?\n", other)]

    judgement = judge(files)
    assert ("practice", (NAME,)) == (judgement.verdict, judgement.filled)
