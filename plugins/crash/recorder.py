"""Notes down, in a process that runs tests, what begins and what is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course import kata_of
from plugins.journal import Writer
from plugins.lastwords import redirect


if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable
    from collections.abc import Generator

    from plugins.journal import Journal


# A build in a fixture may take minutes; it has its own deadlines.
SLOW = 10.0
# For threads of the learner's that do not end with the session.
LEAVING = 20.0


class Recorder:
    """Writes the journal of this process."""

    def __init__(self, journal: Journal, limit: float | None) -> None:
        self.journal = journal
        self.writer = Writer(journal)
        self.write = self.writer.write
        self.limit = limit
        self.running = False
        self.flush: Callable[[], None] = lambda: None

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Let stacks and captured output go where the guard finds them."""
        self.config = config
        if reporter := config.pluginmanager.get_plugin("terminalreporter"):
            self.flush = reporter.flush
        redirect(config, self.journal)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Note that from now on pytest means to end by itself."""
        self.write("begun", begun=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Note which file is imported."""
        if not collector.nodeid:
            return (yield)
        self.flush()
        self.write("collect", nodeid=collector.nodeid, limit=self.limit)
        try:
            return (yield)
        finally:
            self.write("collected", limit=None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Note the test; one that is only replayed is not set up."""
        self.running = True
        self.flush()
        self.write("test", nodeid=item.nodeid)
        self._phase("setup", item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Note that the test itself begins."""
        self._phase("call", item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Note that its fixtures are torn down."""
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
        """Note the report, once it has been shown."""
        if self.running:
            to_data = self.config.hook.pytest_report_to_serializable
            self.flush()
            self.write("report", report=to_data(config=self.config, report=report))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """Note that the test is over."""
        if self.running:
            self.write("tested", phase=None, limit=None)
        self.running = False

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: object
    ) -> None:
        """Note a warning of a test; those of imports come again when a module is imported again."""
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
        """Note that a person thinks."""
        self.write("debugged", debugged=True)

    def pytest_leave_pdb(self) -> None:
        """Note that the test goes on."""
        self.write("debugged", debugged=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Note that the session is about to end by Ctrl-C."""
        self.write("interrupted", interrupted=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Note with which status the session ends, when everything has been said."""
        yield
        self.flush()
        limit = LEAVING if self.limit else None
        self.write("finished", status=int(session.exitstatus), limit=limit)
