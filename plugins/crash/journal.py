"""The journal of a process that runs tests, from which another tells how far it came."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal


if TYPE_CHECKING:
    from pathlib import Path


class Journal:
    """The files of one process: its events, its stack if it dies, and its output."""

    def __init__(self, folder: Path, name: str) -> None:
        self.events = folder / f"{name}.events"
        self.stack = folder / f"{name}.stack"
        self.out = folder / f"{name}.out"
        self.err = folder / f"{name}.err"


class Writer:
    """Appends events to a journal, each before the step that may kill the process."""

    def __init__(self, journal: Journal) -> None:
        self._file = os.open(journal.events, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._process = os.getpid()
        self.write("started", process=self._process)

    def write(self, kind: str, **values: object) -> None:
        """Append an event, unless a test has forked this process."""
        if os.getpid() == self._process:
            line = json.dumps([kind, time.monotonic(), values], default=str)
            os.write(self._file, f"{line}\n".encode())


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
        self.journal = journal
        self.record = Record()
        self._read = 0

    def news(self) -> bool:
        """Read new events into the record; return whether there were any."""
        try:
            with self.journal.events.open("rb") as file:
                file.seek(self._read)
                lines = file.read()
        except FileNotFoundError:
            return False
        # The last line may be half written.
        whole = lines[: lines.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self.record.add(*json.loads(line))
        return bool(whole)
