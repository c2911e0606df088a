"""Runs compilers and linkers, at most one per processor, and keeps compiled headers.

The headers of a tier are compiled once for each compiler and torch, into a folder of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.tools.locks import locked
from plugins.tools.locks import slot


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.native.recipe import Recipe


# How much of its output the message about a broken tool shows.
LAST_LINES = 5
FULL = "No space left on device"
# Names the folder with complete headers; its time is that of the last use, for `builder.prune`.
READY = "ready"


class BrokenToolError(Exception):
    """Compiler, linker or disk failed, not the source: trying again may help."""


def run_tool(command: Sequence[str], cwd: Path, folder: Path) -> tuple[int, str]:
    """Run `command` in `cwd` under one of the locks in `folder`; return its status and output."""
    # Messages that are parsed must be in English, and temporary files of the compiler belong
    # where its result has room.
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(cwd)}
    with slot(folder):
        done = subprocess.run(  # noqa: S603 - a command of plugins.native.recipe
            command,
            cwd=cwd,
            env=environment,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    return done.returncode, done.stdout


def check_status(status: int, output: str, command: Sequence[str]) -> None:
    """Raise a BrokenToolError if `command`, which compiles no source of a learner's, failed."""
    if status == 0:
        return
    name = Path(command[0]).name
    if FULL in output:
        raise BrokenToolError(f"{name}: {FULL}")
    end = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    last = "\n".join(output.strip().splitlines()[-LAST_LINES:])
    raise BrokenToolError(f"{name} {end}\n{last}".rstrip())


def headers_ready(recipe: Recipe, folder: Path) -> bool:
    """Whether `compile_headers` has nothing to do."""
    return (folder / recipe.name / READY).exists()


def compile_headers(recipe: Recipe, folder: Path) -> Path:
    """Compile the headers of `recipe`, unless they are ready, and return their folder.

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
            # A new folder each time: compilers of a killed build may still write to the old one.
            work = Path(tempfile.mkdtemp(dir=home, prefix="tier-"))
            for name, text in recipe.files.items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_text(text, encoding="utf-8")
            for command in recipe.prepare():
                check_status(*run_tool(command, work, folder), command)
            (work / READY).write_text(work.name, encoding="utf-8")
            (work / READY).replace(ready)
        os.utime(ready)
        return home / ready.read_text(encoding="utf-8")


def forget_headers(recipe: Recipe, folder: Path) -> None:
    """Make the next `compile_headers` compile anew."""
    (folder / recipe.name / READY).unlink(missing_ok=True)
