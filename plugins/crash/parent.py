"""The parent of a session: it forks the child that runs the tests, and a new one if that dies.

The next child continues where the last one died. The parent also handles the signals that this
process gets: other programs know its process ID, not the child's.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from plugins.course.session import course_root
from plugins.crash.crash_reports import Crash
from plugins.crash.journal import Journal
from plugins.crash.journal import new_folder
from plugins.crash.placeholder_items import BrokenImports
from plugins.crash.placeholder_items import Spared
from plugins.crash.placeholder_items import StandIns
from plugins.crash.recorder import Recorder
from plugins.crash.replay import IMPORTING
from plugins.crash.replay import Past
from plugins.crash.replay import Replay
from plugins.crash.verdict import describe_death
from plugins.crash.verdict import explain_lost
from plugins.crash.watchdog import Watch
from plugins.tools.processes import TICK
from plugins.tools.processes import dump_no_core
from plugins.tools.processes import end_with_parent
from plugins.tools.processes import offer_to_oom_killer


if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pytest

    from plugins.crash.journal import Record
    from plugins.crash.journal import Run
    from plugins.crash.verdict import Death


# pytest's ExitCode.INTERRUPTED and INTERNAL_ERROR.
INTERRUPTED = 2
BROKEN = 3
# No exit status: another child continues the session, or this process is the child that runs it.
GO_ON = -1
RUN = -2
# Signals that end pytest from outside must end its child too.
ENDING = (signal.SIGTERM, signal.SIGHUP)
ALL = (signal.SIGINT, *ENDING)


def guard_session(config: pytest.Config, limit: float | None, memory: int) -> None:
    """Fork the process that runs the session: return in it, exit with its status in the parent."""
    folder = new_folder()
    past = Past()
    # Otherwise the garbage collector of a child would copy the pages that it shares with this one.
    gc.freeze()
    status = GO_ON
    while status == GO_ON:
        journal = Journal(folder, str(past.processes))
        journal.share()
        sys.stdout.flush()
        sys.stderr.flush()
        # Signals wait until both processes have their handlers.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ALL)
        child = os.fork()
        status = (
            watch_child(Watch(journal, memory, child), past, course_root(config), before)
            if child
            else prepare_child(config, Recorder(journal, limit), past, before)
        )
    exit_parent(status)


def exit_parent(status: int) -> None:
    """Exit with the status of the session; return in the child that runs it."""
    if status != RUN:
        # Nothing is left to tidy up, and Python's own exit takes some 30 ms.
        os._exit(status)


def prepare_child(
    config: pytest.Config, recorder: Recorder, past: Past, before: Collection[int]
) -> int:
    """Make this process one that runs the session, and return `RUN`."""
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    end_with_parent()
    offer_to_oom_killer()
    dump_no_core()
    register = config.pluginmanager.register
    register(recorder)
    register(StandIns())
    shown = partial(recorder.write, "shown", shown=True)
    if not past.processes:
        shown()
    else:
        register(BrokenImports(past.broken.get))
        register(Spared(recorder.begin, past.repeats.crashes.get))
        register(Replay(past, shown))
    return RUN


def watch_child(watch: Watch, past: Past, root: Path, before: Collection[int]) -> int:
    """Wait for the child; return the status of the session, or `GO_ON` if it is not over."""
    signals = ForwardedSignals(watch)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = wait_for_child(watch)
    signals.restore()
    # A user or program that ends pytest from outside needs no message about it.
    ended = signals.ended
    status = 128 + ended if ended else record_death(past, watch, code, root)
    past.processes += 1
    watch.journal.close()
    if status != GO_ON:
        shutil.rmtree(watch.journal.folder, ignore_errors=True)
    return status


def wait_for_child(watch: Watch) -> int:
    """Watch the child until it ends; return its exit code."""
    ends: list[int] = []
    thread = Thread(target=lambda: ends.append(os.waitpid(watch.process, 0)[1]))
    thread.start()
    thread.join(TICK)
    while thread.is_alive():
        watch.look()
        thread.join(TICK)
    return os.waitstatus_to_exitcode(ends[0])


def record_death(past: Past, watch: Watch, code: int, root: Path) -> int:
    """Return the status of a session that is over; otherwise record how far it came: `GO_ON`.

    A process that has left between two tests has nothing to report; else its test or import has
    crashed, or is why it has left.
    """
    death = watch.death(code, root)
    record = watch.record
    over = record.busy is None or record.interrupted or record.status is not None
    if over and not record.left:
        return session_status(record, death, root)
    crash = Crash(record.why, left=True) if record.left else watch.crash(death, root)
    past.runs += record.runs
    last: Run | str = IMPORTING
    if record.run:
        past.runs.append(record.run)
        past.crashes[record.run] = crash
        past.repeats.add(record.run, crash)
        last = record.run
    elif record.collecting:
        past.broken[record.collecting[-1]] = crash
    else:
        last = past.runs[-1]
    if record.shown:
        past.shown = last
    return GO_ON


def session_status(record: Record, death: Death, root: Path) -> int:
    """Return the status of a session that is over; report a process that did not exit cleanly."""
    code = death.code or 0
    # os._exit(0) between the tests is no success.
    whole = record.status is not None or not record.begun
    if code == -signal.SIGINT:
        # A further Ctrl-C, in the summary or after it.
        return INTERRUPTED if record.status is None else record.status
    if (code < 0 and not record.broken) or not whole:
        text = describe_death(death, root)
        # Without a journal, in the middle of them as well.
        when = "" if record.lost else " after the tests"
        print(f"katas: Python did not exit cleanly{when}: {text}", file=sys.stderr)  # noqa: T201
    if record.lost:
        print(f"katas: {explain_lost(record.lost)}", file=sys.stderr)  # noqa: T201
    if record.interrupted:
        return INTERRUPTED
    if record.status is not None and death.stop:
        # The session had ended; a thread of a test had not.
        return record.status
    return record.status or (code if whole and code >= 0 else BROKEN)


class ForwardedSignals:
    """Leaves Ctrl-C to the child, and passes on the signals that end this process."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.ended = 0
        self._before = {
            number: signal.signal(number, self._take)
            for number in ALL
            # A process under nohup or in the background ignores some.
            if signal.getsignal(number) is not signal.SIG_IGN
        }

    def restore(self) -> None:
        """Put back the handlers that were there before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _: object) -> None:
        if number == signal.SIGINT:
            # The terminal has sent it to the child too, which may not respond.
            self.watch.interrupt()
        else:
            self.ended = number
            self.watch.send(number)
