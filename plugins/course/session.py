"""Reads the course once per session and says which kata a test belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins import hookspecs
from plugins.layout import Course
from plugins.lectures import read_course


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from plugins.layout import Kata


course_key = pytest.StashKey[Course]()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Make the course's own hooks known to pytest's plugin manager."""
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read every ``lecture.toml`` under katas/ and in the folders that plugins add."""
    config.addinivalue_line("markers", "given: this test passes before the kata is solved.")
    if course_key not in config.stash:
        read(config)


def read(config: pytest.Config) -> Course:
    """Read the course for this session; ``--watch`` does so before it forks one."""
    folders = sorted((config.rootpath / "katas").glob("lecture*/"))
    added = [folder for more in config.hook.pytest_kata_lectures(config=config) for folder in more]
    folders.extend(added)
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        # A bare `pytest` runs them too, wherever they are installed.
        config.args.extend(map(str, added))
    config.stash[course_key] = course = read_course(folders)
    return course


def kata_of(item: pytest.Item) -> Kata | None:
    """Return the kata that `item` tests, or None for a test of the project's own."""
    course = item.config.stash.get(course_key, None)
    return course.kata_of(item.path) if course else None


def katas_among(course: Course, args: Iterable[str], start: Path) -> list[Kata]:
    """Return the katas that the arguments of the command line name: by folder, file or test."""
    paths = [(start / argument.partition("::")[0]).resolve() for argument in args]
    katas = (kata for lecture in course.lectures for kata in lecture.katas)
    return [kata for kata in katas if any(kata.test.is_relative_to(path) for path in paths)]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which lectures could not be read; their tests run all the same."""
    return [f"broken: {error}" for error in config.stash[course_key].errors]
