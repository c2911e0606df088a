"""What is said of a solved kata."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plugins.course.model import Kata
from plugins.loop.solved import learned_lines
from plugins.loop.solved import solved_line


def test_a_long_sentence_is_wrapped_below_its_label() -> None:
    """And the announcement has the title."""
    words = "word " * 20
    empty: tuple[()] = ()
    kata = Kata("lecture04", "k01_a", "T", "lab", (), empty, (), (), (), (), (), Path("lecture04"))
    lines = [line.text for line in learned_lines(replace(kata, learned=words))]

    assert "lecture04/k01_a is solved: T" == solved_line(kata).text
    assert ["learned word", "        word"] == [line[:12] for line in lines]
    assert [] == [*learned_lines(kata)]
