"""A page of the course with something of everything, and with malicious feeds and tests."""

from __future__ import annotations

from datetime import UTC
from datetime import date
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.course.files import content_of
from plugins.course.model import Course
from plugins.course.model import EpisodeRef
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.course.model import Upstream
from plugins.course.syllabus import Part
from plugins.guide.catalogue import Catalogue
from plugins.guide.catalogue import Episode
from plugins.progress.map import Place
from plugins.progress.pagedata import page_of
from plugins.progress.standing import Results
from plugins.progress.standing import Standing
from plugins.progress.standing import TestOutcome


if TYPE_CHECKING:
    from plugins.course.paths import CoursePath
    from plugins.progress.pagedata import Page
    from plugins.progress.standing import State


NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOSTILE = (
    "<script>document.title = 'taken'</script>",
    '"><img src=x onerror="document.title = \'taken\'">',
    "</script></style><h1>taken</h1>{{ 7 * 7 }}{% raw %}",
    "' onfocus='document.title = 1' autofocus='",
)
AUDIO = "https://radio.example/{}.mp3"
PASSED = TestOutcome("passed")
TESTS: dict[State, dict[str, TestOutcome]] = {
    "solved": {"test_a": PASSED, "test_b": PASSED},
    "failing": {"test_a": PASSED, "test_b": TestOutcome("failed", "assert 1 == 2\nwhy it matters")},
    "open": {"test_a": PASSED},
    "new": {},
    "unavailable": {"test_a": TestOutcome("skipped", "cuda: this machine has no GPU")},
}


def an_episode(number: int, title: str = "Strides", audio: str = "") -> Episode:
    """Return an episode; its slug is its number."""
    page = f"https://radio.example/{number}"
    return Episode(
        number, str(number), str(number), title, date(2021, 5, 4), 797, page,
        audio or AUDIO.format(number), (),
    )  # fmt: skip


def a_place(
    name: str,
    state: State = "new",
    *,
    lecture: str = "lecture01",
    title: str = "",
    tests: dict[str, TestOutcome] | None = None,
    solved: str = "",
    hints: int = 0,
    episodes: tuple[str, ...] = ("1",),
    folder: Path | None = None,
) -> Place:
    """Return a kata with its state."""
    refs = tuple(EpisodeRef(slug, f"why {slug} fits") for slug in episodes)
    kata = Kata(
        lecture, name, title or f"Title of {name}", "lab", ("a",), refs,
        (Upstream("c10/core/Storage.h", "Storage"),), ("one", "two", "three"), (), (), (),
        folder or Path("none") / lecture,
    )  # fmt: skip
    found = TESTS[state] if tests is None else tests
    # One test of an open kata has not run yet.
    results = Results(content_of(kata), found, len(found) + (state == "open"))
    last = NOW.isoformat() if found else ""
    standing = Standing(90.0 if found else 0.0, last, {}, results, solved)
    return Place(kata, state, standing, hints)


def a_page(
    *places: Place,
    episodes: tuple[Episode, ...] = (an_episode(1),),
    parts: tuple[Part, ...] | None = None,
    errors: tuple[str, ...] = (),
    paths: tuple[CoursePath, ...] = (),
) -> Page:
    """Return a page with these katas; its first part plans one lecture more."""
    names = dict.fromkeys(place.kata.lecture for place in places)
    lectures = [
        Lecture(
            name,
            f"The whole title of {name}",
            {},
            tuple(place.kata for place in places if place.kata.lecture == name),
            Path(name),
        )
        for name in names
    ]
    if parts is None:
        parts = (Part("Internals", {"lecture01": "One", "lecture02": "Two", "lecture03": "Three"}),)
    catalogue = Catalogue({episode.slug: episode for episode in episodes})
    course = Course(tuple(lectures), errors)
    return page_of(course, places, parts, catalogue=catalogue, tag="v2.13.0", now=NOW, paths=paths)


def everything() -> Page:
    """Return a page with each state, two lectures, an attack in each text, a planned lecture."""
    first, second, third, fourth = HOSTILE
    places = [
        a_place("k01_first", "solved", solved="2026-11-20T10:00:00+00:00", hints=2),
        a_place("k02_second", "failing", title=first, episodes=("1", "2")),
        a_place("k03_third", "open"),
        a_place(
            "k01_other",
            "failing",
            lecture="lecture02",
            title="Broadcasting",
            tests={f"test_x[{fourth}]": TestOutcome("failed", f"\x1b[31m{second}{third}\x1b[0m")},
            episodes=("3",),
        ),
        a_place("k02_away", "unavailable", lecture="lecture02"),
        a_place("k03_new", lecture="lecture02"),
    ]
    episodes = (
        an_episode(1),
        an_episode(2, first, f'https://radio.example/"><script>{fourth}</script>'),
        an_episode(3, second + third),
    )
    return a_page(*places, episodes=episodes, errors=(f"broken: {second}",))
