"""What of a failure concerns the learner: the calls in their files, and the line to edit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence


# A call in a short traceback of pytest, which `plugins.stacks` imitates.
CALL = re.compile(r"(?P<path>\S.*?):(?P<line>\d+): in .+")
MESSAGE = re.compile(r"E(?:   |$)")
# How Python and compilers name a place.
PYTHON_PLACE = re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)')
PLACE = re.compile(r"(?P<path>[^\s:\"']+\.\w+):(?P<line>\d+)\b")
TODO = re.compile(r"(?:#|//) TODO\b")
UNWRITTEN = re.compile(
    r"raise NotImplementedError|TORCH_CHECK_NOT_IMPLEMENTED|cudaErrorNotYetImplemented"
)
# Where a function begins, in Python; a stub in C++ has its TODO just above.
DEFINITION = re.compile(r"\s*(?:async def|def|class) ")
DEFINED = re.compile(r"\s*(?:async def|def|class) (?P<name>\w+)")
WORD = re.compile(r"[^\W\d]\w*")
ABOVE = 12


@dataclass(frozen=True)
class Call:
    """A call of a traceback: its file, its line, and the lines that show it."""

    path: str
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """A failure's text in two parts: the calls, outermost first, and the message."""

    calls: tuple[Call, ...]
    message: tuple[str, ...]


def read_failure(text: str) -> Failure:
    """Take a short traceback apart; any other text is a message."""
    calls: list[Call] = []
    message: list[str] = []
    for line in text.splitlines():
        if found := CALL.fullmatch(line):
            calls.append(Call(found["path"], int(found["line"]), (line,)))
        elif MESSAGE.match(line):
            message.append(line[4:])
        elif calls and not message:
            last = calls[-1]
            calls[-1] = Call(last.path, last.line, (*last.lines, line))
    if not message:
        return Failure((), tuple(text.splitlines()))
    return Failure(tuple(calls), tuple(message))


def cut(calls: Iterable[Call], own: Iterable[str]) -> list[str]:
    """Return the lines of the calls in the files `own`, and how many others follow them."""
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
    """Return the file and the line to edit: where it failed, or the first place to write.

    `files` holds the texts of the exercise's files by the paths that the traceback has for them.
    """
    found = [(call.path, call.line) for call in failure.calls if call.path in files]
    place = found[-1] if found else mentioned("\n".join(failure.message), files)
    if place is None:
        return first_todo(files)
    path, line = place
    lines = files[path].splitlines()
    if line <= len(lines) and UNWRITTEN.search(lines[line - 1]):
        return path, todo_above(lines, line)
    return place


def called_place(failure: Failure, files: Mapping[str, str]) -> tuple[str, int] | None:
    """Return where the learner defines what the test had called when it noticed a wrong result.

    The innermost call that names something of theirs tells; in C++ tests name it otherwise.
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


def mentioned(text: str, files: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the first place in one of the files that `text` names."""
    matches = [*PYTHON_PLACE.finditer(text), *PLACE.finditer(text)]
    for match in matches:
        for path in files:
            if match["path"] == path or match["path"].endswith(f"/{path}"):
                return path, int(match["line"])
    return None


def todo_above(lines: Sequence[str], line: int) -> int:
    """Return the line with the TODO that belongs to the stub in `line`, or that line itself."""
    for number in range(line, max(line - ABOVE, 0), -1):
        if TODO.search(lines[number - 1]):
            return number
        if DEFINITION.match(lines[number - 1]):
            break
    return line


def first_todo(files: Mapping[str, str]) -> tuple[str, int]:
    """Return the first TODO of the files, or else the first stub, or else their beginning."""
    for pattern in (TODO, UNWRITTEN):
        for path, text in files.items():
            for number, line in enumerate(text.splitlines(), 1):
                if pattern.search(line):
                    return path, number
    return next(iter(files)), 1
