"""Each kata of the course says in lecture.toml what it has shown, in a line for the screen."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.course.lectures import read_lecture
from plugins.loop.screen import label_paragraph


if TYPE_CHECKING:
    from plugins.course.model import Kata


KATAS = [
    kata
    for file in sorted(ROOT.glob("katas/*/lecture.toml"))
    for kata in read_lecture(file.parent).katas
]


@pytest.mark.parametrize("kata", KATAS, ids=lambda kata: kata.id)
def test_each_kata_says_what_it_has_shown(kata: Kata) -> None:
    """One sentence that fits two lines of a terminal, and is no promise of an episode."""
    learned = kata.learned

    assert learned, f"{kata.id} lacks learned in lecture.toml: see docs/authoring.md"
    assert "." == learned[-1], f"a sentence ends in a full stop: {learned}"
    assert 0 == learned.count("`") % 2, f"a backtick has no partner: {learned}"
    assert 2 >= len(label_paragraph("learned", learned)), f"three lines of a terminal: {learned}"
    assert learned not in {kata.title, *(episode.why for episode in kata.episodes)}


def test_no_two_katas_say_the_same() -> None:
    """What another kata has shown already is not what this one is for."""
    twice = [text for text, times in Counter(kata.learned for kata in KATAS).items() if times > 1]

    assert [] == twice
