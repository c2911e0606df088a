"""Keeps the calls in the learner's files of a failure, and finds the line to edit."""

from __future__ import annotations

import keyword
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from plugins.guide.definitions import definitions
from plugins.guide.definitions import first_named
from plugins.guide.definitions import innermost
from plugins.guide.failure import ShownFrame


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.guide.definitions import Definition
    from plugins.guide.failure import Failure


# A call in a short traceback of pytest.
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
# What stands in a line of a test beside the code: strings and comments.
PROSE = re.compile(r"""(["'])(?:\\.|(?!\1).)*\1|#.*""")
# What a message shows as code: in backticks, or called.
CODE = re.compile(r"`([^`\n]+)`|([\w.]+)\(")
# How many lines, the stub's included, are searched upwards for its TODO.
ABOVE = 12


def read_lines(lines: Iterable[str]) -> tuple[list[ShownFrame], list[str]]:
    """Split a short traceback that pytest has formatted into calls and message.

    Of an import that failed, pytest gives no more than its text. Any other text is all message.
    """
    lines = list(lines)
    calls: list[ShownFrame] = []
    message: list[str] = []
    for line in lines:
        if found := CALL.fullmatch(line):
            calls.append(ShownFrame(found["path"], int(found["line"]), (line,)))
        elif MESSAGE.match(line):
            message.append(line[4:])
        elif calls and not message:
            calls[-1] = replace(calls[-1], lines=(*calls[-1].lines, line))
    return (calls, message) if message else ([], lines)


def keep_own_calls(frames: Iterable[ShownFrame], own: Iterable[str]) -> list[list[str]]:
    """Return the lines of each call in the files `own`, and how many others follow it."""
    own = set(own)
    calls: list[list[str]] = []
    others = 0
    for frame in [*frames, None]:
        if frame and frame.path not in own:
            others += 1
            continue
        if others and calls:
            calls[-1].append(f"    ({others} {'call' if others == 1 else 'calls'} in other files)")
        others = 0
        if frame and frame.lines:
            calls.append([*frame.lines])
    return calls


def edit_place(
    failure: Failure | None,
    files: Mapping[str, str],
    places: Mapping[str, Sequence[Definition]] | None = None,
    tests: Mapping[str, str] | None = None,
) -> tuple[str, int]:
    """Return the file and line to edit: where it failed, what was called, or the first TODO.

    A wrong result fails in the test: then it is the function that the message names as code, that
    the test called last, or that the message has as a word. `files` maps the exercise's paths, as
    the traceback has them, to their texts, `tests` those of the tests, and `places` to what a
    learner writes in them, if that is known: given code is pointed at only if there is nothing
    else.
    """
    frames, message = (failure.frames, failure.message) if failure else ((), ())
    calls = [(frame.path, frame.line) for frame in frames if frame.path in files]
    text = "\n".join(message)
    if calls and places:
        place = innermost(places, calls) or last_outside(files, calls)
    else:
        place = calls[-1] if calls else find_mention(text, files)
    if place is None:
        led = [*lines_before(frames, tests or {})]
        if places:
            named = (word for pair in CODE.findall(text) for word in pair)
            place = first_named(places, "\n".join([*named, *led, text]))
            place = place and row_in(place, failure, files)
        else:
            place = called_place(led, files)
    if place is None:
        return first_todo(files)
    path, line = place
    lines = files[path].splitlines()
    if line <= len(lines) and UNWRITTEN.search(lines[line - 1]):
        return path, todo_above(lines, line)
    return place


def last_outside(
    files: Mapping[str, str], calls: Sequence[tuple[str, int]]
) -> tuple[str, int] | None:
    """Return the last of the calls, if it is outside of all functions: the module's own code."""
    path, line = calls[-1]
    found = definitions(files[path], python=path.endswith(".py")).values()
    return None if any(each.line <= line <= each.last for each in found) else calls[-1]


def row_in(
    place: tuple[str, int], failure: Failure | None, files: Mapping[str, str]
) -> tuple[str, int]:
    """Return the line of a prediction's row that has failed; `place`, if it is not found there."""
    if not (failure and failure.rows):
        return place
    path, first = place
    row = failure.test.partition("[")[2].removesuffix("]")
    lines = files[path].splitlines()
    for number, line in enumerate(lines[first - 1 :], first):
        if f'"{row}"' in line.replace("'", '"'):
            return path, number
    return place


def lines_before(frames: Sequence[ShownFrame], tests: Mapping[str, str]) -> Iterator[str]:
    """Return the lines that led to a failure: those shown, and those above, the nearest first.

    A test compares a result some lines below the call that returned it. Those above are the lines
    of the functions in `tests`, from the call upwards: first those that name what the failing line
    compares, or what that was made of. What a test says, it does not call.
    """
    # The first line says where it is.
    shown = [[PROSE.sub("", line) for line in frame.lines[1:]] for frame in reversed(frames)]
    for lines in shown:
        yield from lines
    for frame, lines in zip(reversed(frames), shown, strict=True):
        names = {word for line in lines for word in WORD.findall(line)}.difference(keyword.kwlist)
        yield from sorted_by_names(lines_above(frame, tests), names)


def lines_above(frame: ShownFrame, tests: Mapping[str, str]) -> Iterator[str]:
    """Return the lines of a test above the one that failed, from there upwards."""
    for line in reversed(tests.get(frame.path, "").splitlines()[: frame.line - 1]):
        if DEFINITION.match(line):
            # A function within the test is a part of it.
            if line[0].isspace():
                continue
            return
        yield PROSE.sub("", line)


def sorted_by_names(lines: Iterable[str], names: Collection[str]) -> list[str]:
    """Return lines, with those first that have one of the names, or of what these were made of."""
    known, near, far = {*names}, [], []
    for line in lines:
        words = {*WORD.findall(line)}
        if not words & known:
            far.append(line)
            continue
        near.append(line)
        target, equals, value = line.partition(" = ")
        if equals and known & {*WORD.findall(target)}:
            known |= {*WORD.findall(value)}
    return [*near, *far]


def called_place(lines: Iterable[str], files: Mapping[str, str]) -> tuple[str, int] | None:
    """Return where the learner defines what the lines of a test call, the first that is theirs."""
    defined: dict[str, tuple[str, int]] = {}
    for path, text in files.items():
        if path.endswith(".py"):
            found = enumerate(map(DEFINED.match, text.splitlines()), 1)
            defined |= {match["name"]: (path, number) for number, match in found if match}
        else:
            functions = definitions(text, python=False).values()
            defined |= {each.name: (path, each.line) for each in functions}
    names = (name for line in lines for name in WORD.findall(line))
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
