"""Watches a process that runs tests: for how long it does one thing, and how much it takes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.crashed import Crash
from plugins.journal import Reader
from plugins.stacks import read_stack
from plugins.verdict import Death
from plugins.verdict import Stop
from plugins.verdict import verdict


if TYPE_CHECKING:
    from plugins.crashed import Phase
    from plugins.journal import Journal


# How often to look, in seconds, and how long a process may take to write its stack and die.
TICK = 0.1
GRACE = 2.0
SHARE = re.compile(r"(\d{1,3})%")
GIB = 1 << 30


def allowance(text: str, machine: int, processes: int = 1) -> int:
    """Return how many bytes each of so many processes may take on a machine; 0: any number.

    Raises
    ------
    ValueError
        If `text` is no share of the machine's memory.
    """
    share = SHARE.fullmatch(text.strip())
    if share is None:
        raise ValueError(f"kata_memory: expected a share such as 50%, found {text!r}")
    return machine * int(share[1]) // 100 // processes


def physical_memory() -> int:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def taken(process: int, files: Path = Path("/proc")) -> int:
    """Return the bytes of memory that a process takes, swapped out or not; 0 if it is gone."""
    if files.is_dir():
        with suppress(OSError):
            status = (files / str(process) / "status").read_text(encoding="utf-8")
            return (
                sum(map(int, re.findall(r"^Vm(?:RSS|Swap):\s+(\d+)", status, re.MULTILINE))) << 10
            )
        return 0
    # macOS
    command = ["ps", "-o", "rss=", "-p", str(process)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return int(done.stdout or 0) << 10


def text_of(file: Path) -> str:
    """Return what a process has written to a file, if it has."""
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


class Watch:
    """Reads the journal of a process and ends the process when it passes a limit."""

    def __init__(self, journal: Journal, memory: int, process: int = 0) -> None:
        self.journal = journal
        self._process = process
        self.reader = Reader(journal)
        self.record = self.reader.record
        self.memory = memory
        self.stop: Stop | None = None
        # How often the process has been told of Ctrl-C from here.
        self._interrupts: int | None = None
        self._spent = 0.0

    @property
    def process(self) -> int:
        """The process that is watched; 0 if it has not said so yet."""
        return self._process or self.record.process

    def interrupt(self) -> None:
        """Note Ctrl-C, which the terminal, but not every program, sends to the process as well."""
        # A debugger answers for itself.
        if self._interrupts is None and not self.record.debugged:
            self._interrupts = 0
            self._spent = 0.0

    def look(self, seconds: float = TICK) -> None:
        """Look once, `seconds` after the last time; both sleep while the terminal stops them."""
        news = self.reader.news()
        self._spent = 0.0 if news else self._spent + seconds
        if self.stop:
            if self._spent > GRACE:
                self.send(signal.SIGKILL)
        elif self._interrupts == 0 and self._spent > GRACE / 2 and not self.record.interrupted:
            self._interrupts = 1
            self._spent = 0.0
            self.send(signal.SIGINT)
        elif stop := self._reason():
            self.stop = stop
            self._spent = 0.0
            # faulthandler writes the stack of whatever runs, even of what holds the GIL.
            self.send(signal.SIGABRT)

    def _reason(self) -> Stop | None:
        record = self.record
        if record.debugged or not self.process:
            return None
        if self._interrupts and not record.interrupted and self._spent > GRACE:
            return Stop("interrupt")
        ends = record.interrupted and record.status is None
        if record.limit and not ends and self._spent > record.limit:
            return Stop("time", f"{record.limit:g} s")
        if record.busy and self.memory and taken(self.process) > self.memory:
            return Stop("memory", f"{self.memory / GIB:.1f} GiB")
        return None

    def send(self, number: int) -> None:
        """Send a signal to the process, which may be gone."""
        with suppress(ProcessLookupError):
            os.kill(self.process, number)

    def death(self, code: int | None, root: Path) -> Death:
        """Return how the process ended, once it has."""
        self.reader.news()
        stack = text_of(self.journal.stack)
        return Death(code, read_stack(stack, root), text_of(self.journal.err), self.stop)

    def crash(self, death: Death, root: Path) -> Crash:
        """Return what to report of the test or the import that died with the process."""
        record = self.record
        phase: Phase = record.phase or "call"
        if record.run and any(report["when"] == phase for report in record.run.reports):
            # It has been reported already.
            phase = "teardown"
        frames = death.stack.frames
        return Crash(
            where=(str(root / frames[-1].path), frames[-1].line) if frames else None,
            text=verdict(death, root),
            when=phase,
            seconds=time.monotonic() - record.since,
            out=text_of(self.journal.out),
            err=death.errors,
            interrupt=bool(self.stop and self.stop.why == "interrupt"),
        )
