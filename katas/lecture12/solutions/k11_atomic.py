"""Keep a checkpoint that survives kill -9 at any byte."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from pathlib import Path


NAME = re.compile(r"step-(\d+)\.pt")


def path_of(folder: Path, step: int) -> Path:
    """Return the path of a step's checkpoint. Given."""
    return folder / f"step-{step}.pt"


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk. Given."""
    opened = os.open(folder, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints in `folder`, oldest first: files whose whole name matches `NAME`."""
    found = {path: NAME.fullmatch(path.name) for path in folder.iterdir()}
    steps = {path: int(match[1]) for path, match in found.items() if match}
    return sorted(steps, key=steps.__getitem__)


def save(payload: bytes, folder: Path, step: int, keep: int = 2) -> None:
    """Write the checkpoint of a step. `step` is at least as large as any step saved before."""
    # With one name for all, what a killed save has left is written over by the next.
    partial = folder / "partial"
    with partial.open("wb") as file:
        file.write(payload)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path_of(folder, step))
    sync_folder(folder)
    for path in checkpoints(folder)[:-keep]:
        path.unlink()
