"""The paths through the course: as long as promised, in order, and told by the README."""

from __future__ import annotations

import pytest

from plugins import ROOT
from plugins.course.paths import CoursePath
from plugins.course.paths import read_paths
from plugins.tools.terminal import format_duration
from tests.support.wholecourse import real_course


PATHS = read_paths(real_course(), ROOT)
# In hours.
SHORTEST, LONGEST = 12, 20


def test_these_are_the_paths() -> None:
    """One for each purpose, by a name that is typed."""
    assert ["kernels", "compilers", "distributed", "contributor"] == [path.name for path in PATHS]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_nothing_is_used_before_it_is_taught(path: CoursePath) -> None:
    """What a kata builds on, in its lecture or another, stands before it on the path."""
    taught: set[str] = set()
    for kata in path.katas:
        missing = [name for name in kata.builds_on if name not in taught]
        assert [] == missing, f"{kata.id} builds on {missing}, which are not before it"
        taught.add(kata.id)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_a_path_takes_twelve_to_twenty_hours(path: CoursePath) -> None:
    """With the sparks that open its lectures."""
    assert SHORTEST <= path.minutes / 60 <= LONGEST


def test_katas_build_on_those_of_earlier_lectures() -> None:
    """Those of another lecture that they name come before them in the course."""
    order = [kata.id for kata in real_course().katas]
    across = [
        (name, kata.id)
        for kata in real_course().katas
        for name in kata.builds_on
        if name.partition("/")[0] != kata.lecture
    ]

    assert across
    assert [] == [pair for pair in across if order.index(pair[0]) > order.index(pair[1])]


def test_the_readme_tells_them() -> None:
    """A row for each: its name, title and sentence, its katas and its time."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    for path in PATHS:
        time = format_duration(60 * path.minutes)
        row = f"| `{path.name}` | {len(path.katas)} | {time} | {path.title}: {path.about} |"
        assert row in readme.splitlines(), f"README.md lacks the row:\n{row}"
