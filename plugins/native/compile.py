"""Compiles the headers of a tier, once for each compiler and torch, into a folder of their own."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.compiling import attempt
from plugins.compiling import check
from plugins.locks import locked


if TYPE_CHECKING:
    from plugins.recipe import Recipe


# Names the folder that is complete. Its time is that of the last use, for plugins.folder.
READY = "ready"


def compiled(recipe: Recipe, folder: Path) -> bool:
    """Whether `compile_headers` has nothing left to do."""
    return (folder / recipe.name / READY).exists()


def compile_headers(recipe: Recipe, folder: Path) -> Path:
    """Return the folder with the compiled headers of `recipe`, which is made if need be.

    Raises
    ------
    BrokenToolError
        If the compiler or the linker fails.
    """
    home = folder / recipe.name
    home.mkdir(exist_ok=True)
    ready = home / READY
    with locked(home / "lock"):
        if not ready.exists():
            for killed in home.glob("tier-*"):
                shutil.rmtree(killed, ignore_errors=True)
            # A new folder each time: compilers that a killed build has left may still write.
            work = Path(tempfile.mkdtemp(dir=home, prefix="tier-"))
            for name, text in recipe.files().items():
                (work / name).write_text(text, encoding="utf-8")
            for command in recipe.prepare():
                check(*attempt(command, work, folder), command)
            (work / READY).write_text(work.name, encoding="utf-8")
            (work / READY).replace(ready)
        os.utime(ready)
        return home / ready.read_text(encoding="utf-8")


def forget_headers(recipe: Recipe, folder: Path) -> None:
    """Let the headers be compiled anew when they are next needed."""
    (folder / recipe.name / READY).unlink(missing_ok=True)
