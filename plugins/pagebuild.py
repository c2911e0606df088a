"""Puts together what the page of the course says, from what is known: no pytest, no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.history import solved_by_day
from plugins.pagedata import Page
from plugins.pagedata import Stop
from plugins.pagedata import Told
from plugins.reading import reading_of
from plugins.standing import content_of
from plugins.syllabus import with_others


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence
    from datetime import datetime

    from plugins.catalogue import Catalogue
    from plugins.coursemap import Place
    from plugins.layout import Course
    from plugins.syllabus import Part


# The name of a test module that cannot be imported, among its tests.
MODULE = ""


def page_of(
    course: Course,
    places: Sequence[Place],
    syllabus: Iterable[Part],
    *,
    catalogue: Catalogue,
    tag: str,
    now: datetime,
) -> Page:
    """Return all that the page says; `tag` is that of PyTorch's source."""
    told: dict[str, list[Told]] = {}
    for place in places:
        told.setdefault(place.kata.lecture, []).append(told_of(place, catalogue, tag))
    lectures = {lecture.name: lecture for lecture in course.lectures}
    parts = with_others(syllabus, {name: lecture.title for name, lecture in lectures.items()})
    stops = tuple(
        (
            part.title,
            tuple(
                Stop(name, title, lectures.get(name), tuple(told.get(name, ())))
                for name, title in part.lectures.items()
            ),
        )
        for part in parts
    )
    solved = (place.standing.solved_at for place in places)
    errors = (*course.errors, *catalogue.errors)
    return Page(now, stops, places, solved_by_day(solved, now), errors)


def told_of(place: Place, catalogue: Catalogue, tag: str) -> Told:
    """Return all there is to say of one kata."""
    kata, results = place.kata, place.standing.results
    failures = tuple(
        (name if name != MODULE else f"{kata.test.name} cannot be imported", outcome.message)
        for name, outcome in results.tests.items()
        if outcome.verdict == "failed"
    )
    skips = (it.message for it in results.tests.values() if it.verdict == "skipped")
    episodes = tuple(
        (episode, ref.why) for ref in kata.episodes if (episode := catalogue.episodes.get(ref.slug))
    )
    sources = reading_of(kata, (), catalogue, tag, "").sources
    current = results.content == content_of(kata)
    return Told(place, current, failures, tuple(dict.fromkeys(skips)), sources, episodes)
