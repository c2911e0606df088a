"""The map of the course as text, from what is remembered: no pytest, no torch."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.layout import Course
    from plugins.layout import Kata
    from plugins.layout import Lecture
    from plugins.standing import Standing
    from plugins.standing import State


WIDTH = 80
BAR = 14
# A kata that fails shows its tests instead.
WORDS: dict[State, str] = {
    "solved": "solved",
    "failing": "",
    "open": "open",
    "new": "",
    "unavailable": "not here",
}


@dataclass(frozen=True)
class Place:
    """A kata on the map.

    Attributes
    ----------
    state
        That of the exercise as it is now, or "new".
    standing
        What is remembered of it.
    hints
        How many of its hints were taken.
    """

    kata: Kata
    state: State
    standing: Standing
    hints: int = 0

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do here, on this machine."""
        return self.state in {"solved", "unavailable"}


def next_place(places: Sequence[Place]) -> Place | None:
    """Return the first kata, in teaching order, that is not done."""
    return next((place for place in places if not place.done), None)


def lines(course: Course, places: Sequence[Place], *, start: Path, blocks: bool) -> Iterator[str]:
    """Return the map; `blocks` says whether the terminal can show more than ASCII."""
    solved = sum(place.state == "solved" for place in places)
    spent = duration(sum(place.standing.seconds for place in places))
    taken = sum(place.hints for place in places)
    hints = f", {taken} {'hint' if taken == 1 else 'hints'} taken" if taken else ""
    yield f"{solved} of {len(places)} katas solved, {spent} spent{hints}"
    yield ""
    here = next_place(places)
    for lecture in course.lectures:
        own = [place for place in places if place.kata.lecture == lecture.name]
        yield lecture_line(lecture, own, here, blocks=blocks)
        if here in own:
            yield from (kata_line(place, here) for place in own)
    yield from (f"broken: {error}" for error in course.errors)
    if missing := reasons(places):
        yield ""
        yield "Not run on this machine:"
        for reason, count in missing.items():
            text = f"{count} tests: {reason}" if count > 1 else f"1 test: {reason}"
            yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
    yield ""
    yield from next_step(here, start)


def lecture_line(
    lecture: Lecture, places: Sequence[Place], here: Place | None, *, blocks: bool
) -> str:
    """Return a lecture's line: a mark if the learner is there, its title, how much is solved."""
    mark = ">" if here in places else " "
    solved = sum(place.state == "solved" for place in places)
    filled = BAR * solved // max(len(places), 1)
    full, empty = ("█", "░") if blocks else ("#", ".")
    bar = full * filled + empty * (BAR - filled)
    count = f"{solved:2} of {len(places)}"
    head = f"{mark} {lecture.name}  "
    room = WIDTH - len(head) - BAR - 11
    return f"{head}{shortened(lecture.title, room):{room}}  {bar} {count}"


def kata_line(place: Place, here: Place | None) -> str:
    """Return a kata's line: its name, its title, its state, the tests that pass, the time."""
    results = place.standing.results
    passed, failed = results.count("passed"), results.count("failed")
    word = f"{passed} of {passed + failed} pass" if place.state == "failing" else WORDS[place.state]
    spent = duration(place.standing.seconds) if place.standing.seconds else ""
    mark = ">" if place is here else " "
    title = shortened(place.kata.title, 24)
    return f"  {mark} {shortened(place.kata.name, 22):22} {title:24} {word:15} {spent:>10}".rstrip()


def next_step(here: Place | None, start: Path) -> Iterator[str]:
    """Return what to do now, in the folder `start`."""
    if here is None:
        yield "Everything that can run here is solved."
        return
    yield f"Next, {shortened(here.kata.title, WIDTH - 7)}:"
    yield f"  pytest {os.path.relpath(here.kata.test, start)} -x"


def reasons(places: Iterable[Place]) -> dict[str, int]:
    """Return why tests could not run here, and how many each reason kept from it."""
    return Counter(
        outcome.message
        for place in places
        for outcome in place.standing.results.tests.values()
        if outcome.verdict == "skipped"
    )


def duration(seconds: float) -> str:
    """Return ``3 h 05 min`` or ``12 min``."""
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"


def shortened(text: str, room: int) -> str:
    """Return `text`, or as many of its words as there is room for."""
    return textwrap.shorten(text, room, placeholder=" ...") if len(text) > room else text
