"""``pytest --course`` shows the map of the course and runs nothing.

An early plugin (``-p`` in pyproject.toml): it answers before pytest loads the conftest.py files and
with them all the other plugins. Those of packages are loaded by then: their lectures are shown too.
"""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.layout import Course


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("katas").addoption(
        "--course",
        action="store_true",
        help="Show the map of the course: what is solved, what cannot run here, what is next.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Print the map and end, if it is asked for."""
    options = early_config.known_args_namespace
    if options.course and not options.help:
        from plugins import hookspecs  # noqa: PLC0415 - only this option needs it
        from plugins.lectures import read_course  # noqa: PLC0415

        manager = early_config.pluginmanager
        manager.add_hookspecs(hookspecs)
        added = manager.hook.pytest_kata_lectures(config=early_config)
        root = early_config.rootpath
        folders = [*sorted((root / "katas").glob("lecture*/")), *chain.from_iterable(added)]
        show(root, early_config.invocation_params.dir, read_course(folders))
        raise SystemExit(0)


def show(root: Path, start: Path, course: Course) -> None:
    """Print the map; `start` is where the commands that it shows are typed."""
    from plugins.coursemap import lines  # noqa: PLC0415 - likewise
    from plugins.places import places_of  # noqa: PLC0415

    # pytest captures what is printed now, and hands it to the terminal when it ends.
    for line in lines(course, places_of(root, course), start=start, blocks=shows_blocks()):
        print(line)  # noqa: T201 - the answer


def shows_blocks() -> bool:
    """Whether the terminal can show more than ASCII."""
    terminal = sys.__stdout__
    return bool(terminal and terminal.encoding.lower().startswith("utf"))
