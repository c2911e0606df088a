"""What is said when ``--watch`` is left."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from datetime import datetime
from datetime import timedelta
from typing import TYPE_CHECKING

from plugins.course.files import content_of
from plugins.course.lectures import read_course
from plugins.loop.farewell import farewell_lines
from plugins.progress.plugin import remember_run
from plugins.progress.standing import Results
from plugins.progress.standing import TestOutcome
from plugins.progress.store import note_run
from plugins.progress.store import note_time


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


def test_it_counts_today_and_names_what_is_next(course: MiniCourse) -> None:
    """The katas solved today, what katas took today, the next kata, the command."""
    names = ("k01_first", "k02_second", "k03_third")
    for name in names:
        course.kata(name)
    katas = read_course([course.katas / "lecture01"]).katas
    now = datetime.now(UTC)
    # On one day, in whatever time zone and however late.
    noon = now.astimezone().replace(hour=12).astimezone(UTC)
    for kata, when in ((katas[0], noon), (katas[1], noon - timedelta(days=2))):
        run = Results(content_of(kata), {"test": TestOutcome("passed")}, 1)
        remember_run(course.path, kata, run, 1.0, when)
    note_run(course.path, noon)
    for minutes in (10, 12):
        note_time(course.path, noon, 60.0 * minutes)
    following = replace(katas[2], minutes=25)
    args = ["katas", "--watch", "--next", "--skip"]

    assert [
        "today: 1 kata, 22 min; next lecture01/k03_third, 25 min",
        "go on with: pytest katas --watch --next",
    ] == farewell_lines(course.path, katas, following, args)
    assert ["today: 1 kata, 22 min; nothing else is open here; go on with: pytest"] == (
        farewell_lines(course.path, katas, None, [])
    )


def test_yesterday_is_not_today(course: MiniCourse) -> None:
    """Nor is anything known where nothing has run."""
    course.kata()
    katas = read_course([course.katas / "lecture01"]).katas
    none = farewell_lines(course.path, katas, katas[0], [])
    yesterday = datetime.now(UTC) - timedelta(days=1)
    note_run(course.path, yesterday)
    note_time(course.path, yesterday, 300.0)

    told = "today: 0 katas, 0 min; next lecture01/k01_first; go on with: pytest"
    assert [told] == none == farewell_lines(course.path, katas, katas[0], [])
