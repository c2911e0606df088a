"""Finds the lines of the learner's C++ for the addresses that plugins/native/faults.cpp writes.

Debug information is read by addr2line, which comes with g++, or by LLVM's llvm-symbolizer. Without
either, or where the source was built without that information, a crash names Python's calls alone.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.crash.stacks import OTHERS
from plugins.crash.stacks import Frame
from plugins.crash.stacks import Stack


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence


# A call as plugins/native/faults.cpp writes it, which stops after so many.
CALL = re.compile(r"^C\+\+ (0x[0-9a-f]+) (.+)$", re.MULTILINE)
MOST = 64
# The library of a kata, whose name ends with the hash of its sources. The others have no lines of
# the learner's, and it would take seconds to read torch's.
LIBRARY = re.compile(r".*-[0-9a-f]{16}\.so")
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
    ends = len(calls) < MOST or any("python" in Path(library).name for _, library in calls)
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
        yield place, [frame for pair in pairs if (frame := frame_at(*pair, root))]


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
    names = (Path(*parts[start:]) for start in range(1, len(parts)))
    name = next((name for name in names if (root / name).is_file()), None)
    if name is None:
        return None
    return Frame(name.as_posix(), int(found[2]), NOISE.sub("", function))
