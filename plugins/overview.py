"""``pytest --course`` shows the map of the course and runs nothing.

An early plugin (``-p`` in pyproject.toml): it answers before pytest loads the conftest.py files and
with them all the other plugins.
"""

from __future__ import annotations

import sys
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
        from plugins.lectures import read_course  # noqa: PLC0415 - only this option needs it

        root = early_config.rootpath
        show(root, read_course(sorted((root / "katas").glob("lecture*/"))))
        raise SystemExit(0)


def show(root: Path, course: Course) -> None:
    """Print the map."""
    from plugins.coursemap import lines  # noqa: PLC0415 - likewise
    from plugins.places import places_of  # noqa: PLC0415

    # pytest captures what is printed now, and hands it to the terminal when it ends.
    terminal = sys.__stdout__
    blocks = bool(terminal and terminal.encoding.lower().startswith("utf"))
    for line in lines(course, places_of(root, course), blocks=blocks):
        print(line)  # noqa: T201 - the answer
