"""What a wrong answer breaks is a sentence of its kata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.answers import Answers
from tests.gate.answers import Wrong
from tests.gate.answers import read_answers
from tests.gate.brief_rules import misquoted
from tests.gate.cases import read_gate


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Kata
    from tests.conftest import MiniCourse

STUB = '''"""A kata. It must return an int.

- Never call max
- what it returns is
  the same for both; read it at once.
"""

def clamp(x):
    """Return x, clamped; musty and sameness are other words."""
    raise NotImplementedError("clamp")


class Box:
    """Once."""
'''
SOURCE = """// Bias, fused. Allocate once,
// and never again.
#include <x>
/* Keep the
 * same order. */
"""


@pytest.fixture
def kata(course: MiniCourse) -> Kata:
    """Return the kata of a course, written from the stub above."""
    course.kata(stub=STUB)
    return read_gate(course.path).katas[0]


def wrong(*breaks: str) -> Wrong:
    """Return a wrong answer that breaks what is quoted."""
    return Wrong("it does not", "test_it", "k01_first.py", replace="a", by="b", breaks=breaks)


def problems(kata: Kata, *breaks: str) -> list[str]:
    """Return what is wrong with the quotations of one wrong answer."""
    return list(misquoted(kata, Answers((wrong(*breaks),), ())))


def test_words_of_the_kata_may_be_quoted(kata: Kata) -> None:
    """Of the brief and of docstrings, a part of a sentence too, over the end of a line."""
    assert [] == problems(kata, "must return", "what it\nreturns is", "is the same for", "clamped;")


def test_a_quotation_that_is_nowhere_is_told(kata: Kata) -> None:
    """The brief has changed."""
    (problem,) = problems(kata, "must return", "must print")

    assert "`breaks` quotes 'must print', which neither the brief nor a docstring says" == problem


def test_comments_are_the_words_of_cxx(course: MiniCourse) -> None:
    """Line comments and blocks."""
    course.kata(csrc=("csrc/k01_first.cpp",), stub=SOURCE)
    kata = read_gate(course.path).katas[0]

    assert [] == problems(kata, "Allocate once, and never again.", "Keep the same order.")
    assert 1 == len(problems(kata, "include"))


def test_quotations_are_read(tmp_path: Path) -> None:
    """From the file of wrong answers."""
    file = tmp_path / "k01.toml"
    file.write_text(
        '[[wrong]]\nbecause = "x"\nrejected_by = "test_it"\nfile = "k01.py"\nreplace = "a"\n'
        'by = "b"\nbreaks = ["must return"]\n'
    )

    assert ("must return",) == read_answers(file).wrong[0].breaks
