"""Repeats, in a new process, the reports of the tests that ran before a crash."""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections import deque
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.crash.crash_reports import Crash
from plugins.crash.crash_reports import Repeats
from plugins.crash.crash_reports import make_reports
from plugins.crash.journal import Run
from plugins.tools.private import junit_xml
from plugins.tools.private import read_clock
from plugins.tools.private import redirect_terminal
from plugins.tools.private import set_session_start
from plugins.tools.private import tear_down_for


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Generator
    from typing import TextIO

    from plugins.tools.private.pytest import Instant


IMPORTING = "importing"


@dataclass
class Past:
    """What earlier processes ran, and how much of it the terminal has shown."""

    processes: int = 0
    begun: Instant = field(default_factory=read_clock)
    runs: list[Run] = field(default_factory=list)
    crashes: dict[Run, Crash] = field(default_factory=dict)
    broken: dict[str, Crash] = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)
    shown: Run | str | None = None


class Replay:
    """Plays the past into the new session; the terminal shows only what is new."""

    def __init__(self, past: Past, note_shown: Callable[[], None]) -> None:
        self.past = past
        self._note_shown = note_shown
        self._config: pytest.Config | None = None
        self._terminal: TextIO | None = None
        self._runs = defaultdict[str, deque[Run]](deque)
        for run in past.runs:
            self._runs[run.nodeid].append(run)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Take the terminal away: it has shown the header and the reports of the past."""
        self._config = config
        if config.pluginmanager.has_plugin("terminalreporter"):
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - see `show`
            self._terminal = redirect_terminal(config, nowhere)

    def show(self) -> None:
        """Give the terminal back."""
        if self._config and self._terminal:
            redirect_terminal(self._config, self._terminal).close()
            self._terminal = None
            self._note_shown()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, None, None]:
        """Count the session's time from the start of the first process."""
        yield
        set_session_start(session.config, self.past.begun)
        if xml := junit_xml(session.config):
            xml.suite_start = self.past.begun

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Give the terminal back if an import crashed: what follows is new."""
        if self.past.shown == IMPORTING:
            self.show()
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Repeat the reports of a test that has run, instead of running it again."""
        if not self._runs[item.nodeid]:
            self.show()
            return None
        run = self._runs[item.nodeid].popleft()
        # In some orders a test runs before this one, with fixtures that the next does not share.
        tear_down_for(item.session, nextitem)
        hook, config = item.ihook, item.config
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in run.reports:
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            hook.pytest_runtest_logreport(report=report)
        if crash := self.past.crashes.get(run):
            if run is self.past.shown:
                self.show()
            for report in make_reports(item, crash):
                hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        for warning in run.warnings:
            hook.pytest_warning_recorded.call_historic(kwargs=rebuild_warning(**warning))
        if run is self.past.shown:
            # The process has left after this test, of which the terminal has shown all.
            self.show()
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self) -> None:
        """Give the terminal back: the error is new."""
        self.show()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Give the terminal back, at the latest for the summary."""
        self.show()


def rebuild_warning(
    *, text: str, category: str, filename: str, lineno: int, nodeid: str, location: list[Any] | None
) -> dict[str, Any]:
    """Return the arguments of pytest_warning_recorded for a warning of another process."""
    kind = type(category, (Warning,), {})
    return {
        "warning_message": warnings.WarningMessage(kind(text), kind, filename, lineno),
        "when": "runtest",
        "nodeid": nodeid,
        "location": tuple(location) if location else None,
    }
