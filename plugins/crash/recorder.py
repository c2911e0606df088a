"""Records in the journal, in a process that runs tests, each step and each report.

The stack of the process and its output go to files too, which outlive it.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from typing import NoReturn

import pytest

from plugins.course.notes import devices_of
from plugins.course.notes import poisoned_key
from plugins.course.notes import replaced_key
from plugins.course.notes import stack_key
from plugins.course.session import kata_of
from plugins.crash.crash_reports import ON
from plugins.crash.journal import Writer
from plugins.tools.private import MissingNameError
from plugins.tools.private import captured_files


if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable
    from collections.abc import Generator

    from plugins.crash.journal import Journal


# Fixtures may take this many times as long: a build takes minutes, and has its own deadlines.
SLOW = 10.0
# Seconds for threads of the learner's that do not end with the session.
LEAVING = 20.0
# xdist's name of its first worker.
FIRST = "gw0"


class Recorder:
    """Writes the journal of this process."""

    def __init__(self, journal: Journal, limit: float | None, *, replaced: bool = True) -> None:
        self.journal = journal
        # Whether another process goes on, in silence, where this one leaves.
        self.replaced = replaced
        self.writer = Writer(journal)
        self.write = self.writer.write
        self.limit = limit
        self.running = False
        self.flush: Callable[[], None] = lambda: None

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Move stacks and captured output to the files of the journal."""
        self.config = config
        config.stash[replaced_key] = self.replaced
        if reporter := config.pluginmanager.get_plugin("terminalreporter"):
            self.flush = reporter.flush
        redirect_output(config, self.journal)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Record that the session has begun: from now on it ends with a status of its own."""
        self.write("begun", begun=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Record which file is imported."""
        if not collector.nodeid:
            return (yield)
        self.flush()
        self.write("collect", nodeid=collector.nodeid, limit=self.limit)
        try:
            report = yield
            if self.must_leave():
                self.leave(str(report.longrepr))
            return report
        finally:
            self.write("collected", limit=None)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Leave a test to a fresh process if an earlier one has broken a device for this process.

        Not before, as it may have been the last.
        """
        if self.must_leave():
            self.leave()
        return (yield)

    def must_leave(self) -> bool:
        """Whether a device is broken, and a process comes that can use it."""
        return self.replaced and not self.writer.lost and poisoned_key in self.config.stash

    def leave(self, text: str = "") -> None:
        """End this process without a further step, since another does what remains.

        `text` says why a module cannot be imported, if that is what has broken the device.
        """
        self.flush()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.write("left", left=True, why=text)
        if self.writer.lost:
            # Nobody would know where to go on.
            return
        # Nothing is tidied up: a broken device would complain of each step.
        os._exit(0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Record the test; a replayed test has no setup."""
        self.begin(item)
        self._phase("setup", item)

    def begin(self, item: pytest.Item) -> None:
        """Record the test, whose reports come next."""
        self.running = True
        self.flush()
        self.write("test", nodeid=item.nodeid, place=place_of(item))
        self.config.stash[replaced_key] = self.replaced and not self.writer.lost

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Record that the test itself begins."""
        self._phase("call", item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Record that its fixtures are torn down."""
        self._phase("teardown", item)

    def _phase(self, phase: str, item: pytest.Item) -> None:
        limit = self.limit if kata_of(item) else None
        if limit and phase != "call":
            limit *= SLOW
        elif limit and (marker := item.get_closest_marker("time_limit")):
            limit = float(*marker.args)
        self.write("phase", phase=phase, limit=limit)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the report, once the terminal has shown it."""
        if self.running:
            to_data = self.config.hook.pytest_report_to_serializable
            self.flush()
            self.write("report", report=to_data(config=self.config, report=report))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """Record that the test is over."""
        if self.running:
            self.write("tested", phase=None, limit=None)
        self.running = False

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: object
    ) -> None:
        """Record a warning of a test; a module that is imported again repeats its own."""
        if when == "runtest":
            warning = {
                "text": str(warning_message.message),
                "category": warning_message.category.__name__,
                "filename": warning_message.filename,
                "lineno": warning_message.lineno,
                "nodeid": nodeid,
                "location": location,
            }
            self.write("warning", warning=warning)

    def pytest_enter_pdb(self) -> None:
        """Record that a debugger waits for its user."""
        self.write("debugged", debugged=True)

    def pytest_leave_pdb(self) -> None:
        """Record that the test continues."""
        self.write("debugged", debugged=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Record that Ctrl-C is about to end the session."""
        self.write("interrupted", interrupted=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Record the status of the session, after the summary."""
        yield
        self.flush()
        limit = LEAVING if self.limit else None
        broken = poisoned_key in self.config.stash
        self.write("finished", status=int(session.exitstatus), limit=limit, broken=broken)


def place_of(item: pytest.Item) -> str:
    """Return the kata and the device of a test, as in "lecture09/k03_axpy on cuda", or nothing."""
    kata, devices = kata_of(item), devices_of(item)
    return f"{kata.id}{ON}{' and '.join(devices)}" if kata and devices else ""


def redirect_output(config: pytest.Config, journal: Journal) -> None:
    """Send stacks and output to the files of `journal`; pytest has set up both before."""
    # What cannot be opened stays where it is.
    with suppress(OSError):
        config.stash[stack_key] = stack = journal.open(journal.stack)
        # pytest lets faulthandler write to the terminal.
        faulthandler.enable(file=stack)
        config.add_cleanup(partial(setattr, os, "_exit", os._exit))
        os._exit = partial(dump_and_exit, os._exit, os.getpid(), stack)
    # pytest captures into files without a name, which are lost with the process.
    files = {"out": journal.out, "err": journal.err}
    for stream, captured in find_captured_files(config).items():
        with suppress(OSError):
            os.dup2(journal.open(files[stream]), captured)


def find_captured_files(config: pytest.Config) -> dict[str, int]:
    """Return the files that pytest captures output into; warn if this release hides them."""
    try:
        return captured_files(config)
    except MissingNameError as error:
        # The first worker of xdist warns for all.
        if getattr(config, "workerinput", {}).get("workerid", FIRST) == FIRST:
            text = (
                f"a crashed test will not show what it printed: pytest {pytest.__version__} has "
                f"changed where it captures output ({error})"
            )
            config.issue_config_time_warning(pytest.PytestWarning(text), stacklevel=2)
        return {}


def dump_and_exit(
    leave: Callable[[int], NoReturn], process: int, stack: int, status: int
) -> NoReturn:
    """Write the stack and exit as os._exit does; a process that a test has forked only exits."""
    if os.getpid() == process:
        with suppress(ValueError, OSError):
            faulthandler.dump_traceback(stack, all_threads=False)
    leave(status)
