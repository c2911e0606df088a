"""Follow the logs of replicas that may die at any moment.

TorchX keeps a file for each replica and stream, and somebody watches while they grow. On a bad day
the line that matters is the last one, written just before the replica died. Here is a follower
that loses it:

    read: "epoch 7", nothing after it
                                          writer: "CUDA error: ...", dies
    alive()? no: stop

1. `follow`: yield the lines of one growing file.
2. `merged`: the lines of several logs, in the order of their times. About 23 lines in all.

A log's lines look like ``19:04:07 loss 0.31``. Lines without a time, as in a traceback, belong to
the line before.

Begin on paper: swap the two questions in the picture. Can a line still be lost?
Afterwards read ``tail_logfile`` in ``torch/distributed/elastic/multiprocessing/tail_log.py``, in
site-packages. In which order does it ask?

Real life differs: machines' clocks disagree, and a live merge has to wait for silent replicas.
"""

from __future__ import annotations

import re
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
    """Yield each line of a growing file, without its newline, until its writer is dead.

    Yield a line once its newline has been written, and any text after the last newline once the
    writer is dead. The file may not exist yet, or ever. A UTF-8 character may be written in two
    parts; bytes that are not UTF-8 are replaced, as ``decode(errors="replace")`` does. While the
    writer is alive, call `pause` after each read that finds nothing.
    """
    # TODO: use read_from, and decode whole lines.
    raise NotImplementedError("follow")


def merged(
    logs: Mapping[str, Iterable[str]], since: str = "00:00:00", until: str = "24:00:00"
) -> Iterator[str]:
    """Yield ``[NAME] LINE`` for the lines of all logs with since <= time < until, by time.

    A log keeps its own order: a line without a time, or with an earlier time than the line before,
    takes the time of the line before. Lines before a log's first time have "00:00:00". At equal
    times, the logs keep the order of the mapping. Logs may be endless: read each no further than
    its first line at or after `until`.
    """
    # TODO
    raise NotImplementedError("merged")
