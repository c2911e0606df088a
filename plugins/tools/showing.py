"""Helpers for options that show something, or write it to a file, and run no test."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from plugins.tools import private
from plugins.tools.files import write_whole


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# Options with which pytest runs no test: its own, and those of plugins/progress and plugins/loop.
SHOWS = (
    *("help", "version", "markers", "collectonly", "cacheshow"),
    *("showfixtures", "show_fixtures_per_test"),
    *("hint", "solution", "progress_json", "page"),
)


def shows_only(config: pytest.Config) -> bool:
    """Whether this session shows something and runs no test."""
    # A session may lack the plugin that defines an option.
    return any(config.getoption(name, None) for name in SHOWS)


@contextmanager
def configured(config: pytest.Config) -> Iterator[None]:
    """Configure all plugins, as pytest's own ``--help`` does, and unconfigure them afterwards."""
    private.configure(config)
    try:
        yield
    finally:
        private.unconfigure(config)


def write_for(option: str, file: Path, text: str) -> None:
    """Write `text` to the file that `option` names; a reader never sees a part of it.

    Raises
    ------
    pytest.UsageError
        If it cannot be written.
    """
    try:
        write_whole(file, text.encode(), file.resolve().parent)
    except OSError as error:
        raise pytest.UsageError(f"{option}: {file}: {error.strerror or error}") from None
