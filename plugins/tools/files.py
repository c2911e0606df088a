"""Files that are written whole or not at all, and copies that are never overwritten."""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import count
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


# Ignored by git.
STATE = ".katas"
BACKUP = f"{STATE}/backup"


def state_folder(folder: Path) -> Path:
    """Return the folder below `folder` for what is remembered about it; it need not exist."""
    return folder / STATE


def why_nothing_is_kept(folder: Path) -> str:
    """Return why nothing can be written to the state folder of `folder`, or "" if it can."""
    state = state_folder(folder)
    try:
        state.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=state):
            return ""
    except OSError as error:
        return f"{STATE} cannot be written ({error.strerror})"


def describe_os_error(error: OSError) -> str:
    """Return which file the operating system refuses to write, and why."""
    # Of a file that is moved, the one it would replace.
    name = error.filename2 or error.filename
    return f"{name}: {error.strerror}" if name else str(error)


def read_if_there(file: Path) -> bytes | None:
    """Return the content of `file`, or None if there is no such file."""
    return file.read_bytes() if file.is_file() else None


def read_text_if_there(file: Path) -> str:
    """Return the text of `file`, or "" if it does not exist; bad UTF-8 becomes U+FFFD."""
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def write_whole(file: Path, data: bytes, folder: Path | None = None) -> None:
    """Replace the content of `file`: a reader sees the old one or the new one, never a part.

    The data is first written to `folder`, by default the state folder beside `file`. A process
    that is killed leaves its half-written copy there.
    """
    file = file.resolve()  # a link stays a link
    folder = folder or state_folder(file.parent)
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


def keep_copy(root: Path, path: str, content: bytes, now: datetime) -> str:
    """Copy `content` of `path` below ``.katas/backup``, and return the name of the copy.

    The name contains the date and the time. A copy is never overwritten and never removed.
    """
    stamp = now.strftime("%Y-%m-%d_%H-%M-%S")
    for number in count(1):
        again = f"_{number}" if number > 1 else ""
        name = f"{BACKUP}/{stamp}{again}/{path}"
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("xb") as stream:
                stream.write(content)
                stream.flush()
                # The original is about to be replaced.
                os.fsync(stream.fileno())
        except FileExistsError:
            # A process that was killed may have left a part of the same content.
            continue
        return name
    raise AssertionError  # pragma: no cover - numbers do not end
