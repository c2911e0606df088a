"""Runs compilers and linkers, no more at once on this machine than it has processors."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.locks import slot


if TYPE_CHECKING:
    from collections.abc import Sequence


LINES = 5
FULL = "No space left on device"


class BrokenToolError(Exception):
    """Compiler, linker or disk failed, not the source: trying again may help."""


def attempt(command: Sequence[str], cwd: Path, folder: Path) -> tuple[int, str]:
    """Run `command` in `cwd` under one of the locks in `folder`; return its status and output."""
    # The learner's language must not reach messages that are parsed, and what the compiler
    # writes on its way belongs where there is room for its result.
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(cwd)}
    with slot(folder):
        done = subprocess.run(  # noqa: S603 - a command of plugins.recipe
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


def check(status: int, output: str, command: Sequence[str]) -> None:
    """Raise what a command that no learner is to blame for ended with, if it failed."""
    if status == 0:
        return
    name = Path(command[0]).name
    if FULL in output:
        raise BrokenToolError(f"{name}: {FULL}")
    end = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    last = "\n".join(output.strip().splitlines()[-LINES:])
    raise BrokenToolError(f"{name} {end}\n{last}".rstrip())
