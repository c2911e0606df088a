"""What options share that show something, or write it to a file, and run nothing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from plugins.wholefile import write_whole


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def configured(config: pytest.Config) -> Iterator[None]:
    """Let all plugins configure themselves, as pytest's own ``--help`` does, and tidy up."""
    config._do_configure()  # noqa: SLF001 - it has no other name
    try:
        yield
    finally:
        config._ensure_unconfigure()  # noqa: SLF001


def write_for(option: str, file: Path, text: str) -> None:
    """Write the file that `option` names: whole, so that a reader never sees a part.

    Raises
    ------
    pytest.UsageError
        If it cannot be written.
    """
    try:
        write_whole(file, text.encode(), file.resolve().parent)
    except OSError as error:
        raise pytest.UsageError(f"{option}: {file}: {error.strerror or error}") from None
