"""Looks up the episodes that explain a kata, in ``episodes.toml`` and in files of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.catalogue import read_catalogue
from plugins.course import course_key


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.catalogue import Catalogue
    from plugins.layout import Course
    from plugins.layout import EpisodeRef


FILE = "episodes.toml"

catalogue_key = pytest.StashKey["Catalogue"]()


def catalogue_of(config: pytest.Config) -> Catalogue:
    """Return the episodes of the course and of plugins, read when they are first needed."""
    if catalogue_key not in config.stash:
        more = config.hook.pytest_kata_episode_sources(config=config)
        files = [config.rootpath / FILE, *(file for files in more for file in files)]
        config.stash[catalogue_key] = read_catalogue(files)
    return config.stash[catalogue_key]


def problems(course: Course, catalogue: Catalogue) -> list[str]:
    """Return a line for each file that is broken; if none is, for each slug that none knows."""
    unknown = [
        f"{kata.folder / 'lecture.toml'}: kata {kata.name}: episodes: "
        f"expected a slug of {FILE}, found {ref.slug!r}"
        for lecture in course.lectures
        for kata in lecture.katas
        for ref in kata.episodes
        if ref.slug not in catalogue.episodes
    ]
    return list(catalogue.errors) or unknown


def broken(config: pytest.Config) -> list[str]:
    """Return the problems of this session's course."""
    return [f"broken: {line}" for line in problems(config.stash[course_key], catalogue_of(config))]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is wrong with the episodes; the tests run all the same."""
    return broken(config)


@pytest.hookimpl(trylast=True)
def pytest_kata_episodes(item: pytest.Item | pytest.Collector) -> Sequence[EpisodeRef] | None:
    """Answer with the episodes that ``lecture.toml`` names."""
    kata = item.config.stash[course_key].kata_of(item.path)
    return kata.episodes if kata else None
