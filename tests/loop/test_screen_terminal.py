"""What stays on a screen of 24 rows and 80 columns, in a terminal: of real katas."""

from __future__ import annotations

from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.course.files import content_of
from plugins.course.lectures import read_course
from plugins.loop.watch_state import WELCOME
from plugins.progress.plugin import remember_run
from plugins.progress.standing import Results
from plugins.progress.standing import TestOutcome
from tests.recording import copied
from tests.support.terminal import Terminal
from tests.support.terminal import screen_of


if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.torch
LECTURE = "katas/lecture01"
KEYS = "n postpone  h hint  l list  r rerun  q quit"
BACK = "n postpone  b back  h hint  l list  r rerun  q quit"
SOLVED = "n next  b back  h hint  s solution  l list  r rerun  q quit"


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
    assert " 0 of 13" in text
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
    assert " 0 of 13" in text
    assert f"\nedit    {LECTURE}/k01_arrivals.py:" in text
    assert "\ntest    test_x_plus_one: One operator" in text
    assert "\nAssertionError: " in text
    assert "https://" not in text
    assert (KEYS in rows) == bool(options)


@pytest.mark.parametrize(
    ("kata", "old", "new", "line"),
    [
        (
            "k05_tape",
            "each.grad = grad if each.grad is None else each.grad + grad",
            "each.grad = grad",
            "    def backward(",
        ),
        (
            "k09_captured",
            'self.register_buffer("gain", torch.tensor(2.0))',
            "self.gain = torch.nn.Parameter(torch.tensor(2.0))",
            "class Gain(",
        ),
    ],
)
def test_the_line_to_edit_is_in_what_the_test_called(
    fresh: Path, kata: str, old: str, new: str, line: str
) -> None:
    """Of two methods to write that differ from the reference, and of a bug whose TODO is gone."""
    exercise = fresh / LECTURE / f"{kata}.py"
    solution = (fresh / LECTURE / "solutions" / exercise.name).read_text()
    assert old in solution
    wrong = solution.replace(old, new).replace("return result", "pass\n        return result")
    exercise.write_text(wrong)
    rows = shown(fresh, "--watch", "--from", f"lecture01/{kata}")

    at = 1 + next(n for n, text in enumerate(wrong.splitlines()) if text.startswith(line))
    assert f"edit    {LECTURE}/{kata}.py:{at}" in rows


def test_the_screens_of_an_evening(fresh: Path) -> None:
    """A kata that waits, a crash, a solved kata, the end of the lecture, and ``q``: all of each."""
    folder = fresh / LECTURE
    exercise, solutions = folder / "k01_arrivals.py", folder / "solutions"
    stub, right = exercise.read_text(), (solutions / exercise.name).read_text()
    crash = stub.replace('raise NotImplementedError("Log")', "__import__('os').abort()")
    assert crash != stub
    katas = read_course([folder]).katas
    environment = {"PYTHONPATH": str(ROOT)}
    with Terminal(fresh, "katas", "--watch", "--next", rows=24, **environment) as terminal:
        terminal.shown()
        waits = screen_of(terminal.press("n"))
        terminal.press("b")
        exercise.write_text(crash)
        crashed = screen_of(terminal.shown())
        exercise.write_text(right)
        solved = screen_of(terminal.shown())
        for kata in katas[1:-1]:
            run = Results(content_of(kata), {"test": TestOutcome("passed")}, 1)
            remember_run(fresh, kata, run, 60.0, datetime.now(UTC))
        last = folder / f"{katas[-1].name}.py"
        last.write_text((solutions / last.name).read_text())
        ended = screen_of(terminal.shown())
        terminal.process.send("q")
        _, goodbye = terminal.end()

    assert "lecture01/k01_arrivals is postponed: press b to go back to it" == waits[0]
    assert [row for row in waits if row.endswith(", 1 postponed")]
    assert [row for row in waits if row.startswith(f"edit    {LECTURE}/k04_threads.py:")]
    assert [BACK, ""] == waits[-2:]

    assert f"saved   {LECTURE}/k01_arrivals.py" == crashed[0]
    assert [row for row in crashed if "abort (SIGABRT)" in row]
    assert [row for row in crashed if row.startswith(f"edit    {LECTURE}/k01_arrivals.py:")]
    assert "q quit" in crashed[-2]

    learned = next(row for row in solved if row.startswith("learned "))
    assert (
        "lecture01/k01_arrivals is solved: What arrives when you write x + 1"
        == (solved[solved.index(learned) - 1])
    )
    assert [row for row in solved if row.startswith("lecture01 ") and " 1 of 13" in row]
    assert [row for row in solved if row.startswith("next    press n: lecture01/k02_spellings")]
    assert SOLVED.replace("  b back", "") == solved[-2].replace("  b back", "")

    assert [row for row in ended if row.startswith("The end of lecture01: ")]
    assert "What you can do now:" in ended
    assert [row for row in ended if "This is a good place to stop." in row]
    assert [row for row in ended if row.startswith(f"lecture01/{last.stem} is solved: ")]
    assert "Nothing else is open here." in ended
    assert "q quit" in ended[-2]
    assert "today: " in goodbye


@pytest.mark.backend("cxx")
def test_the_screen_of_a_source_that_does_not_compile(tmp_path: Path) -> None:
    """The compiler's line, the place to edit, and the keys."""
    lecture = "katas/lecture04"
    folder = copied(tmp_path, lecture)
    source = folder / lecture / "csrc/k01_answer.cpp"
    broken = (folder / lecture / "solutions/csrc/k01_answer.cpp").read_text()
    line = broken.index("{", broken.index("answer("))
    source.write_text(f"{broken[: line + 1]} int n = no_such_name; {broken[line + 1 :]}")
    test = f"{lecture}/test_k01_answer.py"
    environment = {"PYTHONPATH": str(ROOT)}
    with Terminal(folder, test, "--watch", rows=24, **environment) as terminal:
        rows = screen_of(terminal.shown())
        terminal.process.send("q")
        terminal.end()

    assert [row for row in rows if "no_such_name" in row]
    assert [row for row in rows if row.startswith(f"edit    {lecture}/csrc/k01_answer.cpp:")]
    assert [row for row in rows if row.startswith("lecture04 ")]
    assert "q quit" in rows[-2]
