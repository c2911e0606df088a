"""Extracts from a compiler's output what a learner needs: their line, and what is wrong in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping


# How many errors are shown: those after them are mostly consequences.
SHOWN = 3
# path:line:column: kind: text. g++ says "required from here" before an error in a header,
# clang says "note: in instantiation of" after it.
LINE = re.compile(r"(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+):\s+(?P<text>.+)")
ERROR = re.compile(r"(?:fatal )?error: (.+)")


@dataclass(frozen=True)
class Diagnostic:
    """An error, and its cause in the learner's files; `file` is empty if it has none there."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0


def read_diagnostics(output: str, files: Iterable[str]) -> list[Diagnostic]:
    """Return the errors in a compiler's output, placed at their causes in `files`."""
    own = set(files)
    found: list[Diagnostic] = []
    before: re.Match[str] | None = None
    for line in output.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        here = match if match["file"] in own else None
        if error := ERROR.fullmatch(match["text"]):
            found.append(_place(error[1], here or before))
            before = None
        elif here and "required from" in match["text"]:
            before = here
        elif here and found and not found[-1].file:
            # clang's first note in the learner's file is the cause of the error above.
            found[-1] = _place(found[-1].message, here)
    return found


def _place(message: str, place: re.Match[str] | None) -> Diagnostic:
    if place is None:
        return Diagnostic(message)
    return Diagnostic(message, place["file"], int(place["line"]), int(place["column"]))


def format_diagnostics(found: Iterable[Diagnostic], texts: Mapping[str, str]) -> str:
    """Return the first errors in the learner's files, each with its source line and a caret."""
    parts = []
    for item in [item for item in found if item.file][:SHOWN]:
        lines = texts[item.file].splitlines()
        source = lines[item.line - 1] if item.line <= len(lines) else ""
        # The column counts bytes; tabs before the caret stay, to keep their width.
        until = source.encode()[: item.column - 1].decode(errors="replace")
        caret = re.sub(r"\S", " ", until) + "^"
        parts.append(
            f"{item.file}:{item.line}:{item.column}: error: {item.message}\n{source}\n{caret}"
        )
    return "\n\n".join(parts)
