"""What stays on a screen of 24 rows and 80 columns, in a terminal: of real katas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.loop.watch_state import WELCOME
from tests.recording import copied
from tests.support.terminal import Terminal
from tests.support.terminal import screen_of


if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.torch
LECTURE = "katas/lecture01"
KEYS = "n next  h hint  l list  r rerun  q quit"


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A course with the first lecture, which nobody has begun."""
    return copied(tmp_path, LECTURE)


def shown(folder: Path, *options: str) -> list[str]:
    """Return the rows on the screen once a learner can type again."""
    environment = {"PYTHONPATH": str(ROOT)}
    with Terminal(folder, "katas", "--next", *options, rows=24, **environment) as terminal:
        if not options:
            return screen_of(terminal.end()[1])
        text = terminal.shown()
        terminal.process.send("q")
        terminal.end()
    return screen_of(text)


@pytest.mark.parametrize("options", [[], ["--watch"]])
def test_the_first_screen_of_a_fresh_checkout(fresh: Path, options: list[str]) -> None:
    """All of it is there: from the bar to the keys, where to edit and what failed."""
    rows = shown(fresh, *options)

    text = "\n".join(rows)
    assert WELCOME.splitlines() == rows[:2] or not options
    assert " of 13 katas solved" in text
    assert f"{LECTURE.rpartition('/')[2]}/k01_arrivals: What arrives" in text
    assert f"\nlecture {LECTURE}/README.md, with a picture\n" in text
    assert "\nbrief   See what arrives" in text
    assert f"\nedit    {LECTURE}/k01_arrivals.py:" in text
    assert "\ntest    test_x_plus_one: One operator" in text
    assert "\nNotImplementedError: Log\n" in text
    assert f"\n{LECTURE}/k01_arrivals.py:" in text
    assert "\nlisten  #2 History and constraints of the dispatcher" in text
    assert "https://" not in text
    if options:
        assert "\nhint    press h\n" in text
        assert [KEYS, ""] == rows[-2:]
    else:
        assert "\nagain   pytest --color=no katas --next\n" in text


@pytest.mark.parametrize("options", [[], ["--watch"]])
def test_the_screen_of_a_wrong_answer(fresh: Path, options: list[str]) -> None:
    """The same, with the message of the assertion, however long it is."""
    exercise = fresh / LECTURE / "k01_arrivals.py"
    solution = (fresh / LECTURE / "solutions/k01_arrivals.py").read_text()
    exercise.write_text(solution.replace("append(str(func))", "append(repr(func))"))
    assert exercise.read_text() != solution
    rows = shown(fresh, *options)

    text = "\n".join(rows)
    assert " of 13 katas solved" in text
    assert f"\nedit    {LECTURE}/k01_arrivals.py:" in text
    assert "\ntest    test_x_plus_one: One operator" in text
    assert "\nAssertionError: " in text
    assert "https://" not in text
    assert (KEYS in rows) == bool(options)
