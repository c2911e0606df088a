"""The words of docstrings, comments, messages and pages: plain English, with an actor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from plugins import HERE
from plugins import ROOT


if TYPE_CHECKING:
    from pathlib import Path


# Counted against pytest's own source, which has one of them, once.
WORDS = re.compile(r"\b(anybody|likewise|nobody|shall|what became of|whoever)\b", re.IGNORECASE)
TYPES = {".cpp", ".css", ".h", ".html", ".js", ".json", ".md", ".py"}
PAGES = [ROOT / "conftest.py", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FILES = [
    *PAGES,
    *sorted(file for file in HERE.rglob("*") if file.suffix in TYPES),
    *sorted((ROOT / "docs").glob("*.md")),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_sentence_hides_who_acts(file: Path) -> None:
    """It names the learner, the author or the program instead of nobody and whoever."""
    text = " ".join(file.read_text(encoding="utf-8").split())

    assert [] == [text[max(0, it.start() - 40) : it.end() + 40] for it in WORDS.finditer(text)]
