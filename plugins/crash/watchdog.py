"""Watches a process that runs tests: how long one step takes, and how much memory."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from plugins.crash.crash_reports import Crash
from plugins.crash.journal import Reader
from plugins.crash.stacks import add_calls
from plugins.crash.stacks import read_stack
from plugins.crash.verdict import Death
from plugins.crash.verdict import Stop
from plugins.crash.verdict import describe_death
from plugins.crash.verdict import explain_death
from plugins.tools.processes import GIB
from plugins.tools.processes import GRACE
from plugins.tools.processes import TICK
from plugins.tools.processes import memory_of


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.crash.journal import Journal
    from plugins.crash.journal import Phase


class Watch:
    """Reads the journal of a process and ends the process when it passes a limit."""

    def __init__(self, journal: Journal, memory: int, process: int = 0) -> None:
        self.journal = journal
        self._process = process
        self.reader = Reader(journal)
        self.record = self.reader.record
        self.memory = memory
        self.stop: Stop | None = None
        # How often Ctrl-C was passed on from here; None if there was none.
        self._interrupts: int | None = None
        self._spent = 0.0

    @property
    def process(self) -> int:
        """The process that is watched; 0 while a worker has not written its number yet."""
        return self._process or self.record.process

    def interrupt(self) -> None:
        """Note Ctrl-C: a terminal sends it to the watched process too, other programs may not."""
        # A debugger handles Ctrl-C itself.
        if self._interrupts is None and not self.record.debugged:
            self._interrupts = 0
            self._spent = 0.0

    def look(self, seconds: float = TICK) -> None:
        """Look once, `seconds` after the last time.

        The time is counted, not measured: Ctrl-Z stops this process and the watched one together.
        """
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
            # faulthandler then writes the stack, even of code that holds the GIL.
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
        if record.busy and self.memory and memory_of(self.process) > self.memory:
            return Stop("memory", f"{self.memory / GIB:.1f} GiB")
        return None

    def send(self, number: int) -> None:
        """Send a signal to the process, unless it is gone."""
        with suppress(ProcessLookupError):
            os.kill(self.process, number)

    def death(self, code: int | None, root: Path) -> Death:
        """Return how the process ended, given its exit code."""
        self.reader.news()
        text = self.journal.text(self.journal.stack)
        stack = add_calls(read_stack(text, root), text, root)
        return Death(code, stack, self.journal.text(self.journal.err), self.stop)

    def crash(self, death: Death, root: Path) -> Crash:
        """Return the crash of the test or the import that died with the process."""
        record = self.record
        phase: Phase = record.phase or "call"
        if record.run and any(report["when"] == phase for report in record.run.reports):
            # This phase was reported already.
            phase = "teardown"
        frames = death.stack.frames
        return Crash(
            where=(str(root / frames[-1].path), frames[-1].line) if frames else None,
            text=describe_death(death, root),
            when=phase,
            seconds=time.monotonic() - record.since,
            out=self.journal.text(self.journal.out),
            err=death.errors,
            interrupt=self.stopped_for("interrupt"),
            cause=explain_death(death)[0],
            endless=self.stopped_for("time"),
        )

    def stopped_for(self, why: str) -> bool:
        """Whether the process was stopped from here, for this reason."""
        return bool(self.stop and self.stop.why == why)
