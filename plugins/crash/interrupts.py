"""Ctrl-C ends the session as an interrupt, whatever Python is doing when it comes.

Python turns the signal into a `KeyboardInterrupt` wherever it is. In a destructor, in a callback of
the garbage collector (Hypothesis has one) or of a weak reference it only prints that it ignores
the exception; some code raises another one in its place (`__set_name__`, a fixture that fails
beside it); a parser that is left in the middle raises `SystemError` (CPython issue 106905). Each of
these is sent again, or taken for what it is. While pytest ends, a further Ctrl-C ends the process.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.crash.crash_reports import raise_from


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Generator
    from collections.abc import Iterator
    from types import FrameType


# Seconds until a signal that was lost is sent again: by then what lost it has come to an end.
SOON = 0.02
# What ends a session by intent, whatever signal came before it.
MEANT = (
    KeyboardInterrupt,
    pytest.exit.Exception,
    pytest.Session.Failed,
    pytest.UsageError,
)


class Interrupts:
    """Listens to Ctrl-C until the session is over; `leaves` tells whether it may end the process.

    A process in which another program runs pytest is not ours to end.
    """

    def __init__(self, config: pytest.Config, *, leaves: bool) -> None:
        self.leaves = leaves
        self.process = os.getpid()
        # Whether Ctrl-C has come and the session goes on; whether the session ends.
        self.came = self.ending = False
        # Whether the next signal is one that was lost; whether a debugger has the keyboard.
        self.again = self._debugged = False
        self._where: tuple[str, int] | None = None
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._ignored
        signal.signal(signal.SIGINT, self._take)
        config.add_cleanup(self._restore)

    def _restore(self) -> None:
        """Listen no more, but to a Ctrl-C that meets Python while it ends."""
        sys.unraisablehook = self._hook
        if not self.leaves:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _take(self, _: int, frame: FrameType | None) -> None:
        """Handle the signal; a process that a test has forked knows nothing of the session."""
        # The summary names the line that the signal came to.
        __tracebackhide__ = True
        again, self.again = self.again, False
        if self.process == os.getpid():
            if self.ending and again:
                return
            if self.ending and self.leaves:
                leave()
            self.came = not self._debugged
            self._where = (frame.f_code.co_filename, frame.f_lineno) if frame else None
        raise KeyboardInterrupt

    def _ignored(self, unraisable: Any) -> None:
        """Send Ctrl-C again if Python is about to ignore it; of all else, pytest makes a warning.

        Another thread sends it, since here it would be ignored as well. `threading` may hold a lock
        right now, so it is a thread of `_thread`.
        """
        if self.came and issubclass(unraisable.exc_type, KeyboardInterrupt):
            _thread.start_new_thread(self.send_again, ())
        else:
            self._hook(unraisable)

    def send_again(self) -> None:
        """Send a signal that was lost, in a moment; unless the session ends by then."""
        time.sleep(SOON)
        if self.came and not self.ending:
            self.again = True
            # To the thread that Python handles it in: a call that waits there is woken up.
            main: Any = threading.main_thread().ident
            signal.pthread_kill(main, signal.SIGINT)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Let no error of the collection hide that Ctrl-C has led to it."""
        __tracebackhide__ = True
        return (yield from self._unmasked())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Let the import of a module that Ctrl-C has broken be no failure of the module."""
        __tracebackhide__ = True
        report = yield
        if report.failed:
            self._end()
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Let no error of pytest or a plugin hide that Ctrl-C has led to it."""
        __tracebackhide__ = True
        return (yield from self._unmasked())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """End the session after a test in which Ctrl-C was caught, by an `except:` for example.

        A test that is about the signal handles it itself, by `signal.signal`.
        """
        __tracebackhide__ = True
        result = yield
        self._end()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let a test that fails since Ctrl-C has come be no failure."""
        __tracebackhide__ = True
        if call.excinfo and any(isinstance(it, KeyboardInterrupt) for it in led_to(call.excinfo)):
            self._end()
        return (yield)

    def _unmasked(self) -> Generator[None, object, object]:
        __tracebackhide__ = True
        try:
            return (yield)
        except MEANT:
            raise
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        """End the session if Ctrl-C has come: the summary names the line that it came to."""
        __tracebackhide__ = True
        if self.came:
            raise_from(self._where, KeyboardInterrupt())

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Note that the session ends."""
        self.ending = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Note that the session ends."""
        self.ending = True

    def pytest_enter_pdb(self) -> None:
        """Leave Ctrl-C to the debugger."""
        self._debugged = True

    def pytest_leave_pdb(self) -> None:
        """Take it back."""
        self._debugged = False


def led_to(excinfo: pytest.ExceptionInfo[BaseException]) -> Iterator[BaseException]:
    """Yield the exception, all that it came from, and all that a group holds."""
    waiting: list[BaseException | None] = [excinfo.value]
    seen: set[int] = set()
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        waiting += (error.__cause__, error.__context__)
        waiting += getattr(error, "exceptions", ())


def leave(end: Callable[[int], object] = signal.raise_signal) -> None:
    """End this process as the signal does that nobody handles."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end(signal.SIGINT)


def listen(config: pytest.Config, *, leaves: bool) -> None:
    """Listen to Ctrl-C, unless it is ignored, as in the background, or somebody else listens.

    With ``--pdb`` it opens the debugger.
    """
    if (
        # Windows lacks it, and this way to wake up a thread.
        hasattr(signal, "pthread_kill")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        and not config.getoption("usepdb", default=False)
    ):
        config.pluginmanager.register(Interrupts(config, leaves=leaves))
