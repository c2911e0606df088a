"""What a run under ``--watch`` tells the process that stays, in memory that both share.

A run that could tell nothing has an exit status, which `plugins.loop.forked_run` waits for.
"""

from __future__ import annotations

import json
import mmap
import struct
from dataclasses import asdict
from dataclasses import dataclass

import pytest


# In bytes: the length of what was told, what takes long just now, and from `LOG` on what was told.
# Of this memory only what is written to is ever taken.
LENGTH = struct.Struct("=Q")
LOG = 1 << 10
SIZE = 1 << 22
# Where a clock may be shown, what takes long begins with this.
SHOWN = b"+"


@dataclass(frozen=True)
class Told:
    """The lines that a run has shown, and what happened, however much of it they had room for.

    That is the kata at which it has stopped, those that it has solved, how the test failed, and how
    many tests pass, as in ``3 of 20``, where that is known.
    """

    lines: tuple[str, ...] = ()
    failed: str = ""
    solved: tuple[str, ...] = ()
    failure: str = ""
    passing: str = ""


class Channel:
    """The memory, to which a run writes, and which the process that stays reads at any time."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SIZE)

    def clear(self) -> None:
        """Forget what the last run has told, or a process of this one that has died."""
        LENGTH.pack_into(self._memory, 0, 0)
        self.set_status("")

    def set_status(self, text: str | None) -> None:
        """Say, in the run, what takes long just now; None while it shows a result.

        A file for each test took a tenth of a run.
        """
        data, room = b"" if text is None else SHOWN + text.encode(), LOG - LENGTH.size
        self._memory[LENGTH.size : LOG] = data[: room - 1].ljust(room, b"\0")

    @property
    def status(self) -> str | None:
        """What takes long just now; None while the run shows a result."""
        data = self._memory[LENGTH.size : LOG]
        if not data.startswith(SHOWN):
            return None
        # A character may have been cut at the end.
        return data.removeprefix(SHOWN).partition(b"\0")[0].decode(errors="ignore")

    def tell(self, told: Told) -> None:
        """Add, in the run, to what it has told; the clock would cut through lines of a result.

        What the run does next, another kata, it says again. What no screen has room for is lost.
        """
        if told.lines:
            self.set_status(None)
        entry = f"{json.dumps(asdict(told))}\n".encode()
        (length,) = LENGTH.unpack_from(self._memory)
        begin, end = LOG + length, LOG + length + len(entry)
        if end <= SIZE:
            self._memory[begin:end] = entry
            # At last: a reader finds whole entries.
            LENGTH.pack_into(self._memory, 0, end - LOG)

    def read(self) -> Told:
        """Return what the last run has told until now."""
        (length,) = LENGTH.unpack_from(self._memory)
        told = Told()
        for line in self._memory[LOG : LOG + length].splitlines():
            more = Told(**json.loads(line))
            told = Told(
                (*told.lines, *more.lines),
                told.failed or more.failed,
                (*told.solved, *more.solved),
                told.failure or more.failure,
                more.passing or told.passing,
            )
        return told


# Set by --watch, in its runs.
channel_key = pytest.StashKey[Channel]()
# Set in them too: the lines that the process that stays has shown above the run.
above_key = pytest.StashKey[str]()
