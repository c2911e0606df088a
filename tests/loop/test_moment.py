"""The moment when a kata is solved, and the end of a lecture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plugins.course.model import EpisodeRef
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.loop.moment import Moment
from plugins.loop.moment import format_ended
from plugins.loop.moment import format_moment
from plugins.loop.screen import ScreenLine
from plugins.loop.tally import Tally
from plugins.progress.store import change_standing


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


def test_the_reference_gives_way_to_what_was_learned() -> None:
    """What does not fit is counted, in rows of the terminal."""
    kata = Kata("lecture04", "k01_a", "", "lab", (), (), (), (), (), (), (), Path("lecture04"))
    moment = Moment(kata, 0.0, 0, None, Tally("lecture04", 1, 2, 1, 2))
    above = [ScreenLine("x" * 100), ScreenLine("y"), ScreenLine("z")]

    def shown(rows: int) -> list[str]:
        lines = format_moment(moment, above, (80, rows), blocks=False)
        return [line.text[:9] for line in lines if line.text][:-4]

    assert ["x" * 9, "y", "z"] == shown(9)
    assert ["x" * 9, "(2 more l"] == shown(8)
    assert ["(3 more l"] == shown(7)
    assert ["(3 more l"] == shown(0)


def test_a_lecture_ends_with_what_one_can_do_now(tmp_path: Path) -> None:
    """From its README; one without goals has the rest."""
    goals = "## What you will be able to do\n\n- Read `x`,\n  and write it.\n- Go.\n"
    readme = f"# L\n\n{goals}\n## Then\n- no\n"
    (tmp_path / "README.md").write_text(readme)
    folder = tmp_path / "lecture04"
    kata = Kata("lecture04", "k01_a", "", "lab", (), (), (), (), (), (), (), folder)
    lecture = Lecture("lecture04", "The dispatcher", {}, (kata,), tmp_path)
    change_standing(tmp_path, kata, lambda old: replace(old, seconds=7200.0))
    lines = [
        line.text for line in format_ended(tmp_path, lecture, [ScreenLine("2 more are optional")])
    ]
    (tmp_path / "README.md").unlink()

    assert lines == [
        "The end of lecture04: The dispatcher",
        "",
        "What you can do now:",
        "- Read x, and write it.",
        "- Go.",
        "",
        "It took 2 h 00 min. This is a good place to stop.",
        "2 more are optional",
    ]
    assert 3 == len(list(format_ended(tmp_path, lecture, [])))
