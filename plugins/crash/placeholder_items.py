"""Stand-ins for tests that cannot run, since their import or their like has ended a process."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.session import course_root
from plugins.crash.crash_reports import Crash
from plugins.crash.crash_reports import make_reports
from plugins.crash.recorder import place_of
from plugins.crash.stacks import read_traceback
from plugins.crash.verdict import Death
from plugins.crash.verdict import Stop
from plugins.crash.verdict import describe_death
from plugins.tools.private import tear_down_for


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Generator
    from pathlib import Path


# The name of the one failing test of such a module.
NAME = "import"


class StandIn(pytest.Item):
    """Fails instead of a test that cannot run."""

    def __init__(self, *, crash: Crash, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.crash = crash

    def runtest(self) -> None:
        """Fail as the import did."""
        self.crash.add_output(self)
        self.crash.raise_it()

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the test is."""
        return self.path, None, f"import of {self.path.name}" if self.name == NAME else self.name


class StandIns:
    """Replaces each module whose import calls sys.exit() by one failing test."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Turn an import's sys.exit(), which would end pytest, into a failure of its module."""
        try:
            return (yield)
        except SystemExit as error:
            root = course_root(collector.config)
            stack = read_traceback(traceback.extract_tb(error.__traceback__), root)
            text = describe_death(Death(0, stack, stop=Stop("exit", repr(error.code))), root)
        return collect_stand_ins(collector, Crash(text))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Keep the stand-ins, whatever -k or -m deselects."""
        ours = [item for item in items if isinstance(item, StandIn)]
        yield
        items[:0] = [item for item in ours if item not in items]


class Spared:
    """Fails each test whose kata has shown on that device how it ends, without running it."""

    def __init__(
        self, begin: Callable[[pytest.Item], None], crash_of: Callable[[str], Crash | None]
    ) -> None:
        self.begin = begin
        self.crash_of = crash_of

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Report the failure in place of the test."""
        place = place_of(item)
        crash = self.crash_of(place) if place else None
        if crash is None:
            return None
        # The test before this one has left the fixtures that this one shares.
        tear_down_for(item.session, nextitem)
        hook = item.ihook
        self.begin(item)
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in make_reports(item, crash):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


class BrokenImports:
    """Replaces each module whose import has killed a process, without importing it again."""

    def __init__(self, crash_of: Callable[[str], Crash | None]) -> None:
        self.crash_of = crash_of

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> pytest.CollectReport | None:
        """Return the stand-ins of a module that is known to crash."""
        crash = self.crash_of(collector.nodeid)
        return collect_stand_ins(collector, crash) if crash else None


def collect_stand_ins(collector: pytest.Collector, crash: Crash) -> pytest.CollectReport:
    """Return a report that the collector holds nothing but failing tests.

    Normally one, with the id of the module, as pytest reports any module that cannot be imported.
    If tests were asked for by name, pytest must find these names, so each gets a stand-in.
    """
    if crash.interrupt:
        crash.raise_it()
    arguments = [argument.partition("::") for argument in collector.config.args]
    start = collector.config.invocation_params.dir
    names = [
        name.partition("::")[0]
        for file, _, name in arguments
        if name and (start / file).resolve() == collector.path.resolve()
    ]
    items: list[pytest.Item | pytest.Collector] = [
        StandIn.from_parent(collector, name=name, nodeid=f"{collector.nodeid}::{name}", crash=crash)
        for name in dict.fromkeys(names)
    ]
    items = items or [
        StandIn.from_parent(collector, name=NAME, nodeid=collector.nodeid, crash=crash)
    ]
    return pytest.CollectReport(collector.nodeid, "passed", None, items)
