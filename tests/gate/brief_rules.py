"""Checks that what a wrong answer says it breaks is a sentence of the brief or of a docstring."""

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


COMMENT = re.compile(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+", re.DOTALL | re.MULTILINE)
MARKERS = re.compile(r"^\s*(?://|/\*|\*/|\*)[ \t]?|\*/\s*$", re.MULTILINE)


def misquoted(kata: Kata, answers: Answers) -> Iterator[str]:
    """Yield a problem for each quotation that the words of the kata do not have, or no more."""
    words = [
        _line(part)
        for file in solution_files(kata)
        for part in (_docstrings if file.endswith(".py") else _comments)(stub_text(kata, file))
    ]
    quoted = {_line(text) for answer in answers.wrong for text in answer.breaks}
    for text in sorted(quoted):
        if not any(text in part for part in words):
            yield f"`breaks` quotes {text!r}, which neither the brief nor a docstring says"


def _docstrings(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def _comments(text: str) -> Iterator[str]:
    for match in COMMENT.finditer(text):
        yield MARKERS.sub("", match[0])


def _line(text: str) -> str:
    return " ".join(text.split())
