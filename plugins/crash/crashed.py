"""Reports of tests whose process ended before it could report anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal

import pytest


if TYPE_CHECKING:
    from collections.abc import Iterator


class Crashed(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """The process of a test ended before the test did."""

    # As pytest does with its own exceptions: a report then says `Crashed: ...`.
    __module__ = "builtins"

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)


Phase = Literal["setup", "call", "teardown"]


@dataclass(frozen=True)
class Crash:
    """How a test or an import ended that did not finish, and what it had printed."""

    text: str
    when: Phase = "call"
    seconds: float = 0.0
    out: str = ""
    err: str = ""
    # The file and the line where it ended, if they are the learner's.
    where: tuple[str, int] | None = None
    # The user ended it, by Ctrl-C.
    interrupt: bool = False
    # The process left by itself, so the report does not say that it crashed.
    left: bool = False

    def add_output(self, item: pytest.Item) -> None:
        """Add the output of the process to the report of `item`."""
        for name, text in (("stdout", self.out), ("stderr", self.err)):
            if text:
                item.add_report_section(self.when, name, text)

    def raise_it(self) -> None:
        """Raise the failure, from the line where the test ended."""
        error: BaseException = Crashed(self.text)
        if self.interrupt:
            error = KeyboardInterrupt()
        elif self.left:
            error = pytest.fail.Exception(self.text, pytrace=False)
        if self.where:
            path, line = self.where
            # pytest and editors show the place of the traceback's last call.
            place = compile("\n" * (line - 1) + "raise error", path, "exec")
            exec(place, {"error": error})  # noqa: S102 - the two words above
        raise error


def make_reports(item: pytest.Item, crash: Crash) -> Iterator[pytest.TestReport]:
    """Make the reports that a crashed test still lacks, by the hook that makes all others."""
    crash.add_output(item)
    if crash.interrupt:
        crash.raise_it()
    make = item.ihook.pytest_runtest_makereport
    call = pytest.CallInfo.from_call(crash.raise_it, crash.when)
    call.duration = crash.seconds
    call.start = call.stop - crash.seconds
    yield make(item=item, call=call)
    if crash.when != "teardown":
        # JUnit XML takes a test's properties from this report, and closes the test with it.
        yield make(item=item, call=pytest.CallInfo.from_call(lambda: None, "teardown"))
