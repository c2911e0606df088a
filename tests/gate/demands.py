"""Finds what a kata demands: sentences of its brief and docstrings with must, never, once or same.

Each is a rule that an answer can break, so each has a wrong answer that does, or a reason why it
demands nothing: it describes what is given, or says "the same" of two things that are not the
learner's.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tests.gate.cases import solution_files
from tests.gate.cases import stub_text


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.course.model import Kata
    from tests.gate.answers import Answers


WORDS = re.compile(r"\b(?:must|never|once|same)\b", re.IGNORECASE)
ENDS = re.compile(r"(?<=[.;!?:])\s+|\n\s*(?=\n|[-*]\s|\d+\.\s)")
BULLET = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
COMMENT = re.compile(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+", re.DOTALL | re.MULTILINE)
MARKERS = re.compile(r"^\s*(?://|/\*|\*/|\*)[ \t]?|\*/\s*$", re.MULTILINE)


def demands(kata: Kata) -> list[str]:
    """Return the demands of a kata, each on one line, in the order of its files."""
    found = []
    for file in solution_files(kata):
        texts = _docstrings if file.endswith(".py") else _comments
        for text in texts(stub_text(kata, file)):
            found += [
                _line(BULLET.sub("", part)) for part in ENDS.split(text) if WORDS.search(part)
            ]
    return found


def unbroken(kata: Kata, answers: Answers) -> Iterator[str]:
    """Yield a problem for each demand that no wrong answer breaks, and for each stale quotation."""
    every = demands(kata)
    quoted = {_line(text) for answer in answers.wrong for text in answer.breaks}
    excused = {_line(entry.text) for entry in answers.no_demand}
    for demand in every:
        if not any(text in demand for text in quoted | excused):
            yield (
                f"no wrong answer breaks {demand!r}: quote it in the `breaks` of one that does, or "
                f"under [[no_demand]] with the reason"
            )
    for text in sorted(quoted | excused):
        if not any(text in demand for demand in every):
            yield f"{text!r} is quoted, but no sentence with must, never, once or same has it"


def _docstrings(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def _comments(text: str) -> Iterator[str]:
    for match in COMMENT.finditer(text):
        yield MARKERS.sub("", match[0])


def _line(text: str) -> str:
    return " ".join(text.split())
