"""Each must, never, once and same of a kata has a wrong answer that breaks it, or a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.answers import Answers
from tests.gate.answers import NoDemand
from tests.gate.answers import Wrong
from tests.gate.answers import read_answers
from tests.gate.cases import read_gate
from tests.gate.demands import demands
from tests.gate.demands import unbroken


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


def test_sentences_with_these_words_are_demands(kata: Kata) -> None:
    """Of the brief and of docstrings, by sentence, clause and bullet."""
    assert [
        "It must return an int.",
        "Never call max",
        "what it returns is the same for both;",
        "read it at once.",
        "Once.",
    ] == demands(kata)


def test_a_demand_is_quoted_or_excused(kata: Kata) -> None:
    """By a part of it, over line ends too; what remains is named."""
    answers = Answers(
        wrong=(wrong("must return", "call max"), wrong("what it\nreturns is")),
        equivalent=(),
        no_demand=(NoDemand("at once", "it is about reading"),),
    )
    (problem,) = unbroken(kata, answers)

    assert problem.startswith("no wrong answer breaks 'Once.': quote it in the `breaks`")


def test_a_quotation_that_is_nowhere_is_stale(kata: Kata) -> None:
    """The brief has changed."""
    problems = list(unbroken(kata, Answers((wrong("must return", "must print"),), ())))

    assert (
        "'must print' is quoted, but no sentence with must, never, once or same has it" in problems
    )


def test_a_file_without_quotations_lacks_all(kata: Kata) -> None:
    """Each demand is named, in the order of the files."""
    problems = list(unbroken(kata, Answers((wrong(),), ())))

    assert [True] * len(problems) == [
        repr(demand) in problem for demand, problem in zip(demands(kata), problems, strict=True)
    ]


def test_comments_are_the_briefs_of_cxx(course: MiniCourse) -> None:
    """Line comments and blocks."""
    course.kata(csrc=("csrc/k01_first.cpp",), stub=SOURCE)
    kata = read_gate(course.path).katas[0]

    assert ["Allocate once, and never again.", "Keep the same order."] == demands(kata)


def test_quotations_are_read(tmp_path: Path) -> None:
    """From the file of wrong answers."""
    file = tmp_path / "k01.toml"
    file.write_text(
        '[[wrong]]\nbecause = "x"\nrejected_by = "test_it"\nfile = "k01.py"\nreplace = "a"\n'
        'by = "b"\nbreaks = ["must return"]\n'
        '[[no_demand]]\ntext = "at once"\nreason = "it is about reading"\n'
    )
    answers = read_answers(file)

    assert ("must return",) == answers.wrong[0].breaks
    assert (NoDemand("at once", "it is about reading"),) == answers.no_demand
