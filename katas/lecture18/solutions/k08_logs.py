"""Follow the logs of replicas that may die at any moment."""

from __future__ import annotations

import re
from heapq import merge
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from pathlib import Path


def read_from(path: Path, position: int) -> bytes:
    """Return the file's bytes from `position` on; none if it does not exist yet. Given."""
    if not path.exists():
        return b""
    with path.open("rb") as file:
        file.seek(position)
        return file.read()


def time_of(line: str) -> str | None:
    """Return the time at the beginning of a line, "19:04:07", or None. Given."""
    found = re.match(r"\d\d:\d\d:\d\d(?= )", line)
    return found and found[0]


def follow(path: Path, alive: Callable[[], bool], pause: Callable[[], None]) -> Iterator[str]:
    """Yield each line of a growing file, without its newline, until its writer is dead."""
    position, rest, lives = 0, b"", True
    while lives:
        lives = alive()
        new = read_from(path, position)
        position += len(new)
        *lines, rest = (rest + new).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)
        if lives and not new:
            pause()
    if rest:
        yield rest.decode(errors="replace")


def merged(
    logs: Mapping[str, Iterable[str]], since: str = "00:00:00", until: str = "24:00:00"
) -> Iterator[str]:
    """Yield ``[NAME] LINE`` for the lines of all logs with since <= time < until, by time."""

    def timed(name: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
        time = "00:00:00"
        for line in lines:
            time = max(time, time_of(line) or time)
            yield time, f"[{name}] {line}"

    parts = (takewhile(lambda each: each[0] < until, timed(*log)) for log in logs.items())
    for time, line in merge(*parts, key=itemgetter(0)):
        if time >= since:
            yield line
