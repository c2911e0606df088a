"""The moment when a kata is solved, and the end of a lecture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plugins import ROOT
from plugins.course.lectures import read_course
from plugins.course.model import EpisodeRef
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.loop.moment import Moment
from plugins.loop.moment import fit_parts
from plugins.loop.moment import format_ended
from plugins.loop.moment import format_moment
from plugins.loop.reference import Comparison
from plugins.loop.screen import ScreenLine
from plugins.loop.screen import count_rows
from plugins.loop.tally import Tally
from plugins.progress.store import change_standing


LECTURES = sorted(ROOT.glob("katas/lecture*/"))


@pytest.mark.parametrize(
    ("learned", "episodes", "shown"),
    [
        ("", (), []),
        ("", ("why strides fit", "more"), ["learned why strides fit"]),
        ("`view` copies nothing.", (), ["learned `view` copies nothing."]),
        ("`view` copies nothing.", ("why strides fit",), ["learned `view` copies nothing."]),
    ],
)
def test_the_moment_says_what_was_learned(
    learned: str, episodes: tuple[str, ...], shown: list[str]
) -> None:
    """The kata's own sentence; without one what its first episode explains, or nothing."""
    refs = tuple(EpisodeRef("strides", why) for why in episodes)
    empty: tuple[()] = ()
    kata = Kata("lecture04", "k01_a", "", "lab", (), refs, empty, (), (), (), (), Path("lecture04"))
    tally = Tally("lecture04", 1, 2, 1, 2)
    moment = Moment(replace(kata, learned=learned), 120.0, 0, None, tally)
    lines = list(format_moment(moment, [], (80, 24), blocks=False))

    assert [line.text for line in lines] == [
        "",
        "lecture04/k01_a is solved: ",
        *shown,
        "time    2 min, no hint",
        "lecture04 ##########.......... 1 of 2",
        "Nothing else is open here.",
    ]
    assert "bold" == lines[1].style


def test_the_next_lecture_is_named_with_its_command() -> None:
    """Where nothing is left of the command's own."""
    empty: tuple[()] = ()
    kata = Kata("lecture04", "k01_a", "", "lab", empty, empty, empty, empty, empty, empty, empty,
                Path("lecture04"))  # fmt: skip
    beyond = replace(kata, lecture="lecture05", title="A lab", size="spark", minutes=5)
    tally = Tally("lecture04", 1, 1, 1, 1)
    moment = Moment(kata, 0.0, 0, None, tally, beyond, "pytest katas/lecture05 --watch --next")
    *_, first, second = (line.text for line in format_moment(moment, [], (80, 24), blocks=False))

    assert "next    lecture05/k01_a, A lab (spark, 5 min): pytest katas/lecture05 --watch" == first
    assert "        --next" == second


def fitted(parts: list[Comparison], room: int) -> list[str]:
    """Return the first columns of the parts' lines in so many rows."""
    return [line.text[:7] for line in fit_parts(parts, room, 80)]


def test_the_reference_gives_way_to_what_was_learned() -> None:
    """What does not fit is counted, in rows of the terminal."""
    parts = [Comparison((ScreenLine(text),)) for text in ("x" * 100, "y", "z")]

    assert ["x" * 7, "y", "z"] == fitted(parts, 4)
    assert ["x" * 7, "(2 more"] == fitted(parts, 3)
    assert ["(3 more"] == fitted(parts, 2)
    assert ["(3 more"] == fitted(parts, 0)


def test_something_is_seen_of_each_function() -> None:
    """The path goes first, then rows alike at the beginning; then all are cut to one length."""
    alike, rows = ScreenLine("alike"), [ScreenLine(str(n), "yellow") for n in range(4)]
    parts = [
        Comparison((ScreenLine("f"),), (alike, *rows)),
        Comparison((ScreenLine("g"),), (*rows[:2], alike)),
        Comparison((ScreenLine("h: same"),)),
        Comparison((ScreenLine("whole"),), whole=True),
    ]

    assert ["f", "alike", *"0123", "g", "0", "1", "alike", "h: same", "whole"] == fitted(parts, 12)
    assert ["f, from", *"0123", "g", "0", "1", "alike", "h: same", "(2 more"] == fitted(parts, 11)
    assert ["f, from", "0", "1", "2", "g", "0", "1", "h: same", "(4 more"] == fitted(parts, 9)
    assert ["f, from", "0", "1", "g", "0", "1", "h: same", "(5 more"] == fitted(parts, 8)
    assert ["f, from", "0", "g", "0", "h: same", "(7 more"] == fitted(parts, 6)
    assert ["f", "alike", "0", "1", "(8 more"] == fitted(parts, 5)


def test_a_lecture_ends_with_what_one_can_do_now(tmp_path: Path) -> None:
    """From its README; one without goals has the rest."""
    goals = "## What you will be able to do\n\n- Read `x`,\n  and write it.\n- Go.\n"
    readme = f"# L\n\n{goals}\n## Then\n- no\n"
    (tmp_path / "README.md").write_text(readme)
    folder = tmp_path / "lecture04"
    kata = Kata("lecture04", "k01_a", "", "lab", (), (), (), (), (), (), (), folder)
    lecture = Lecture("lecture04", "The dispatcher", {}, (kata,), tmp_path)
    change_standing(tmp_path, kata, lambda old: replace(old, seconds=7200.0))
    optional = [ScreenLine("2 more are optional")]
    pages = {
        rows: [line.text for line in format_ended(tmp_path, lecture, optional, (80, rows))]
        for rows in (8, 7, 5, 4)
    }
    (tmp_path / "README.md").unlink()

    assert pages[8] == [
        "The end of lecture04: The dispatcher",
        "",
        "What you can do now:",
        "- Read x, and write it.",
        "- Go.",
        "",
        "It took 2 h 00 min. This is a good place to stop.",
        "2 more are optional",
    ]
    assert pages[7] == [line for line in pages[8] if line]
    assert pages[5] == [*pages[7][:2], "- and 2 more, in its README.md", *pages[7][-2:]]
    assert pages[4] == pages[5]
    assert 3 == len(format_ended(tmp_path, lecture, [], (80, 24)))


@pytest.mark.parametrize("lecture", read_course(LECTURES).lectures, ids=lambda each: each.name)
def test_each_lecture_ends_on_one_screen(lecture: Lecture, tmp_path: Path) -> None:
    """Of 24 rows; some of its goals are there."""
    ending = 8  # with the blank row above
    page = format_ended(tmp_path, lecture, [], (80, 20 - ending))
    goals = [line.text for line in page if line.text.startswith("- ")]

    assert count_rows(page, 80) <= 20 - ending
    assert len(goals) >= 3
