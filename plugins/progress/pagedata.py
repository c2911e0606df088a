"""What the page of the course says, as data: no pytest, no torch, no HTML."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.coursemap import duration
from plugins.coursemap import next_place
from plugins.coursemap import reasons


if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from datetime import datetime

    from plugins.catalogue import Episode
    from plugins.coursemap import Place
    from plugins.layout import Kata
    from plugins.layout import Lecture
    from plugins.reading import Pointer
    from plugins.standing import State


# In the order of the filters.
WORDS: dict[State, str] = {
    "solved": "solved",
    "failing": "failing",
    "open": "open",
    "new": "untouched",
    "unavailable": "not here",
}
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Told:
    """A kata and all there is to say of it; `current` if its tests ran on it as it is now."""

    place: Place
    current: bool
    failures: tuple[tuple[str, str], ...]
    reasons: tuple[str, ...]
    sources: tuple[Pointer, ...]
    episodes: tuple[tuple[Episode, str], ...]

    @property
    def kata(self) -> Kata:
        """The kata."""
        return self.place.kata

    @property
    def tests(self) -> str:
        """``3 of 8 tests pass``, of those that can run here; "" if none has."""
        results = self.place.standing.results
        passed, total = results.count("passed"), results.count("passed") + results.count("failed")
        return f"{passed} of {total} {'test passes' if total == 1 else 'tests pass'}" * bool(total)

    @property
    def time(self) -> str:
        """The time spent, or ""."""
        seconds = self.place.standing.seconds
        return duration(seconds) if seconds else ""

    @property
    def hints(self) -> tuple[str, ...]:
        """The hints that were taken: no others."""
        return self.kata.hints[: self.place.hints]


@dataclass(frozen=True)
class Stop:
    """A lecture on the map; without `lecture` it is still to be written."""

    name: str
    title: str
    lecture: Lecture | None
    katas: tuple[Told, ...]

    @property
    def number(self) -> str:
        """Its number as people say it, or its name if it has none."""
        found = NUMBER.search(self.name)
        return str(int(found[0])) if found else self.name

    @property
    def counts(self) -> Counter[State]:
        """How many of its katas are in which state."""
        return Counter(told.place.state for told in self.katas)


@dataclass(frozen=True)
class Page:
    """All that the page says; `days` has how many katas had been solved after each day."""

    generated: datetime
    parts: tuple[tuple[str, tuple[Stop, ...]], ...]
    places: Sequence[Place]
    days: Sequence[tuple[date, int]]
    errors: tuple[str, ...]

    @property
    def stops(self) -> list[Stop]:
        """The lectures that exist."""
        return [stop for _, stops in self.parts for stop in stops if stop.lecture]

    @property
    def counts(self) -> Counter[State]:
        """How many katas are in which state."""
        return Counter(place.state for place in self.places)

    @property
    def next(self) -> Place | None:
        """Where the learner is."""
        return next_place(self.places)

    @property
    def time(self) -> str:
        """The time spent."""
        return duration(sum(place.standing.seconds for place in self.places))

    @property
    def hints(self) -> int:
        """How many hints were taken."""
        return sum(place.hints for place in self.places)

    @property
    def missing(self) -> dict[str, int]:
        """Why tests could not run here, and how many."""
        return reasons(self.places)
