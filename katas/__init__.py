"""The lectures, one package each; `overlay` decides whose answers a package shows."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable


def overlay(path: Iterable[str]) -> list[str]:
    """Return the folders to search for a lecture's modules and sources; the first match wins.

    A lecture package says ``__path__ = overlay(__path__)``. The folders are, in order:

    1. ``$KATAS_OVERLAY/<lecture>``, if that exists: how the gate tries a wrong answer.
    2. ``solutions/``, if ``KATAS_SOLUTIONS`` is set, as ``pytest --solutions`` does.
    3. The package itself: the learner's files.

    Environment variables, not pytest options, because processes that a test spawns
    import the same packages and must see the same answers.
    """
    package = Path(next(iter(path)))
    folders = [package]
    if os.environ.get("KATAS_SOLUTIONS"):
        folders.insert(0, package / "solutions")
    if root := os.environ.get("KATAS_OVERLAY"):
        folders.insert(0, Path(root) / package.name)
    return [str(folder) for folder in folders if folder.is_dir()]


def source(package: str, name: str) -> Path:
    """Return the file `name` (``csrc/k03_clamp.cpp``) of an imported lecture `package`.

    The search goes through the same folders as for the lecture's modules, so solutions
    and overlays apply to C++ and CUDA sources too.

    Raises
    ------
    FileNotFoundError
        If no folder of the lecture holds it.
    """
    folders = [Path(folder) for folder in sys.modules[package].__path__]
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    looked = ", ".join(str(folder) for folder in folders)
    raise FileNotFoundError(f"{package} has no {name}; looked in {looked}")
