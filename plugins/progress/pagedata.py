"""The content of the course's page, as data for HTML and Markdown.

Imports neither pytest nor torch.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from plugins.course.files import content_of
from plugins.course.files import count_lines
from plugins.course.syllabus import with_others
from plugins.guide.reading import reading_of
from plugins.guide.steps import read_steps
from plugins.progress.map import count_skip_reasons
from plugins.progress.map import next_place
from plugins.progress.proofs import count_tests
from plugins.progress.proofs import describe_proof
from plugins.progress.standing import MODULE
from plugins.tools.terminal import format_duration
from plugins.tools.text import readable


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from plugins.course.model import Course
    from plugins.course.model import Kata
    from plugins.course.model import Lecture
    from plugins.course.paths import CoursePath
    from plugins.course.syllabus import Part
    from plugins.guide.catalogue import Catalogue
    from plugins.guide.catalogue import Episode
    from plugins.guide.reading import Pointer
    from plugins.progress.map import Place
    from plugins.progress.standing import Results
    from plugins.progress.standing import State


# The page's words for the states, in the order of its filters.
WORDS: dict[State, str] = {
    "solved": "solved",
    "failing": "failing",
    "open": "open",
    "new": "untouched",
    "unavailable": "not here",
}
NUMBER = re.compile(r"\d+")
# Lines and characters of a message that a card shows; its fold has the whole.
LINES = 5
LONGEST = 240


@dataclass(frozen=True)
class Alike:
    """A message, and the tests that failed with it, in their order."""

    message: str
    tests: tuple[str, ...]

    @property
    def head(self) -> str:
        """As much of the message as stands on a card."""
        text = "\n".join(self.message.strip().splitlines()[:LINES])[:LONGEST].rstrip()
        return text if text == self.message.strip() else f"{text} ..."


@dataclass(frozen=True)
class Card:
    """A kata on the page; `current` is whether its tests ran on the current exercise."""

    place: Place
    current: bool
    failures: tuple[Alike, ...]
    reasons: tuple[str, ...]
    sources: tuple[Pointer, ...]
    episodes: tuple[tuple[Episode, str], ...]

    @property
    def kata(self) -> Kata:
        """The kata."""
        return self.place.kata

    @property
    def failed(self) -> int:
        """How many tests failed."""
        return sum(len(failure.tests) for failure in self.failures)

    @property
    def folds(self) -> bool:
        """Whether its failures are more than the one message that a card shows."""
        return self.failed > 1 or any(each.head != each.message.strip() for each in self.failures)

    @cached_property
    def size(self) -> int:
        """How many tests the kata has: those of its last run, or else of its proof."""
        results = self.place.standing.results
        known = 0 if MODULE in results.tests else max(results.total or 0, len(results.tests))
        return known or count_tests(self.kata)

    @property
    def tests(self) -> str:
        """``3 of 8 tests pass``, of those that can run or would decide, or ``8 tests``."""
        results = self.place.standing.results
        left_out = 0 if self.place.undecided else results.count("skipped")
        passed, total = results.count("passed"), self.size - left_out
        if not passed + results.count("failed"):
            return count_of(self.size, "test")
        return f"{passed} of {total} {'test passes' if total == 1 else 'tests pass'}" * bool(total)

    @property
    def code_size(self) -> str:
        """``45 lines of code``, in the reference, or ""."""
        lines = count_of(count_lines(self.kata), "line")
        return f"{lines} of code" if lines else ""

    @property
    def time(self) -> str:
        """The time spent, or ""."""
        return spent(self.place.standing.seconds)

    @property
    def proof(self) -> tuple[str, ...]:
        """What was run to prove the kata, a line each."""
        return describe_proof(self.kata)

    @property
    def step(self) -> str:
        """``step 2 of 5: all operators``, of a lab that is in progress, or ""."""
        step = self.place.standing.step(self.place.state, read_steps(self.kata.test))
        return str(step or "")

    @property
    def hints(self) -> tuple[str, ...]:
        """The hints that were taken, and no others."""
        return self.kata.hints[: self.place.hints]


@dataclass(frozen=True)
class Station:
    """A lecture on the map; `lecture` is None if it is not written yet."""

    name: str
    title: str
    lecture: Lecture | None
    cards: tuple[Card, ...]

    @property
    def number(self) -> str:
        """Its number without leading zeros, or its name if it has no number."""
        found = NUMBER.search(self.name)
        return str(int(found[0])) if found else self.name

    @property
    def counts(self) -> Counter[State]:
        """How many of its katas are in each state."""
        return Counter(card.place.state for card in self.cards)

    @property
    def tests(self) -> str:
        """``536 tests``, of all its katas, or ""."""
        return count_of(sum(card.size for card in self.cards), "test")

    @property
    def path(self) -> str:
        """``6 h 30 min``, the time of its core path, or "" if it states no sizes."""
        minutes = self.lecture.minutes if self.lecture else 0
        return format_duration(60 * minutes) if minutes else ""

    @property
    def time(self) -> str:
        """The time spent, or ""."""
        return spent(sum(card.place.standing.seconds for card in self.cards))


@dataclass(frozen=True)
class PathRow:
    """A path through the course on the page, and how many of its katas are solved."""

    path: CoursePath
    solved: int

    @property
    def time(self) -> str:
        """``14 h 05 min``."""
        return format_duration(60 * self.path.minutes)


@dataclass(frozen=True)
class Page:
    """The page; `days` has the number of katas solved by the end of each day."""

    generated: datetime
    parts: tuple[tuple[str, tuple[Station, ...]], ...]
    places: Sequence[Place]
    days: Sequence[tuple[date, int]]
    errors: tuple[str, ...]
    paths: tuple[PathRow, ...] = ()

    @property
    def stops(self) -> list[Station]:
        """The lectures that are written."""
        return [stop for _, stops in self.parts for stop in stops if stop.lecture]

    @property
    def counts(self) -> Counter[State]:
        """How many katas are in each state."""
        return Counter(place.state for place in self.places)

    @property
    def next(self) -> Place | None:
        """The kata that comes next."""
        return next_place(self.places)

    @property
    def time(self) -> str:
        """The time spent."""
        return format_duration(sum(place.standing.seconds for place in self.places))

    @property
    def hints(self) -> int:
        """How many hints were taken."""
        return sum(place.hints for place in self.places)

    @property
    def missing(self) -> dict[str, int]:
        """How many tests each reason kept from running here."""
        return count_skip_reasons(self.places)


def page_of(
    course: Course,
    places: Sequence[Place],
    syllabus: Iterable[Part],
    *,
    catalogue: Catalogue,
    tag: str,
    now: datetime,
    paths: Iterable[CoursePath] = (),
) -> Page:
    """Return the page; its links to PyTorch's source are at `tag`."""
    cards: dict[str, list[Card]] = {}
    for place in places:
        cards.setdefault(place.kata.lecture, []).append(card_of(place, catalogue, tag))
    lectures = {lecture.name: lecture for lecture in course.lectures}
    parts = with_others(syllabus, {name: lecture.title for name, lecture in lectures.items()})
    stops = tuple(
        (
            part.title,
            tuple(
                Station(name, title, lectures.get(name), tuple(cards.get(name, ())))
                for name, title in part.lectures.items()
            ),
        )
        for part in parts
    )
    solved = (place.standing.solved_at for place in places)
    errors = (*course.errors, *catalogue.errors)
    states = {place.kata.id: place.state for place in places}
    rows = (
        PathRow(path, sum(states[kata.id] == "solved" for kata in path.katas)) for path in paths
    )
    return Page(now, stops, places, solved_by_day(solved, now), errors, tuple(rows))


