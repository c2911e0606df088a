"""What ``--watch`` itself says, as lines of text: no pytest, no torch."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from plugins.coursemap import kata_line
from plugins.coursemap import lecture_line


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.coursemap import Place
    from plugins.layout import Lecture


# Home, and erase what is below; no more than what every terminal of today knows.
CLEAR = "\x1b[H\x1b[2J"
KEYS = {
    "n": "next",
    "h": "hint",
    "s": "solution",
    "l": "list",
    "r": "rerun",
    "q": "quit",
}


def cleared(environ: Mapping[str, str]) -> str:
    """Return what empties the screen; on a terminal that may not know it, an empty line."""
    return "\n" if environ.get("TERM", "dumb") in {"", "dumb"} else CLEAR


def keys_line(*, solved: bool) -> str:
    """Return the keys that do something; the solution is for afterwards."""
    shown = {key: word for key, word in KEYS.items() if solved or key != "s"}
    return "  ".join(f"{key} {word}" for key, word in shown.items())


def list_lines(
    lectures: Sequence[Lecture], places: Sequence[Place], here: Place | None, *, blocks: bool
) -> Iterator[str]:
    """Return the lectures, and the katas of the one that the learner is in."""
    for lecture in lectures:
        own = [place for place in places if place.kata.lecture == lecture.name]
        yield lecture_line(lecture, own, here, blocks=blocks)
        if here in own or len(lectures) == 1:
            yield from (kata_line(place, here) for place in own)


def end_lines(code: int) -> Iterator[str]:
    """Return what to say of a run that ended in a way that it cannot have told itself."""
    if code < 0:
        yield f"The run was ended by {signal.Signals(-code).name}."
