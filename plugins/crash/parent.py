"""Runs a session in child processes: the next one goes on where the last one died."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from plugins import forwarding
from plugins.journal import Journal
from plugins.recorder import Recorder
from plugins.replay import IMPORTING
from plugins.replay import Past
from plugins.replay import Replay
from plugins.standins import Known
from plugins.standins import StandIns
from plugins.verdict import verdict
from plugins.watchdog import TICK
from plugins.watchdog import Watch


if TYPE_CHECKING:
    from collections.abc import Collection

    import pytest

    from plugins.journal import Record
    from plugins.verdict import Death


PR_SET_PDEATHSIG = 1
# pytest's ExitCode.INTERRUPTED and INTERNAL_ERROR, and what is none of them.
INTERRUPTED = 2
BROKEN = 3
GO_ON = -1
RUN = -2


def guard(config: pytest.Config, limit: float | None, memory: int) -> None:
    """End with the status of the session when it is over; return in a child, which shall run it."""
    folder = Path(tempfile.mkdtemp(prefix="katas-"))
    past = Past()
    # What is there now stays where it is: the collector of a child shall not copy its pages.
    gc.freeze()
    status = GO_ON
    while status == GO_ON:
        journal = Journal(folder, str(past.processes))
        sys.stdout.flush()
        sys.stderr.flush()
        # They wait until this process knows what to do with them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, forwarding.ALL)
        child = os.fork()
        status = (
            attend(Watch(journal, memory, child), past, config.rootpath, before)
            if child
            else enlist(config, Recorder(journal, limit), past, before)
        )
    leave(status)


def leave(status: int) -> None:
    """End this process, unless it runs the session."""
    if status != RUN:
        # There is nothing to tidy up, which takes Python some 30 ms.
        os._exit(status)


def attend(watch: Watch, past: Past, root: Path, before: Collection[int]) -> int:
    """Return the status of the session when the child has ended it; or that it must go on."""
    signals = forwarding.Signals(watch)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = wait(watch)
    signals.restore()
    # Who ends pytest from outside knows why: it is not told that Python did not end well.
    ended = signals.ended
    status = 128 + ended if ended else judge(past, watch, code, root)
    past.processes += 1
    if status != GO_ON:
        shutil.rmtree(watch.journal.events.parent, ignore_errors=True)
    return status


def enlist(config: pytest.Config, recorder: Recorder, past: Past, before: Collection[int]) -> int:
    """Make this process one that runs the session, watched by its parent, and say that it is."""
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    # Linux only: whatever ends the parent, even SIGKILL, ends this process.
    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # Likewise: when memory runs out, the system shall end this process and not the editor.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")
    # The stack is in the report; nobody waits for gigabytes of core.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    register = config.pluginmanager.register
    register(recorder)
    register(StandIns())
    shown = partial(recorder.write, "shown", shown=True)
    if not past.processes:
        shown()
    else:
        register(Known(past.broken.get))
        register(Replay(past, shown))
    return RUN


def wait(watch: Watch) -> int:
    """Return how the process ended, once it has, looking after it until then."""
    ends: list[int] = []
    thread = Thread(target=lambda: ends.append(os.waitpid(watch.process, 0)[1]))
    thread.start()
    thread.join(TICK)
    while thread.is_alive():
        watch.look()
        thread.join(TICK)
    return os.waitstatus_to_exitcode(ends[0])


def judge(past: Past, watch: Watch, code: int, root: Path) -> int:
    """Return the status with which the session has ended, or that another process must go on."""
    death = watch.death(code, root)
    record = watch.record
    if record.busy is None or record.interrupted or record.status is not None:
        return status_of(record, death, root)
    crash = watch.crash(death, root)
    if record.run:
        past.runs += [*record.runs, record.run]
        past.crashes[record.run] = crash
    else:
        past.runs += record.runs
        past.broken[record.collecting[-1]] = crash
    if record.shown:
        past.shown = record.run or IMPORTING
    return GO_ON


def status_of(record: Record, death: Death, root: Path) -> int:
    """Return the status of a session that is over, and say so if its process did not end well."""
    code = death.code or 0
    # os._exit(0) while no test ran is no success.
    whole = record.status is not None or not record.begun
    if code < 0 or not whole:
        text = verdict(death, root)
        print(f"katas: Python did not end well after the tests: {text}", file=sys.stderr)  # noqa: T201
    if record.interrupted:
        return INTERRUPTED
    if record.status is not None and death.stop:
        # A thread of a test went on; the session had ended.
        return record.status
    return record.status or (code if whole and code >= 0 else BROKEN)
