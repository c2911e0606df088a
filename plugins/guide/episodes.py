"""Looks up the episodes that explain a kata in ``episodes.toml`` and in files of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.guide.catalogue import read_catalogue


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.course.model import Course
    from plugins.course.model import EpisodeRef
    from plugins.guide.catalogue import Catalogue


FILE = "episodes.toml"

catalogue_key = pytest.StashKey["Catalogue"]()


def catalogue_of(config: pytest.Config) -> Catalogue:
    """Return the episodes of the course and of plugins; the first call reads them."""
    if catalogue_key not in config.stash:
        more = config.hook.pytest_kata_episode_sources(config=config)
        files = [course_root(config) / FILE, *(file for files in more for file in files)]
        config.stash[catalogue_key] = read_catalogue(files)
    return config.stash[catalogue_key]


def find_problems(course: Course, catalogue: Catalogue) -> list[str]:
    """Return a line for each broken file or, if there is none, for each unknown slug."""
    unknown = [
        f"{kata.folder / 'lecture.toml'}: kata {kata.name}: episodes: "
        f"expected a slug of {FILE}, found {ref.slug!r}"
        for kata in course.katas
        for ref in kata.episodes
        if ref.slug not in catalogue.episodes
    ]
    return list(catalogue.errors) or unknown


def describe_problems(config: pytest.Config) -> list[str]:
    """Return the problems with the episodes of this session's course, as lines to print."""
    lines = find_problems(config.stash[course_key], catalogue_of(config))
    return [f"broken: {line}" for line in lines]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Report problems with the episodes; the tests run anyway."""
    return describe_problems(config)


@pytest.hookimpl(trylast=True)
def pytest_kata_episodes(item: pytest.Item | pytest.Collector) -> Sequence[EpisodeRef] | None:
    """Return the episodes that ``lecture.toml`` names."""
    kata = item.config.stash[course_key].kata_of(item.path)
    return kata.episodes if kata else None
