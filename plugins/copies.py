"""Copies of the learner's files below ``.katas/backup``: never overwritten, never removed."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


FOLDER = ".katas/backup"


def keep_copy(root: Path, path: str, content: bytes, now: datetime) -> str:
    """Write a copy of `path` under a name that bears the date, and return that name."""
    stamp = now.strftime("%Y-%m-%d_%H-%M-%S")
    for number in count(1):
        again = f"_{number}" if number > 1 else ""
        name = f"{FOLDER}/{stamp}{again}/{path}"
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("xb") as stream:
                stream.write(content)
                stream.flush()
                # What it is a copy of is about to be replaced.
                os.fsync(stream.fileno())
        except FileExistsError:
            # A process that was killed may have left a part of the same content.
            continue
        return name
    raise AssertionError  # pragma: no cover - numbers do not end
