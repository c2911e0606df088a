"""Keep a checkpoint that survives kill -9 at any byte.

``torch.save(state, path)`` empties `path` before it writes. If the run is killed in between, it has
neither the old checkpoint nor the new one:

    path    old old old | . . . . . | new . . . | new new new
                          killed here: resume from what?

You have six calls. Made in the right order and on the right files, they ensure that a complete
checkpoint exists at any moment, even if the power fails:

    path.unlink()    sync_folder(folder)    os.replace(a, b)
    file.flush()     file.write(payload)    os.fsync(file.fileno())

Write `checkpoints` and `save`, about 12 lines.

Begin on paper: what is lost if ``unlink`` comes first, and what if ``replace`` comes before
``fsync``? The kernel writes names and bytes to disk whenever it likes.
Afterwards read ``_FileSystemWriter.finish`` in ``torch/distributed/checkpoint/filesystem.py``, in
site-packages: if killed between ``rm_file`` and ``rename``, what does it leave of an old
checkpoint?
"""

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
    # TODO: which is older, step-9.pt or step-10.pt?
    raise NotImplementedError("checkpoints")


def save(payload: bytes, folder: Path, step: int, keep: int = 2) -> None:
    """Write the checkpoint of a step. `step` is at least as large as any step saved before.

    Afterwards keep only the `keep` newest (at least one), and nothing left behind by a killed
    `save`. Do not touch other files. ``fsync`` only sees what has left Python's buffer.
    """
    # TODO: write to another file in the folder. What comes next?
    raise NotImplementedError("save")
