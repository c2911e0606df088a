"""Where the learner stands in each kata of the course, from what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.coursemap import Place
from plugins.hintcounts import read_counts
from plugins.memory import recall
from plugins.standing import content_of


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.layout import Course


def places_of(root: Path, course: Course) -> list[Place]:
    """Return the places of all katas, in teaching order."""
    hints = read_counts(root)
    return [
        Place(kata, standing.state(content_of(kata)), standing, hints.get(kata.id, 0))
        for lecture in course.lectures
        for kata in lecture.katas
        for standing in (recall(root, kata),)
    ]
