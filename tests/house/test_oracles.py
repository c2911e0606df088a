"""Two katas of each lecture have a snapshot or gradcheck as an oracle; a page says which."""

from __future__ import annotations

import re

import pytest

from plugins import ROOT
from tests.support.wholecourse import real_course


PAGE = ROOT / "docs/oracles.md"
SNAPSHOT = re.compile(r"\bassert_expected_inline\(")
GRADCHECK = re.compile(r"\bgrad(?:grad)?check[(,]")
ENOUGH = 2
LECTURES = [lecture.name for lecture in real_course().lectures]


def oracles(lecture: str) -> tuple[list[str], list[str]]:
    """Return the numbers of a lecture's katas with a snapshot, and of those with gradcheck."""
    found: tuple[list[str], list[str]] = ([], [])
    for kata in real_course().katas:
        if kata.lecture == lecture:
            text = kata.test.read_text(encoding="utf-8")
            for names, pattern in zip(found, (SNAPSHOT, GRADCHECK), strict=True):
                if pattern.search(text):
                    names.append(kata.name.partition("_")[0])
    return found


def row(lecture: str) -> str:
    """Return the row of a lecture in the table of the page."""
    return f"| {lecture} | {' | '.join(' '.join(names) for names in oracles(lecture))} |"


@pytest.mark.parametrize("lecture", LECTURES)
def test_a_lecture_has_two(lecture: str) -> None:
    """A value may be right by luck; what is printed, and what differences say, is not."""
    snapshots, gradchecks = oracles(lecture)

    assert len({*snapshots, *gradchecks}) >= ENOUGH


def test_the_page_says_which() -> None:
    """A row for each lecture, in their order."""
    text = PAGE.read_text(encoding="utf-8")
    rows = "\n".join(map(row, LECTURES))

    assert rows in text, f"docs/oracles.md lacks these rows:\n{rows}"
