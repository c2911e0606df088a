"""``pytest --course`` shows the map of the course and runs nothing.

An early plugin (``-p`` in pyproject.toml): it runs before pytest loads the conftest.py files and
with them all other plugins. Plugins of installed packages are loaded by then, so the map shows
their lectures too.
"""

from __future__ import annotations

import atexit
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from plugins.tools.terminal import let_go_of_stdout
from plugins.tools.terminal import shows_blocks


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Course


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--course``."""
    parser.getgroup("katas").addoption(
        "--course",
        action="store_true",
        help="Show the map of the course: what is solved, what cannot run here, what is next.",
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
        print_map(root, start, course)
        # pytest prints what it has captured after this.
        atexit.register(let_go_of_stdout)
        raise SystemExit(0)


def print_map(root: Path, start: Path, course: Course) -> None:
    """Print the map; its commands are for a shell in the folder `start`."""
    from plugins.progress.map import format_map  # noqa: PLC0415 - only this option needs it
    from plugins.progress.map import places_of  # noqa: PLC0415

    # pytest captures the output, and prints it when the process exits.
    for line in format_map(course, places_of(root, course), start=start, blocks=shows_blocks()):
        print(line)  # noqa: T201 - the answer