def card_of(place: Place, catalogue: Catalogue, tag: str) -> Card:
    """Return the card of one kata."""
    kata, results = place.kata, place.standing.results
    failures = group_failures(results, f"{kata.test.name} cannot be imported")
    skips = (it.message for it in results.tests.values() if it.verdict == "skipped")
    episodes = tuple(
        (episode, ref.why) for ref in kata.episodes if (episode := catalogue.episodes.get(ref.slug))
    )
    sources = reading_of(kata, (), catalogue, tag, "").sources
    current = results.content == content_of(kata)
    return Card(place, current, failures, tuple(dict.fromkeys(skips)), sources, episodes)


def group_failures(results: Results, broken: str) -> tuple[Alike, ...]:
    """Return each message with its tests; `broken` stands for a module without a name."""
    tests: dict[str, list[str]] = {}
    for name, outcome in results.tests.items():
        if outcome.verdict == "failed":
            tests.setdefault(readable(outcome.message), []).append(
                name if name != MODULE else broken
            )
    return tuple(Alike(message, tuple(names)) for message, names in tests.items())


def count_of(number: int, noun: str) -> str:
    """Return ``1 test``, ``8 tests``, or "" for none."""
    return f"{number} {noun}{'s' * (number != 1)}" * bool(number)


def spent(seconds: float) -> str:
    """Return ``12 min spent``, or "" for no time."""
    return f"{format_duration(seconds)} spent" if seconds else ""


def solved_by_day(moments: Iterable[str], now: datetime) -> list[tuple[date, int]]:
    """Return each day with a solution, and how many katas were solved by its end.

    The moments are in ISO 8601; other texts, such as "", do not count. The days are those of the
    time zone of `now`.
    """
    days = Counter[date]()
    for moment in moments:
        with suppress(ValueError, OverflowError):
            days[datetime.fromisoformat(moment).astimezone(now.tzinfo).date()] += 1
    ordered = sorted(days)
    return list(zip(ordered, accumulate(days[day] for day in ordered), strict=True))
