"""Finds the universal sentences of a lecture, for the record of what holds them.

A universal sentence says that something is so without exception. One case that is otherwise makes
it wrong, so each has a test that would see such a case, or claims nothing: it is an instruction, a
definition, a question.
"""

from __future__ import annotations

import ast
import re
import tomllib
from typing import TYPE_CHECKING
from typing import Any

from tests.gate.cases import solution_files
from tests.gate.cases import stub_text
from tests.gate.demands import BULLET
from tests.gate.demands import COMMENT
from tests.gate.demands import ENDS
from tests.gate.demands import MARKERS


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from plugins.course.model import Kata
    from plugins.course.model import Lecture


# "All" counts at the beginning of a clause; elsewhere it says what an operation takes, as in "the
# sum over all dims". So does "none" behind "is" and "has", as in "0 if there is none". A plain "no"
# and "each" stand in every second sentence, and "only" limits.
WORDS = re.compile(
    r"\b(?:always|every(?:body|thing|where)?|nothing|nowhere)\b"
    r"|\b(?<!is )(?<!has )none\b"
    r"|(?:^|[,;:(] )all\b"
    r"|\bno\b.*\bever\b",
    re.IGNORECASE,
)
# In a stub the gate asks for a wrong answer that breaks it: tests/gate/demands.py.
NEVER = re.compile(r"\bnever\b", re.IGNORECASE)
# What begins with "Return" is the task itself, which all tests of a kata are about.
TASK = re.compile(r"Return\b")
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)


def record_of(folder: Path) -> dict[str, Any]:
    """Return the record of a lecture, empty if it has none."""
    file = folder.parents[1] / "tests" / "evidence" / f"{folder.name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def is_held(place: str, sentence: str, record: dict[str, Any]) -> bool:
    """Whether a record has the beginning of a sentence, as far as what makes it universal."""
    return any(
        sentence.startswith(start)
        and is_universal(start, stub=place.endswith((".py", ".cpp", ".cu")))
        for start in record.get(place, {})
    )


def unheld(found: dict[str, list[str]], record: dict[str, Any]) -> list[tuple[str, str]]:
    """Return those of universal sentences, by their place, that a record does not have."""
    return [
        (place, line)
        for place, lines in found.items()
        for line in lines
        if not is_held(place, line, record)
    ]


def sentences(lecture: Lecture) -> dict[str, list[str]]:
    """Return the universal sentences of README, stubs and hints, by their place."""
    return _universal(_texts(lecture))


def sentences_of(kata: Kata) -> dict[str, list[str]]:
    """Return the universal sentences of a kata's stubs and hints, by their place."""
    return _universal(_texts_of(kata))


def _universal(texts: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for place, text in texts:
        for part in ENDS.split(text):
            line = " ".join(BULLET.sub("", part).split())
            if is_universal(line, stub=place.startswith(("k", "csrc/")) and " hint " not in place):
                found.setdefault(place, []).append(line)
    return found


def is_universal(sentence: str, *, stub: bool) -> bool:
    """Whether a sentence claims that something is so without exception."""
    if TASK.match(sentence):
        return False
    plain = sentence.replace("None", "")
    return bool(WORDS.search(plain) or (not stub and NEVER.search(plain)))


def _texts(lecture: Lecture) -> Iterator[tuple[str, str]]:
    page = (lecture.folder / "README.md").read_text(encoding="utf-8")
    yield "README.md", FENCE.sub("", page)
    for kata in lecture.katas:
        yield from _texts_of(kata)


def _texts_of(kata: Kata) -> Iterator[tuple[str, str]]:
    for file in solution_files(kata):
        texts = _docstrings if file.endswith(".py") else _comments
        for text in texts(stub_text(kata, file)):
            yield file, text
    for number, hint in enumerate(kata.hints, 1):
        yield f"{kata.name} hint {number}", hint


def _docstrings(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def _comments(text: str) -> Iterator[str]:
    for match in COMMENT.finditer(text):
        yield MARKERS.sub("", match[0])
