"""``pytest --course`` shows the map of the course, or of a path through it, and runs nothing.

An early plugin (``-p`` in pyproject.toml): it runs before pytest loads the conftest.py files and
with them all other plugins. Plugins of installed packages are loaded by then, so the map shows
their lectures too.
"""

from __future__ import annotations

import atexit
import os
from itertools import chain
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.tools.terminal import let_go_of_stdout
from plugins.tools.terminal import shows_blocks


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.paths import CoursePath


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--course``."""
    parser.getgroup("katas").addoption(
        "--course",
        action="store_true",
        help="Show the map of the course: what is solved, what cannot run here, what is next.",
    )
    parser.getgroup("katas").addoption(
        "--path",
        metavar="NAME",
        help="With --next, --watch or --course: the katas of one path, such as kernels.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Print the map and exit, with ``--course``."""
    options = early_config.known_args_namespace
    if options.course and not options.help:
        from plugins.course import hooks as hookspecs  # noqa: PLC0415 - only this option needs it
        from plugins.course.lectures import read_course  # noqa: PLC0415
        from plugins.course.names import find_root  # noqa: PLC0415 - as above
        from plugins.course.names import lecture_folders  # noqa: PLC0415 - as above

        manager = early_config.pluginmanager
        manager.add_hookspecs(hookspecs)
        added = manager.hook.pytest_kata_lectures(config=early_config)
        start = early_config.invocation_params.dir
        named = [start / argument.partition("::")[0] for argument in options.file_or_dir]
        root = find_root([*named, start]) or early_config.rootpath
        course = read_course([*lecture_folders(root), *chain.from_iterable(added)])
        # All of it with -v, and where no terminal would have to be scrolled back.
        rows = None if options.verbose > 0 else terminal_rows(manager)
        print_map(root, start, course, options.path, rows)
        # pytest prints what it has captured after this.
        atexit.register(let_go_of_stdout)
        raise SystemExit(0)


def terminal_rows(manager: pytest.PytestPluginManager) -> int | None:
    """Return how many rows the terminal has to which pytest will print; None without one."""
    capture: Any = manager.get_plugin("capturemanager")
    capture.suspend_global_capture()
    try:
        return os.get_terminal_size(1).lines
    except OSError:
        return None
    finally:
        capture.resume_global_capture()


def wanted_path(config: pytest.Config) -> str:
    """Return the name of ``--path``, or "".

    With the settings of another project this plugin is not loaded, and there is no such option.
    """
    return getattr(config.option, "path", None) or ""


def find_path(course: Course, root: Path, name: str) -> CoursePath:
    """Return the path through the course that ``--path`` names.

    Raises
    ------
    pytest.UsageError
        If no path has this name, or the file of the paths is broken.
    """
    from plugins.course.names import UnknownNameError  # noqa: PLC0415 - only this option needs it
    from plugins.course.paths import path_named  # noqa: PLC0415
    from plugins.course.paths import read_paths  # noqa: PLC0415
    from plugins.tools.toml import TomlError  # noqa: PLC0415

    try:
        return path_named(name, read_paths(course, root))
    except (TomlError, UnknownNameError) as error:
        raise pytest.UsageError(f"--path: {error}") from None


def print_map(
    root: Path, start: Path, course: Course, name: str | None = None, rows: int | None = None
) -> None:
    """Print the map, or that of a path; its commands are for a shell in the folder `start`."""
    from plugins.progress.map import format_map  # noqa: PLC0415 - only this option needs it
    from plugins.progress.map import format_path  # noqa: PLC0415
    from plugins.progress.map import places_of  # noqa: PLC0415

    places = places_of(root, course)
    if name:
        lines = format_path(find_path(course, root, name), places, rows=rows)
    else:
        lines = format_map(course, places, start=start, blocks=shows_blocks(), rows=rows)
    # pytest captures the output, and prints it when the process exits.
    for line in lines:
        print(line)  # noqa: T201 - the answer
