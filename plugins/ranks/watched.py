"""Looks after one rank: what it says, how it ends, and who ends it when it does not."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from plugins.hang import place_of
from plugins.outcomes import AFTER
from plugins.outcomes import LATE
from plugins.outcomes import Outcome
from plugins.stacks import Stack
from plugins.stacks import read_stack
from plugins.traffic import read_calls
from plugins.verdict import Death
from plugins.verdict import Stop
from plugins.verdict import explained
from plugins.verdict import verdict
from plugins.watchdog import GIB
from plugins.watchdog import GRACE
from plugins.watchdog import taken
from plugins.watchdog import text_of


if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from plugins.raised import Raised
    from plugins.ranks import Request
    from plugins.ranks import Said


# What gloo prints of every process group.
CHATTER = re.compile(r"^\[Gloo\] Rank \d+ is connected to .*\n?", re.MULTILINE)


class Watched:
    """A rank that runs."""

    def __init__(self, request: Request, rank: int, process: int, rank_end: Connection) -> None:
        self.request = request
        self.rank = rank
        self.process = process
        self.connection = rank_end
        self.outcome: Outcome | None = None
        self._stop: Stop | None = None
        self._stopped = ""
        self._killed_at = 0.0
        self._ended = False

    def look(self) -> bool:
        """Look once; return whether it is known since now what became of the rank."""
        if self.outcome:
            return False
        with suppress(EOFError, OSError):
            if self.connection.poll():
                self.outcome = self._spoke(self.connection.recv())
                return True
        process, status = os.waitpid(self.process, os.WNOHANG)
        if process:
            self._ended = True
            self.outcome = self._died(os.waitstatus_to_exitcode(status))
            return True
        self._judge()
        return False

    def _judge(self) -> None:
        memory = self.request.memory
        if self._stop:
            if time.monotonic() > self._killed_at:
                self.send(signal.SIGKILL)
        elif memory and taken(self.process) > memory:
            self.note("memory", Stop("memory", f"{memory / GIB:.1f} GiB"))
            self.send(signal.SIGABRT)

    def note(self, why: str, stop: Stop) -> None:
        """Note that it is told to die."""
        self._stopped, self._stop = why, stop
        self._killed_at = time.monotonic() + GRACE

    @property
    def runs(self) -> bool:
        """Whether it is neither known nor about to be known what becomes of it."""
        return not (self.outcome or self._stop)

    def send(self, number: int) -> None:
        """Send a signal to the rank and to what it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, number)

    def end(self, seconds: float) -> None:
        """Let it go, and wait until it is gone; after so many seconds it is killed."""
        self.connection.close()
        until = time.monotonic() + seconds if self.outcome else 0.0
        while not self._ended and time.monotonic() < until:
            self._ended = bool(os.waitpid(self.process, os.WNOHANG)[0])
            time.sleep(0.002)
        # With what it has started and not ended.
        self.send(signal.SIGKILL)
        if not self._ended:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)

    def _spoke(self, said: Said) -> Outcome:
        raised = said.raised
        if raised is None or raised.status is None:
            return self._outcome(value=said.value, raised=raised)
        what, means = explained(Death(0, Stack(), stop=Stop("exit", raised.status)))
        return self._outcome(death=f"{what}\n{means}\n\n{raised.text}")

    def _died(self, code: int) -> Outcome:
        journal, root = self.request.journal(self.rank), self.request.root
        stack = text_of(journal.stack)
        if self._stopped in {LATE, AFTER}:
            calls = read_calls(journal.events)
            return self._outcome(stopped=self._stopped, place=place_of(stack, calls, root))
        death = Death(code, read_stack(stack, root), text_of(journal.err), self._stop)
        return self._outcome(death=verdict(death, root), stopped=self._stopped)

    def _outcome(
        self,
        value: bytes = b"",
        raised: Raised | None = None,
        death: str = "",
        stopped: str = "",
        place: str = "",
    ) -> Outcome:
        journal = self.request.journal(self.rank)
        return Outcome(
            self.rank,
            value,
            raised,
            death,
            stopped,
            place,
            calls=tuple(read_calls(journal.events)),
            out=CHATTER.sub("", text_of(journal.out)),
            err=text_of(journal.err),
        )


def stop(ranks: Sequence[Watched], why: str) -> None:
    """Let all that still run write their stacks and die, before one sees the other gone."""
    left = [each for each in ranks if each.runs]
    for each in left:
        each.send(signal.SIGSTOP)
    # faulthandler writes the stack of whatever runs, even of what holds the GIL.
    for number in (signal.SIGABRT, signal.SIGCONT):
        for each in left:
            each.note(why, Stop("time"))
            each.send(number)
