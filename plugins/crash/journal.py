"""The journal of a process that runs tests, from which another tells how far it came.

A disk may be full, or a folder gone. Where the system can, what is short is in memory. A process
that cannot write its journal any more gives it up and runs on: nothing that happens from then on is
laid to the test that the journal named last.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any
from typing import Literal

from plugins.tools.files import read_text_if_there


# Bytes: with less, what a test prints may find no room.
SPACE = 1 << 20
# Events that still count, and find room, after those of the tests were given up.
LASTING = {"begun", "debugged", "interrupted", "finished"}
# The first bytes of a journal that was given up.
GIVEN_UP = b'["lost"'


def new_folder() -> Path:
    """Return a new folder for journals; it is not there if none can be made."""
    try:
        return Path(tempfile.mkdtemp(prefix="katas-"))
    except OSError:
        return Path(os.environ.get("TMPDIR") or "/tmp", "katas-none")  # noqa: S108 - it is not there


def has_room(folder: Path) -> bool:
    """Whether the folder is there, and its disk takes what a test prints, as far as it says."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize >= SPACE


class Journal:
    """The files of one process: its events, its stack if it dies, and its output."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.events = folder / f"{name}.events"
        self.stack = folder / f"{name}.stack"
        self.out = folder / f"{name}.out"
        self.err = folder / f"{name}.err"
        self._shared = False
        self._opened: dict[Path, int] = {}

    def share(self) -> None:
        """Open the files for this process and those that it forks, which then need no folder."""
        self._shared = True
        for file in (self.events, self.stack, self.out, self.err):
            # It is missed by who writes to it.
            with suppress(OSError):
                self.open(file)

    def open(self, file: Path) -> int:
        """Return the descriptor of one of the files.

        What is short is in memory if it is shared; the output, which may be long, if it must be.

        Raises
        ------
        OSError
            If it cannot be opened.
        """
        if file not in self._opened:
            short = file in (self.events, self.stack)
            memory = self._shared if short else not has_room(self.folder)
            # Only Linux has such files.
            if memory and hasattr(os, "memfd_create"):
                self._opened[file] = os.memfd_create(file.name)
            else:
                self._opened[file] = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        return self._opened[file]

    def text(self, file: Path) -> str:
        """Return what one of the files holds, "" if it is gone; bad UTF-8 becomes U+FFFD."""
        if file in self._opened:
            return read_from(self._opened[file], 0).decode("utf-8", "replace")
        return read_text_if_there(file)

    def close(self) -> None:
        """Close the files in this process."""
        while self._opened:
            os.close(self._opened.popitem()[1])


def read_from(file: int, start: int) -> bytes:
    """Return what a file holds from there on; who shares it writes on where it was."""
    return os.pread(file, max(0, os.fstat(file).st_size - start), start)


class Writer:
    """Appends events to a journal, each before the step that may kill the process.

    Attributes
    ----------
    lost
        Why the journal was given up, or "".
    """

    def __init__(self, journal: Journal) -> None:
        self.lost = ""
        self._folder = journal.folder
        self._process = os.getpid()
        self._lasting: dict[str, object] = {}
        try:
            self._file = journal.open(journal.events)
        except OSError as error:
            self._file = os.open(os.devnull, os.O_WRONLY)
            self.give_up(error)
        self.write("started", process=self._process)

    def write(self, kind: str, **values: object) -> None:
        """Append an event, unless a test has forked this process, or the journal is given up."""
        if os.getpid() != self._process:
            return
        if kind in LASTING:
            self._lasting |= values
        elif self.lost:
            return
        try:
            self._append(kind, values)
        except OSError as error:
            self.give_up(error)

    def _append(self, kind: str, values: dict[str, object]) -> None:
        line = json.dumps([kind, time.monotonic(), values], default=str)
        data = f"{line}\n".encode()
        while data:
            # A disk that is nearly full takes a part.
            data = data[os.write(self._file, data) :]

    def give_up(self, error: OSError) -> None:
        """Write no more of the tests, and let the reader know."""
        self.lost = f"{self._folder}: {error.strerror}"
        with suppress(OSError):
            # That makes room for a short line.
            self._empty()
            try:
                self._append("lost", {"limit": None, **self._lasting, "lost": self.lost})
            except OSError:
                # A line that is cut would spoil those that come after it.
                self._empty()

    def _empty(self) -> None:
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)


Phase = Literal["setup", "call", "teardown"]


@dataclass(eq=False)
class Run:
    """A test that ran or still runs, with its reports as plain data and its warnings."""

    nodeid: str
    # Its kata and its device, as in "lecture09/k03_axpy on cuda"; empty if it has not both.
    place: str = ""
    reports: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Record:
    """The state of a process, as the events of its journal add up to it."""

    process: int = 0
    begun: bool = False
    runs: list[Run] = field(default_factory=list)
    run: Run | None = None
    collecting: list[str] = field(default_factory=list)
    phase: Phase | None = None
    since: float = 0.0
    limit: float | None = None
    debugged: bool = False
    interrupted: bool = False
    shown: bool = False
    # It has left the rest to another process; why, if the import that goes on is to blame.
    left: bool = False
    why: str = ""
    # It has ended with a device that is broken, which may keep it from leaving cleanly.
    broken: bool = False
    status: int | None = None
    # Why the journal was given up; the process goes on all the same.
    lost: str = ""

    def add(self, kind: str, since: float, values: dict[str, Any]) -> None:
        """Apply one event."""
        self.since = since
        match kind:
            case "collect":
                self.collecting.append(values.pop("nodeid"))
            case "collected":
                self.collecting.pop()
            case "test":
                self.run = Run(values.pop("nodeid"), values.pop("place", ""))
            case "report" if self.run:
                self.run.reports.append(values.pop("report"))
            case "tested" if self.run:
                self.runs.append(self.run)
                self.run = None
            case "warning":
                warning = values.pop("warning")
                # A replayed warning belongs to a run of another process.
                if self.runs and self.runs[-1].nodeid == warning["nodeid"]:
                    self.runs[-1].warnings.append(warning)
            case "lost":
                self.run = None
                self.collecting.clear()
        # The other values are attributes of this record.
        for name, value in values.items():
            setattr(self, name, value)

    @property
    def busy(self) -> str | None:
        """The test that runs, or else the module that is being imported."""
        return self.run.nodeid if self.run else next(reversed(self.collecting), None)


class Reader:
    """Reads the events of a journal while they are written."""

    def __init__(self, journal: Journal) -> None:
        self.record = Record()
        self._read = 0
        try:
            # Before anything is written: what removes the file later makes no difference.
            self._file = journal.open(journal.events)
        except OSError as error:
            self._file = os.open(os.devnull, os.O_RDONLY)
            self.record.lost = f"{journal.folder}: {error.strerror}"

    def news(self) -> bool:
        """Read new events into the record; return whether there were any."""
        record = self.record
        head = os.pread(self._file, len(GIVEN_UP), 0)
        if not record.lost and (head == GIVEN_UP or (self._read and not head)):
            self._read = 0
            # Unless the journal itself says why.
            record.add("lost", record.since, {"limit": None, "lost": "emptied"})
        lines = read_from(self._file, self._read)
        # The last line may be half written.
        whole = lines[: lines.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self.record.add(*json.loads(line))
        return bool(whole)
