"""A checkpoint that is replaced in one step."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch


def save(path: Path, state: Any) -> None:
    """Write a checkpoint so that a process killed at any moment leaves the old one or the new one.

    Write a second file in the same folder, whatever an earlier save left there, and have all of
    it on disk before it takes the old one's place.
    """
    # In the same folder, since a file cannot be moved to another file system in one step.
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        torch.save(state, file)
        os.fsync(file.fileno())
    new.replace(path)


def load(path: Path) -> Any:
    """Return the last checkpoint, or None if there is no such file.

    A file that cannot be read is an error: starting over would replace it.
    """
    return torch.load(path) if path.exists() else None
