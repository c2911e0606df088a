"""Writes a file whole or not at all, even if the process is killed meanwhile."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from pathlib import Path


# Beside the file, ignored by git: a killed process leaves its half-written copy there.
STATE = ".katas"


def state_folder(file: Path) -> Path:
    """Return the folder for what is remembered about `file`; it need not exist."""
    return file.parent / STATE


def write_whole(file: Path, data: bytes, folder: Path | None = None) -> None:
    """Replace the content of `file`; whoever reads it sees the old or the new one, never a part.

    The new content is first written to `folder`, by default the state folder beside `file`.
    """
    file = file.resolve()  # a link stays a link
    folder = folder or state_folder(file)
    folder.mkdir(exist_ok=True)
    new = folder / f"{file.name}.{os.getpid()}"
    try:
        with new.open("wb") as stream:
            stream.write(data)
            stream.flush()
            # Without it a power cut could leave the new name on old blocks.
            os.fsync(stream.fileno())
        if file.exists():
            shutil.copymode(file, new)
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)
