"""Extracts the frames in the learner's files from a failure, and finds the line to edit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence


# A call in a short traceback of pytest, which `plugins.crash.stacks` imitates.
CALL = re.compile(r"(?P<path>\S.*?):(?P<line>\d+): in .+")
MESSAGE = re.compile(r"E(?:   |$)")
# A place as Python names it, and as compilers do.
PYTHON_PLACE = re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)')
PLACE = re.compile(r"(?P<path>[^\s:\"']+\.\w+):(?P<line>\d+)\b")
TODO = re.compile(r"(?:#|//) TODO\b")
UNWRITTEN = re.compile(
    r"raise NotImplementedError|TORCH_CHECK_NOT_IMPLEMENTED|cudaErrorNotYetImplemented"
)
# Where a function begins in Python; in C++ the TODO stands just above the stub.
DEFINITION = re.compile(r"\s*(?:async def|def|class) ")
DEFINED = re.compile(r"\s*(?:async def|def|class) (?P<name>\w+)")
WORD = re.compile(r"[^\W\d]\w*")
# How many lines, the stub's included, are searched upwards for its TODO.
ABOVE = 12


@dataclass(frozen=True)
class TracebackCall:
    """A call in a traceback: its file, its line, and the lines of text that show it."""

    path: str
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """A failure's calls, outermost first, and its message."""

    calls: tuple[TracebackCall, ...]
    message: tuple[str, ...]


def read_failure(text: str) -> Failure:
    """Split a short traceback into calls and message; any other text is all message."""
    calls: list[TracebackCall] = []
    message: list[str] = []
    for line in text.splitlines():
        if found := CALL.fullmatch(line):
            calls.append(TracebackCall(found["path"], int(found["line"]), (line,)))
        elif MESSAGE.match(line):
            message.append(line[4:])
        elif calls and not message:
            last = calls[-1]
            calls[-1] = TracebackCall(last.path, last.line, (*last.lines, line))
    if not message:
        return Failure((), tuple(text.splitlines()))
    return Failure(tuple(calls), tuple(message))


def keep_own_calls(calls: Iterable[TracebackCall], own: Iterable[str]) -> list[str]:
    """Return the lines of the calls in the files `own`, and how many others follow each."""
    own = set(own)
    lines: list[str] = []
    others = 0
    for call in [*calls, None]:
        if call and call.path not in own:
            others += 1
            continue
        if others and lines:
            lines.append(f"    ({others} {'call' if others == 1 else 'calls'} in other files)")
        others = 0
        lines += call.lines if call else ()
    return lines


def edit_place(failure: Failure, files: Mapping[str, str]) -> tuple[str, int]:
    """Return the file and line to edit: where it failed, what was called, or the first TODO.

    A wrong result fails in the test: then it is the function that the test called. `files` maps
    the exercise's paths, as the traceback has them, to their texts.
    """
    found = [(call.path, call.line) for call in failure.calls if call.path in files]
    place = found[-1] if found else find_mention("\n".join(failure.message), files)
    if place is None:
        return called_place(failure, files) or first_todo(files)
    path, line = place
    lines = files[path].splitlines()
    if line <= len(lines) and UNWRITTEN.search(lines[line - 1]):
        return path, todo_above(lines, line)
    return place


def called_place(failure: Failure, files: Mapping[str, str]) -> tuple[str, int] | None:
    """Return where the learner defines what the test called before it saw a wrong result.

    That is the first name of theirs in the innermost call that has one. Only definitions in
    Python are found.
    """
    defined = {
        found["name"]: (path, number)
        for path, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (found := DEFINED.match(line))
    }
    shown = [line for call in reversed(failure.calls) for line in call.lines[1:]]
    names = (name for line in shown for name in WORD.findall(line))
    return next((defined[name] for name in names if name in defined), None)


def find_mention(text: str, files: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the first place in one of the `files` that `text` names."""
    matches = [*PYTHON_PLACE.finditer(text), *PLACE.finditer(text)]
    for match in matches:
        for path in files:
            if match["path"] == path or match["path"].endswith(f"/{path}"):
                return path, int(match["line"])
    return None


def todo_above(lines: Sequence[str], line: int) -> int:
    """Return the line with the TODO of the stub in `line`, or `line` itself."""
    for number in range(line, max(line - ABOVE, 0), -1):
        if TODO.search(lines[number - 1]):
            return number
        if DEFINITION.match(lines[number - 1]):
            break
    return line


def first_todo(files: Mapping[str, str]) -> tuple[str, int]:
    """Return the first TODO in the files, else the first stub, else the beginning."""
    for pattern in (TODO, UNWRITTEN):
        for path, text in files.items():
            for number, line in enumerate(text.splitlines(), 1):
                if pattern.search(line):
                    return path, number
    return next(iter(files)), 1
