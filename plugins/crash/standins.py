"""Stand-ins for the tests of modules whose import ends the process."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.crashed import Crash
from plugins.stacks import traceback_stack
from plugins.verdict import Death
from plugins.verdict import Stop
from plugins.verdict import verdict


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Generator
    from pathlib import Path


# The name of the one failing test of such a module.
NAME = "import"


class StandIn(pytest.Item):
    """Fails in the place of a test that cannot run."""

    def __init__(self, *, crash: Crash, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.crash = crash

    def runtest(self) -> None:
        """Fail."""
        self.crash.tell(self)
        self.crash.raise_it()

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the test is."""
        return self.path, None, f"import of {self.path.name}" if self.name == NAME else self.name


class StandIns:
    """Puts one failing test in the place of each module whose import ends the process."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Let an import that calls sys.exit() be the failure of its module, not pytest's end."""
        try:
            return (yield)
        except SystemExit as error:
            root = collector.config.rootpath
            stack = traceback_stack(traceback.extract_tb(error.__traceback__), root)
            text = verdict(Death(0, stack, stop=Stop("exit", repr(error.code))), root)
        return stand_in(collector, Crash(text))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Let no -k or -m hide that a module has crashed."""
        ours = [item for item in items if isinstance(item, StandIn)]
        yield
        items[:0] = [item for item in ours if item not in items]


class Known:
    """Does not try again to import what has ended a process before."""

    def __init__(self, crash_of: Callable[[str], Crash | None]) -> None:
        self.crash_of = crash_of

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> pytest.CollectReport | None:
        """Stand in for it."""
        crash = self.crash_of(collector.nodeid)
        return stand_in(collector, crash) if crash else None


def stand_in(collector: pytest.Collector, crash: Crash) -> pytest.CollectReport:
    """Return the report of a collector that holds nothing but a failing test.

    Its id is that of the module, as with any module that cannot be imported, unless tests were
    asked for by name, which pytest must find.
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
