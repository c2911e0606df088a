"""Reads the stacks of a crash, and keeps the calls of the learner's own code.

faulthandler writes Python's calls, and plugins/native/faults.cpp the addresses of those in C++.
addr2line, which comes with g++, or LLVM's llvm-symbolizer finds the lines of the addresses. Without
either, or without debug information in the library, a crash names Python's calls alone.
"""

from __future__ import annotations

import linecache
import re
import shutil
import subprocess
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from plugins import HERE


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence
    from traceback import FrameSummary


# The heading of another thread, of the one that got a signal, or of a stack that was asked for.
THREAD = re.compile(r"(Thread|Current thread|Stack) .*\(most recent call first\)")
FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')
ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
# faulthandler writes at most a hundred calls of a thread, the innermost first.
MOST = 100
# pluggy calls the code that runs or imports a test; no caller of pluggy is the learner's.
RUNNER = "/pluggy/"
# A virtual environment may stand in the checkout.
OTHERS = ("/site-packages/", f"{HERE}/")
# A call as plugins/native/faults.cpp writes it, and the most calls that it writes.
CALL = re.compile(r"^C\+\+ (0x[0-9a-f]+) (.+)$", re.MULTILINE)
MOST_CPP = 64
# The library of a kata, whose name ends with the hash of its sources. The others have no lines of
# the learner's, and it would take seconds to read torch's.
LIBRARY = re.compile(r".*-[0-9a-f]{16}\.so")
# How the folders begin in which plugins/native/compile.py builds. What it compiles besides katas
# stays there, and the folder may be in the checkout.
WORK = "tier-"
# Both write an address, and for it a function and a place, and again for each call that was
# inlined there, the innermost first.
OPTIONS = ("-a", "-f", "-i", "-C", "-e")
TOOLS: dict[str, tuple[str, ...]] = {
    "addr2line": (),
    "llvm-symbolizer": ("--output-style=GNU",),
    **{f"llvm-symbolizer-{number}": ("--output-style=GNU",) for number in range(30, 13, -1)},
}
SECONDS = 20.0
PLACE = re.compile(r"(.+):(\d+)(?: \(discriminator \d+\))?")
# What is long and tells nothing: the namespace of a file, and the types of the arguments.
NOISE = re.compile(r"\(anonymous namespace\)::|(?<!operator)\((?!anonymous namespace\)).*")


@dataclass(frozen=True)
class Frame:
    """One call: a file, the line that runs in it, and the function."""

    path: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Stack:
    """The learner's calls, the outermost first; endless if faulthandler cut the stack off."""

    frames: tuple[Frame, ...] = ()
    endless: bool = False

    def format_calls(self, root: Path) -> Iterator[str]:
        """Yield the calls as pytest's short tracebacks show them, each call once."""
        for frame in dict.fromkeys(self.frames):
            yield f"{frame}: in {frame.function}"
            if text := linecache.getline(str(root / frame.path), frame.line).strip():
                yield f"    {text}"
        if repeated := len(self.frames) - len(set(self.frames)):
            yield f"    (and the same calls again, at least {repeated} more)"


def read_stack(text: str, root: Path) -> Stack:
    """Return the learner's calls in the thread that died, or else in the last that has any."""
    threads: list[tuple[bool, list[Frame]]] = []
    for line in text.splitlines():
        if head := THREAD.match(line):
            threads.append((head[1] != "Thread", []))
        elif threads and (found := FRAME.fullmatch(line)):
            path, number, function = found.groups()
            threads[-1][1].append(Frame(_unescaped(path), int(number), _unescaped(function)))
    # The last stack first: a process that the test forked may have written before.
    stacks = [(current, _keep_learners(frames, root)) for current, frames in reversed(threads)]
    known = [(current, stack) for current, stack in stacks if stack.frames]
    known.sort(key=lambda pair: not pair[0])
    return known[0][1] if known else Stack()


def read_traceback(entries: Sequence[FrameSummary], root: Path) -> Stack:
    """Return the learner's calls of a Python traceback."""
    return _keep_learners(
        [Frame(e.filename, e.lineno or 0, e.name) for e in reversed(entries)], root
    )


def _keep_learners(frames: Sequence[Frame], root: Path) -> Stack:
    inside = list(takewhile(lambda frame: RUNNER not in frame.path, frames))
    learners = [
        Frame(Path(frame.path).relative_to(root).as_posix(), frame.line, frame.function)
        for frame in reversed(inside)
        if Path(frame.path).is_relative_to(root) and not any(it in frame.path for it in OTHERS)
    ]
    return Stack(tuple(learners), endless=len(inside) >= MOST)


def _unescaped(text: str) -> str:
    # faulthandler writes ASCII only: é is \xe9.
    return ESCAPE.sub(lambda found: chr(int(found[found.lastindex or 0], 16)), text)


def add_calls(stack: Stack, text: str, root: Path) -> Stack:
    """Return `stack` with the learner's C++ calls among those in `text`: Python has called them."""
    calls = CALL.findall(text)
    wanted: dict[str, list[str]] = {}
    for place, library in dict.fromkeys(calls):
        if LIBRARY.fullmatch(library):
            wanted.setdefault(library, []).append(place)
    found = {
        (place, library): frames
        for library, places in wanted.items()
        for place, frames in look_up(library, places, root)
    }
    frames = [frame for call in calls for frame in found.get(call, ())]
    # A stack that is whole ends in Python, which has called the kata.
    ends = len(calls) < MOST_CPP or any("python" in Path(library).name for _, library in calls)
    return Stack((*stack.frames, *reversed(frames)), stack.endless or not ends)


def look_up(library: str, places: Sequence[str], root: Path) -> Iterator[tuple[str, list[Frame]]]:
    """Yield each of `places` in `library` with the learner's calls there, the innermost first."""
    if not (tool := find_tool()):
        return
    try:
        output = subprocess.run(  # noqa: S603 - a tool of the system
            [*tool, *OPTIONS, library, *places],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=SECONDS,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return
    blocks = re.split(r"^0x[0-9a-f]+\n", output, flags=re.MULTILINE)[1:]
    for place, block in zip(places, blocks, strict=False):
        lines = block.splitlines()
        pairs = zip(lines[::2], lines[1::2], strict=False)
        frames = [frame for pair in pairs if (frame := frame_at(*pair, root))]
        # A lambda that was inlined has the name and the line of the function around it.
        yield place, [*dict.fromkeys(frames)]


def find_tool() -> list[str]:
    """Return the command of the first tool that is installed, or nothing."""
    tools = ((shutil.which(name), more) for name, more in TOOLS.items())
    return next(([path, *more] for path, more in tools if path), [])


def frame_at(function: str, place: str, root: Path) -> Frame | None:
    """Return a call if its place is in a file of the learner's, by the name in its ``#line``."""
    found = PLACE.fullmatch(place)
    if not found or any(it in found[1] for it in OTHERS):
        return None
    parts = Path(found[1]).parts
    # The name was relative to the root, and stands below the folder of the build.
    below = max((n for n, part in enumerate(parts, 1) if part.startswith(WORK)), default=1)
    names = (Path(*parts[start:]) for start in range(below, len(parts)))
    name = next((name for name in names if (root / name).is_file()), None)
    if name is None:
        return None
    return Frame(name.as_posix(), int(found[2]), NOISE.sub("", function))
