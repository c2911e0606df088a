"""Watches one rank: receives its result, reads how it died, stops it when it does not end.

A rank that is stopped writes its stack first. The stack and the calls it made tell where it was:
``waits in all_reduce, its 4th call``.
"""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from plugins.crash.stacks import FRAME
from plugins.crash.stacks import THREAD
from plugins.crash.stacks import Stack
from plugins.crash.stacks import read_stack
from plugins.crash.verdict import Death
from plugins.crash.verdict import Stop
from plugins.crash.verdict import describe_death
from plugins.crash.verdict import explain_death
from plugins.ranks.messages import AFTER
from plugins.ranks.messages import LATE
from plugins.ranks.messages import RankOutcome
from plugins.ranks.traffic import read_calls
from plugins.tools.files import read_text_if_there
from plugins.tools.processes import GIB
from plugins.tools.processes import GRACE
from plugins.tools.processes import memory_of


if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from plugins.ranks.rank import CallResult
    from plugins.ranks.rank import Request
    from plugins.ranks.traffic import Call


# Gloo prints this for every process group.
CHATTER = re.compile(r"^\[Gloo\] Rank \d+ is connected to .*\n?", re.MULTILINE)
# The files with the functions that a learner calls, each of which may call another one.
PUBLIC = re.compile(r"/torch/distributed/(?:distributed_c10d|_functional_collectives)\.py$")
# These return at once, so a rank is in one only by chance: group.WORLD is a property.
AT_ONCE = re.compile(r"get_|is_|[A-Z]")
# On what isend() and the like return; it is implemented in C++ and has no frame of its own.
WAIT = re.compile(r"\.wait\(")
ORDINALS = {1: "st", 2: "nd", 3: "rd"}


class Watched:
    """A rank that runs, seen from the server."""

    def __init__(self, request: Request, rank: int, process: int, rank_end: Connection) -> None:
        self.request = request
        self.rank = rank
        self.process = process
        self.connection = rank_end
        self.outcome: RankOutcome | None = None
        self._stop: Stop | None = None
        self._stopped = ""
        self._killed_at = 0.0
        self._ended = False

    @property
    def runs(self) -> bool:
        """Whether it has neither an outcome nor an order to stop."""
        return not (self.outcome or self._stop)

    def look(self) -> bool:
        """Poll the rank once; return whether it finished."""
        if self.outcome:
            return False
        with suppress(EOFError, OSError):
            if self.connection.poll():
                self.outcome = self._outcome_of_result(self.connection.recv())
                return True
        process, status = os.waitpid(self.process, os.WNOHANG)
        if process:
            self._ended = True
            self.outcome = self._outcome_of_death(os.waitstatus_to_exitcode(status))
            return True
        self._enforce_limits()
        return False

    def _enforce_limits(self) -> None:
        memory = self.request.memory
        if self._stop:
            if time.monotonic() > self._killed_at:
                self.send(signal.SIGKILL)
        elif memory and memory_of(self.process) > memory:
            self.note_stop("memory", Stop("memory", f"{memory / GIB:.1f} GiB"))
            self.send(signal.SIGABRT)

    def note_stop(self, why: str, stop: Stop) -> None:
        """Note why the rank is stopped, and when to kill it if that does not help."""
        self._stopped, self._stop = why, stop
        self._killed_at = time.monotonic() + GRACE

    def send(self, number: int) -> None:
        """Send a signal to the rank and to what it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, number)

    def end(self, seconds: float) -> None:
        """Release the rank and wait until it is gone; kill it after `seconds` seconds."""
        self.connection.close()
        until = time.monotonic() + seconds if self.outcome else 0.0
        while not self._ended and time.monotonic() < until:
            self._ended = bool(os.waitpid(self.process, os.WNOHANG)[0])
            time.sleep(0.002)
        # And what it has started and not ended.
        self.send(signal.SIGKILL)
        if not self._ended:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)

    def _outcome_of_result(self, result: CallResult) -> RankOutcome:
        raised = result.raised
        if raised and raised.status is not None:
            what, means = explain_death(Death(0, Stack(), stop=Stop("exit", raised.status)))
            return replace(self._traces(), death=f"{what}\n{means}\n\n{raised.text}")
        return replace(
            self._traces(), value=result.value, raised=raised, uncounted=result.uncounted
        )

    def _outcome_of_death(self, code: int) -> RankOutcome:
        traces, root = self._traces(), self.request.root
        stack = read_text_if_there(self.request.journal(self.rank).stack)
        if self._stopped in {LATE, AFTER}:
            place = describe_place(stack, traces.calls, root)
            return replace(traces, stopped=self._stopped, place=place)
        death = Death(code, read_stack(stack, root), traces.err, self._stop)
        return replace(traces, death=describe_death(death, root), stopped=self._stopped)

    def _traces(self) -> RankOutcome:
        """Return an outcome with what the rank has left in its files."""
        journal = self.request.journal(self.rank)
        return RankOutcome(
            self.rank,
            calls=tuple(read_calls(journal.events)),
            out=CHATTER.sub("", read_text_if_there(journal.out)),
            err=read_text_if_there(journal.err),
        )


def stop_ranks(ranks: Sequence[Watched], why: str) -> None:
    """Let all that still run write their stacks and die, before one sees the other gone."""
    running = [each for each in ranks if each.runs]
    for each in running:
        each.send(signal.SIGSTOP)
    # faulthandler writes the stack of any thread that runs, even of one that holds the GIL.
    for number in (signal.SIGABRT, signal.SIGCONT):
        for each in running:
            each.note_stop(why, Stop("time"))
            each.send(number)


def describe_place(stack: str, calls: Sequence[Call], root: Path) -> str:
    """Return where a rank was when it wrote this stack, as the end of a sentence about it.

    For example ``waits in all_reduce, its 4th call``, and below it the learner's lines:
    ``katas/lecture13/k01_ring.py:30: in step``.
    """
    lines = list(read_stack(stack, root).format_calls(root))
    where = "\n".join(lines)
    if function := current_collective(stack):
        count = f", its {ordinal(len(calls))} call" if calls else ""
        return f"waits in {function}{count}\n{where}".rstrip()
    if WAIT.search(lines[-1] if lines else ""):
        return f"waits for what it began, {count_calls(calls)}\n{where}"
    made = f"after {count_calls(calls)}" if calls else "before any call of torch.distributed"
    return f"runs, {made}\n{where}".rstrip()


def current_collective(stack: str) -> str:
    """Return the function of torch.distributed that the main thread is in; empty if in none."""
    # faulthandler writes the main thread last, and of a thread the innermost call first.
    frames: list[tuple[str, str]] = []
    for line in stack.splitlines():
        if THREAD.match(line):
            frames.clear()
        elif found := FRAME.fullmatch(line):
            frames.append((found[1], found[3]))
    names = [name for file, name in frames if PUBLIC.search(file) and not name.startswith("_")]
    # get_rank() asks for group.WORLD: the function that the learner called decides.
    return names[-1] if names and not AT_ONCE.match(names[-1]) else ""


def count_calls(calls: Sequence[Call]) -> str:
    """Count calls by name in words, ``2 send, 1 recv``, in the order of the first ones."""
    names = [call.name for call in calls]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th."""
    teens = number % 100 in {11, 12, 13}
    return f"{number}{'th' if teens else ORDINALS.get(number % 10, 'th')}"
