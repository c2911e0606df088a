"""Each universal sentence of a lecture has a test that holds it, or claims nothing.

``tests/evidence/lectureNN.toml`` has a table for each place: ``README.md``, a stub, or a hint as
``k01_first hint 2``. Its keys are beginnings of sentences. A value is a list of tests, or a table
with `given`, which says why the sentence claims nothing that a test could see.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.course.lectures import read_lecture
from tests.universal import is_universal
from tests.universal import record_of
from tests.universal import sentences
from tests.universal import unheld


if TYPE_CHECKING:
    from plugins.course.model import Lecture


# A lecture without a record has an empty one: its first universal sentence asks for the file.
RECORDS = {folder.name: record_of(folder) for folder in sorted((ROOT / "katas").glob("lecture*/"))}


@cache
def lecture(name: str) -> Lecture:
    """Return a lecture, read once."""
    return read_lecture(ROOT / "katas" / name)


@cache
def names_in(file: Path) -> set[str]:
    """Return the names of a module's tests, none if there is no such module."""
    if not file.is_file():
        return set()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


def module_of(name: str, place: str, test: str) -> Path:
    """Return the module of a test: the kata's own, the lecture's, or one that has its path."""
    folder = ROOT / "katas" / name
    file = test.rpartition("::")[0]
    if not file:
        return folder / f"test_{Path(place.split(maxsplit=1)[0]).stem}.py"
    return (ROOT if "/" in file else folder) / file


@pytest.mark.parametrize("name", RECORDS)
def test_each_universal_sentence_has_an_entry(name: str) -> None:
    """In README, briefs, docstrings and hints: find its test, make one, or say less."""
    missing = unheld(sentences(lecture(name)), RECORDS[name])

    assert [] == missing, f"add to tests/evidence/{name}.toml what holds these, or say less"


@pytest.mark.parametrize("name", RECORDS)
def test_each_entry_has_its_sentence(name: str) -> None:
    """One that was rephrased or has gone is looked at again."""
    found = sentences(lecture(name))
    stale = [
        f"{place}: {start}"
        for place, entries in RECORDS[name].items()
        for start in entries
        if not any(sentence.startswith(start) for sentence in found.get(place, []))
    ]

    assert [] == stale


@pytest.mark.parametrize("name", RECORDS)
def test_each_entry_names_tests_or_a_reason(name: str) -> None:
    """A test that was renamed is found again by its sentence."""
    unknown = []
    for place, entries in RECORDS[name].items():
        for start, value in entries.items():
            if isinstance(value, dict):
                known = ["given"] == list(value) and len(value["given"]) > len("so it is")
            else:
                known = bool(value) and all(
                    test.rpartition("::")[2] in names_in(module_of(name, place, test))
                    for test in value
                )
            if not known:
                unknown.append(f"{place}: {start}: {value}")

    assert [] == unknown


@pytest.mark.parametrize(
    "sentence",
    [
        "Every row is read.",
        "It changes nothing.",
        "Nothing is lost.",
        "all others stay.",
        "Where it is empty, all of it goes.",
        "No node ever dies.",
        "Of three, none is copied.",
    ],
)
def test_what_is_universal(sentence: str) -> None:
    """It says that something is so without exception."""
    assert is_universal(sentence, stub=True)


@pytest.mark.parametrize(
    "sentence",
    [
        "Return every row.",
        "The sum over all dims.",
        "0 if there is none.",
        "It returns None.",
        "Do whatever you like.",
        "It is never written to.",
    ],
)
def test_what_is_not(sentence: str) -> None:
    """A task, a number of things, a value; and in a stub what the gate looks after."""
    assert not is_universal(sentence, stub=True)
    assert is_universal("It is never written to.", stub=False)
