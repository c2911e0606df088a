"""Find out which library links to which, from the extension down to c10."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    Needed = Callable[[str], Sequence[str]]


# ---- given -----------------------------------------------------------------------------------

TOOL = "otool" if sys.platform == "darwin" else "readelf"
FOLDER = Path(torch.__file__).parent
EXTENSION = Path(torch._C.__file__).name  # noqa: SLF001


def path_of(library: str) -> Path:
    """Return the path of a library of the wheel; for a system library no such file exists."""
    return FOLDER / library if library == EXTENSION else FOLDER / "lib" / library


@cache
def needed(library: str) -> tuple[str, ...]:
    """Return the names of the libraries that a library of the wheel links to, as it lists them.

    Return () for a system library. List everything that the wheel links to, system libraries too.
    """
    path = path_of(library)
    if not path.is_file():
        return ()
    program = shutil.which(TOOL)
    if program is None:
        raise FileNotFoundError(f"{TOOL} is missing")
    flag = "-L" if TOOL == "otool" else "-d"
    command = [program, flag, str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    if TOOL == "otool":
        names = re.findall(r"^\s+\S*?([^/\s]+) \(", text, re.MULTILINE)
        return tuple(name for name in names if name != library)
    return tuple(re.findall(r"\(NEEDED\).*\[(.*)\]", text))


# ---- the exercise ----------------------------------------------------------------------------


def closure(library: str, needed: Needed) -> list[str]:
    """Return the libraries that are loaded with a library, itself last.

    List each library once, after everything that it needs, which ``needed(name)`` returns. There
    are no cycles.
    """
    found: list[str] = []
    known: set[str] = set()

    def visit(name: str) -> None:
        if name not in known:
            known.add(name)
            for each in needed(name):
                visit(each)
            found.append(name)

    visit(library)
    return found


def chain(library: str, other: str, needed: Needed) -> list[str]:
    """Return a shortest path from `library` to `other`, both included; each needs the next.

    Return [] if loading `library` does not load `other`.
    """
    # All chains of one length come before the longer ones.
    chains = {library: [library]}
    waiting = [library]
    for name in waiting:
        for each in needed(name):
            if each not in chains:
                chains[each] = [*chains[name], each]
                waiting.append(each)
    return chains.get(other, [])
