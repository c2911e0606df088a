"""Goes from kata to kata for ``--next`` (`plugins.nextkata`), within one session of pytest."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import pytest

from plugins.bookmark import Bookmark
from plugins.bookmark import change_bookmark
from plugins.lesson import Teller
from plugins.memory import recall
from plugins.order import ordered
from plugins.standing import content_of


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.layout import Kata


def is_solved(root: Path, kata: Kata) -> bool:
    """Whether the exercise as it is now is known to be solved."""
    return recall(root, kata).state(content_of(kata)) == "solved"


def first_line(item: pytest.Item) -> str:
    """Return what a test says that holds."""
    text = getattr(getattr(item, "obj", None), "__doc__", None) or ""
    return text.strip().partition("\n")[0]


class Walk:
    """Goes from kata to kata."""

    def __init__(self, config: pytest.Config, katas: list[Kata], bookmark: Bookmark) -> None:
        self.config = config
        self.root = config.rootpath
        self.katas = katas
        waiting = [kata for kata in katas if not is_solved(self.root, kata)]
        self.waiting = ordered(waiting, bookmark.skipped)
        self.teller = Teller(config, katas, len(katas) - len(waiting))

    def pytest_collection(self) -> bool:
        """Collect nothing yet."""
        return True

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run kata after kata until one fails."""
        for kata in self.waiting:
            self.teller.begin(kata)
            self.run(session, kata)
            if self.teller.failed:
                self.mark(kata)
                break
            self.teller.end()
        return True

    def run(self, session: pytest.Session, kata: Kata) -> None:
        """Run the tests of one kata, until one fails."""
        session.perform_collect([str(kata.test)])
        items = session.items
        for item, following in zip_longest(items, items[1:]):
            if self.teller.failed:
                return
            self.teller.says = first_line(item)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)

    def mark(self, kata: Kata) -> None:
        """Remember which kata is shown, and forget the skipped ones that are solved by now."""
        solved = {each.id for each in self.katas if is_solved(self.root, each)}

        def change(old: Bookmark) -> Bookmark:
            return Bookmark(kata.id, tuple(name for name in old.skipped if name not in solved))

        change_bookmark(self.root, change)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self) -> tuple[str, str, str]:
        """Let the terminal neither show nor count what is told below."""
        return "told", "", ""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Hear of a module that cannot be imported."""
        self.teller.hear(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hear of a test."""
        self.teller.hear(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Say where the learner stands, unless something else has ended the session."""
        ended = (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.OK)
        if self.teller.failed:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif session.exitstatus in ended:
            session.exitstatus = pytest.ExitCode.OK
        else:
            return
        # `plugins.failures` would say again what to read.
        self.teller.reporter.stats.pop("error", None)
        self.teller.tell()
