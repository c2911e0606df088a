"""Katas in C++ and in a language of these tests, and the processes that build them."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from plugins.course.model import Kata
from plugins.native.languages import Language
from plugins.native.languages import RewriteError
from plugins.native.tiers import tiers


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping


def lower(text: str) -> str:
    """Return C++ in small letters; a question is none."""
    if "?" in text:
        raise RewriteError(text.count("\n", 0, text.index("?")) + 1, "no questions")
    return text.lower()


def name_files(rewritten: Mapping[str, str]) -> str:
    """Return a comment with the names of the files in the language, if they are several."""
    return f"// {' '.join(rewritten)}\n" if len(rewritten) > 1 else ""


LOUD = Language(".loud", (".hl",), tiers()["small"], lower, name_files)


def native_kata(folder: Path, name: str, *csrc: str) -> Kata:
    """Return a kata of the lecture in `folder`, with these sources."""
    nothing: Any = ()
    return Kata(folder.name, name, "", "cpp", (), nothing, nothing, (), (), (), csrc, folder)


def built(lecture: Path, pattern: str) -> list[str]:
    """Return the names of the units in the build folder."""
    return sorted(file.name[:13] for file in (lecture.parents[1] / "build").glob(pattern))


def until(condition: Callable[[], bool]) -> None:
    """Wait for another process."""
    while not condition():
        time.sleep(0.01)


def running(group: int) -> list[str]:
    """Return the processes of a group that have not ended."""
    found = []
    for about in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _parent, leader = about.read_text().rpartition(")")[2].split()[:3]
            if int(leader) == group and state != "Z":
                found.append(about.parent.name)
    return found
