"""The pytest plugin of a forked run: writes each test's outcome to a file as it happens."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING
from typing import Any

import pytest


if TYPE_CHECKING:
    from collections.abc import Generator
    from io import TextIOWrapper


LONGEST = 4000


class Recorder:
    """Journals the session line by line, so a crash loses only the running test."""

    def __init__(
        self, journal: TextIOWrapper, shuffle: int | None, first: tuple[str, ...] = ()
    ) -> None:
        self.journal = journal
        self.shuffle = shuffle
        self.first = {name: place for place, name in enumerate(first)}

    def write(self, **event: Any) -> None:
        """Append one event and flush it."""
        self.journal.write(json.dumps(event) + "\n")
        self.journal.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Shuffle the tests, or let some run first, if the run asks for it."""
        if self.shuffle is not None:
            random.Random(self.shuffle).shuffle(items)  # noqa: S311 - no secret
        if self.first:
            last = len(self.first)
            items.sort(key=lambda item: self.first.get(item.nodeid.partition("::")[2], last))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record why a module could not be collected."""
        if report.failed:
            self.write(collection=str(report.longrepr)[-LONGEST:])
        elif report.skipped:
            self.write(collection=f"skipped at collection: {report.longrepr}"[-LONGEST:])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Record which test starts."""
        self.write(start=nodeid.partition("::")[2])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Record the phase the test ended in; a failure in any phase is the test's failure."""
        report = yield
        if report.when == "call" or report.outcome != "passed":
            self.write(
                test={
                    "name": item.nodeid.partition("::")[2],
                    "module": item.nodeid.partition("::")[0],
                    "phase": report.when,
                    "outcome": report.outcome,
                    "errors": _errors(call.excinfo.value) if call.excinfo else (),
                    "via": _via(call.excinfo.value) if call.excinfo else (),
                    "message": _message(report)[-LONGEST:],
                    "given": item.get_closest_marker("given") is not None,
                    "missing": _missing(item),
                    **_built(item),
                }
            )
        return report

    def pytest_sessionfinish(self) -> None:
        """Record that the session completed."""
        self.write(finished=True)


def _via(error: BaseException) -> list[str]:
    """Return the functions of plugins/ that an exception has come through, and a kernel's fault."""
    found = []
    traceback = error.__traceback__
    while traceback:
        frame = traceback.tb_frame
        if (module := frame.f_globals.get("__name__", "")).startswith("plugins."):
            found.append(f"{module}.{frame.f_code.co_qualname}")
        traceback = traceback.tb_next
    if type(error).__name__ == "KernelFault":
        found.append(f"the simulator: {str(error).partition(' in kernel ')[0]}")
    return found


def _message(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return report.longreprtext


def _missing(item: pytest.Item) -> bool:
    """Whether the test asks for a device or a backend that a machine may lack."""
    callspec = getattr(item, "callspec", None)
    by_device = callspec is not None and "device" in callspec.params
    return by_device or item.get_closest_marker("backend") is not None


def _built(item: pytest.Item) -> dict[str, bool]:
    """Return how far a C++ kata got; its failure would pass for the test's own assertion."""
    extension: Any = getattr(item, "funcargs", {}).get("extension")
    loaded = not getattr(extension, "problem", "")
    return {"loaded": loaded, "compiled": loaded or extension.path.name != ""}


def _errors(error: BaseException) -> tuple[str, ...]:
    """Return the names of the exception's classes; of a group, those all members share."""
    if isinstance(error, BaseExceptionGroup):
        shared = [set(_errors(member)) for member in error.exceptions]
        return tuple(sorted(set.intersection(*shared)))
    return tuple(cls.__name__ for cls in type(error).__mro__)
