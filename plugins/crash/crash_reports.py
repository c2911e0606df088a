"""Reports of tests whose process ended before it could report anything."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import NoReturn

import pytest


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.crash.journal import Phase
    from plugins.crash.journal import Run


WIDTH = 80
# Between a kata and a device, in the name of both.
ON = " on "
# So many crashes of a kata on a device, for the same cause, tell how its other tests there end.
ENOUGH = 2
ENDLESS = "did not end{on}: {first} was {cause}"
AGAIN = "{cause}{on}: it ended {first} and {last}"
MEANS = (
    "This test of the same kata did not run, since it would probably end in the same way. To run "
    "it all the same, run it on its own."
)


class Crashed(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """The process of a test ended before the test did."""

    # As pytest does with its own exceptions: a report then says `Crashed: ...`.
    __module__ = "builtins"

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)


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
    # What happened, without where; and whether it was that the test did not end.
    cause: str = ""
    endless: bool = False

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
        raise_from(self.where, error)


def raise_from(where: tuple[str, int] | None, error: BaseException) -> NoReturn:
    """Raise an exception, as from this line of a file if one is known."""
    __tracebackhide__ = True
    if where:
        path, line = where
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


@dataclass
class Repeats:
    """The crashes of each kata on each device, and what its other tests there get instead of a run.

    A kernel that does not end takes the whole time limit of each test, and host code that touches
    device memory ends each process. Tests that take no device all run.
    """

    # By kata and device.
    crashes: dict[str, Crash] = field(default_factory=dict)
    _tests: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, run: Run, crash: Crash) -> Crash | None:
        """Add the crash of a test; return what the others get, if that is known only now."""
        if not run.place or run.place in self.crashes or crash.interrupt:
            return None
        tests = self._tests[run.place, crash.cause]
        tests.append(run.nodeid.partition("::")[2])
        if not crash.endless and len(tests) < ENOUGH:
            return None
        on = f"{ON}{run.place.partition(ON)[2]}"
        what = ENDLESS if crash.endless else AGAIN
        head = what.format(on=on, first=tests[0], last=tests[-1], cause=crash.cause)
        lines = textwrap.wrap(MEANS, WIDTH)
        known = Crash("\n".join([head, *lines]), where=crash.where, cause=crash.cause)
        self.crashes[run.place] = known
        return known
