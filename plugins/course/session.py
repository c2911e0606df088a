"""Reads the course once per session, and finds the kata that a test belongs to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.course import hooks
from plugins.course.lectures import read_course
from plugins.course.model import Course
from plugins.course.names import find_root
from plugins.course.names import is_path
from plugins.course.names import lecture_folders
from plugins.course.names import path_in_course
from plugins.course.names import resolve_argument
from plugins.tools import private


if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Iterable

    from plugins.course.model import Kata


course_key = pytest.StashKey[Course]()
root_key = pytest.StashKey[Path]()
# The test modules of other packages' katas, by what they are called in the course.
away_key = pytest.StashKey[dict[Path, Path]]()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the course's own hooks to pytest's plugin manager."""
    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Replace the names of lectures and katas by their paths, before other plugins read them.

    A name is what the summary shows of a lecture that is installed: its path would lead pytest to
    the settings beside it, which are not the course's.
    """
    start = config.invocation_params.dir
    if not all(is_path(start / argument.partition("::")[0]) for argument in config.args):
        course, modules = read_session_course(config), config.option.pyargs
        config.args = [
            resolve_argument(course, start, argument, modules=modules) for argument in config.args
        ]
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read every ``lecture.toml`` under katas/ and in the folders that plugins add."""
    config.addinivalue_line("markers", "given: this test passes before the kata is solved.")
    config.addinivalue_line(
        "markers", "step(number, title): this test is of a step of a lab, which fails as one."
    )
    config.add_cleanup(private.share_trees())
    read_session_course(config)


def read_session_course(config: pytest.Config) -> Course:
    """Read the course into the stash; ``--watch`` calls this before it forks the first run."""
    if course_key in config.stash:
        return config.stash[course_key]
    root = course_root(config)
    folders = lecture_folders(root)
    added = [folder for more in config.hook.pytest_kata_lectures(config=config) for folder in more]
    folders.extend(added)
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        # A bare `pytest` runs them too, wherever they are installed.
        config.args.extend(map(str, added))
    config.stash[course_key] = course = read_course(folders)
    config.stash[away_key] = {
        path_in_course(kata, root): kata.test
        for lecture in course.lectures
        if not lecture.folder.is_relative_to(root)
        for kata in lecture.katas
    }
    return course


class CourseReader:
    """A plugin that reads the course in a folder and ends the session."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.course: Course | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Read it, and run nothing."""
        config.stash[root_key] = self.root
        self.course = read_session_course(config)
        return 0


def read_whole_course(root: Path) -> Course | None:
    """Return the course with the lectures of installed packages, for a process that is not pytest.

    None if pytest cannot start, which has then written why.
    """
    reader = CourseReader(root)
    # conftest.py would load much that is not needed to read it.
    options = ("--noconftest", f"--rootdir={root}", "-p", __name__)
    pytest.main([*options, str(root / "katas")], plugins=[reader])
    return reader.course


def course_root(config: pytest.Config) -> Path:
    """Return the folder of the course: its katas, its episodes and what is stored about it.

    Not `config.rootpath`, to which node ids are relative: that depends on ``-c``, ``--rootdir``
    and what an editor has opened.
    """
    if root_key not in config.stash:
        start = config.invocation_params.dir
        named = [start / argument.partition("::")[0] for argument in config.args]
        config.stash[root_key] = find_root([*named, start]) or config.rootpath
    return config.stash[root_key]


def kata_of(item: pytest.Item) -> Kata | None:
    """Return the kata that `item` tests, or None for one of the project's own tests."""
    course = item.config.stash.get(course_key, None)
    return course.kata_of(item.path) if course else None


def file_of(nodeid: str, config: pytest.Config) -> Path:
    """Return the test module that a node id names: all that is left of a process that has died."""
    file = Path(os.path.normpath(config.rootpath / nodeid.partition("::")[0]))
    return config.stash[away_key].get(file, file)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Name the tests of a kata outside pytest's rootdir: pytest leaves out what is above them."""
    config = parent.config
    kata = config.stash[course_key].kata_of(module_path)
    if kata is None:
        return None
    path = path_in_course(kata, course_root(config))
    inside = path.is_relative_to(config.rootpath)
    if inside and path == module_path:
        return None
    # pytest reads a node id as a path from its rootdir, which may as well be absolute.
    nodeid = (path.relative_to(config.rootpath) if inside else path).as_posix()
    return pytest.Module.from_parent(parent, path=module_path, nodeid=nodeid)


def katas_among(course: Course, args: Iterable[str], start: Path) -> list[Kata]:
    """Return the katas that the command line's arguments name by folder, file or test."""
    paths = {(start / argument.partition("::")[0]).resolve() for argument in args}
    named = {
        lecture.folder
        for lecture in course.lectures
        if not paths.isdisjoint((lecture.folder, *lecture.folder.parents))
    }
    return [kata for kata in course.katas if kata.folder in named or kata.test in paths]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Report the lectures that could not be read; their tests run anyway."""
    return [f"broken: {error}" for error in config.stash[course_key].errors]
