"""The bar of a lecture, and the count of all lectures beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plugins.course.model import Kata
from plugins.loop.tally import Tally
from plugins.loop.tally import format_bar
from plugins.loop.tally import tally_of


def test_the_bar_is_what_the_terminal_can_show() -> None:
    """And an empty lecture has one too; the first solved kata lights a block."""
    half, first, none = (Tally("lecture01", n, of, n, of) for n, of in ((2, 4), (1, 99), (0, 0)))

    assert "lecture01 ##########.......... 2 of 4" == format_bar(half, blocks=False)
    assert "lecture01 ██████████░░░░░░░░░░ 2 of 4" == format_bar(half, blocks=True)
    assert f"lecture01 #{'.' * 19} 1 of 99" == format_bar(first, blocks=False)
    assert f"lecture01 {'.' * 20} 0 of 0" == format_bar(none, blocks=False)


def test_the_bar_counts_what_waits_and_the_other_lectures() -> None:
    """The longest line fits into 80 columns."""
    one, more = (
        format_bar(Tally("lecture01", 9, 13, 200, 235, n, "core path"), blocks=False)
        for n in (1, 10)
    )

    assert "lecture01 #############....... 9 of 13, 1 postponed   core path: 200 of 235" == one
    assert "9 of 13, 10 postponed   core path: 200 of 235" in more
    assert len(more) <= 80


def a_kata(lecture: str, name: str) -> Kata:
    """Return a kata."""
    return Kata(lecture, name, "T", "lab", (), (), (), (), (), (), (), Path(lecture))


def test_a_tally_counts_the_lecture_of_the_kata() -> None:
    """What was put off and is solved by now does not wait."""
    solved, skipped = {"lecture01/k01_a"}, ["lecture01/k01_a", "lecture01/k02_b", "lecture02/k01_a"]
    core = [
        a_kata("lecture01", "k01_a"),
        a_kata("lecture01", "k02_b"),
        a_kata("lecture02", "k01_a"),
    ]
    optional = [replace(kata, core=False) for kata in core]

    assert Tally("lecture01", 1, 2, 1, 3, 1, "core path") == tally_of(
        core[:2], core, solved, skipped
    )
    assert "all katas" == tally_of(optional[:2], optional, solved, skipped).whole
