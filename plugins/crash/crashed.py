"""Reports of tests whose process ended before they could report anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal

import pytest
from _pytest.outcomes import Failed


if TYPE_CHECKING:
    from collections.abc import Iterator


class Crashed(Failed):
    """The process of a test ended before the test did."""

    # As pytest does with its own, so that a report says `Crashed: ...`.
    __module__ = "builtins"

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)


Phase = Literal["setup", "call", "teardown"]


@dataclass(frozen=True)
class Crash:
    """What is left of a test or an import that did not come to its end."""

    text: str
    when: Phase = "call"
    seconds: float = 0.0
    out: str = ""
    err: str = ""
    # The file and the line where it was, if it is the learner's.
    where: tuple[str, int] | None = None
    # The user ended it, by Ctrl-C.
    interrupt: bool = False

    def tell(self, item: pytest.Item) -> None:
        """Add what the process had printed to what is shown of `item`."""
        for name, text in (("stdout", self.out), ("stderr", self.err)):
            if text:
                item.add_report_section(self.when, name, text)

    def raise_it(self) -> None:
        """Raise what the test would have raised, in the line where it was."""
        error = KeyboardInterrupt() if self.interrupt else Crashed(self.text)
        if self.where:
            path, line = self.where
            # What pytest shows and editors open is the place of the last call of the traceback.
            place = compile("\n" * (line - 1) + "raise error", path, "exec")
            exec(place, {"error": error})  # noqa: S102 - the two words above
        raise error


def reports(item: pytest.Item, crash: Crash) -> Iterator[pytest.TestReport]:
    """Return what is still to be reported of a test that crashed, as any plugin sees a failure."""
    crash.tell(item)
    if crash.interrupt:
        crash.raise_it()
    made = item.ihook.pytest_runtest_makereport
    call = pytest.CallInfo.from_call(crash.raise_it, crash.when)
    call.duration = crash.seconds
    yield made(item=item, call=call)
    if crash.when != "teardown":
        # JUnit XML takes the properties from it and closes the test.
        yield made(item=item, call=pytest.CallInfo.from_call(lambda: None, "teardown"))
