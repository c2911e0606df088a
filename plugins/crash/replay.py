"""Reports again, in a new process, what the tests before a crash have reported."""

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
from _pytest.junitxml import xml_key
from _pytest.timing import Instant

from plugins.crashed import Crash
from plugins.crashed import reports
from plugins.journal import Run


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Generator


IMPORTING = "importing"


@dataclass
class Past:
    """What the processes before this one have done, and how far the terminal has shown it."""

    processes: int = 0
    begun: Instant = field(default_factory=Instant)
    runs: list[Run] = field(default_factory=list)
    crashes: dict[Run, Crash] = field(default_factory=dict)
    broken: dict[str, Crash] = field(default_factory=dict)
    shown: Run | str | None = None


class Replay:
    """Plays the past into the new session; the terminal shows only what it has not shown yet."""

    def __init__(self, past: Past, show: Callable[[], None]) -> None:
        self.past = past
        self._told = show
        self._writer: Any = None
        self._terminal: Any = None
        self._runs = defaultdict[str, deque[Run]](deque)
        for run in past.runs:
            self._runs[run.nodeid].append(run)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Take the terminal away: header and all have been shown."""
        if reporter := config.pluginmanager.get_plugin("terminalreporter"):
            self._writer = reporter._tw  # noqa: SLF001 - that of this reporter, whoever made it
            self._terminal = self._writer._file  # noqa: SLF001
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - see `show`
            self._writer._file = nowhere  # noqa: SLF001

    def show(self) -> None:
        """Give the terminal back."""
        if self._terminal:
            self._writer._file.close()  # noqa: SLF001
            self._writer._file, self._terminal = self._terminal, None  # noqa: SLF001
            self._told()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, None, None]:
        """Let the session have begun when the first process did."""
        yield
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter:
            reporter._session_start = self.past.begun  # noqa: SLF001
        if xml := session.config.stash.get(xml_key, None):
            xml.suite_start = self.past.begun

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Show what follows, if the crash was in an import."""
        if self.past.shown == IMPORTING:
            self.show()
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Report what is known of a test instead of running it once more."""
        if not self._runs[item.nodeid]:
            self.show()
            return None
        run = self._runs[item.nodeid].popleft()
        # Whatever order the tests run in, no fixture of one that ran is left for one that will.
        item.session._setupstate.teardown_exact(nextitem)  # noqa: SLF001
        hook, config = item.ihook, item.config
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in run.reports:
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            hook.pytest_runtest_logreport(report=report)
        if run is self.past.shown:
            self.show()
        if crash := self.past.crashes.get(run):
            for report in reports(item, crash):
                hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        for warning in run.warnings:
            hook.pytest_warning_recorded.call_historic(kwargs=recorded(**warning))
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self) -> None:
        """Show it."""
        self.show()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Show the summary in any case."""
        self.show()


def recorded(
    *, text: str, category: str, filename: str, lineno: int, nodeid: str, location: list[Any] | None
) -> dict[str, Any]:
    """Return the arguments of the hook for a warning of another process."""
    kind = type(category, (Warning,), {})
    return {
        "warning_message": warnings.WarningMessage(kind(text), kind, filename, lineno),
        "when": "runtest",
        "nodeid": nodeid,
        "location": tuple(location) if location else None,
    }
