"""Reads the stacks that faulthandler writes, and keeps the calls of the learner's own code."""

from __future__ import annotations

import linecache
import re
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

    def lines(self, root: Path) -> Iterator[str]:
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
