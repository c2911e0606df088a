"""Runs kata after kata within one session of pytest, for ``--next`` and ``--watch``.

`plugins.loop.next` registers a `Walk`, which stops at the first kata that fails. `OneKata` is the
walk of ``--watch``: it runs the kata that was saved, solved or not. Which of the two a fork of
``--watch`` does, its `Order` says.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING
from typing import Literal

import pytest

from plugins.course.session import course_root
from plugins.loop.channel import Told
from plugins.loop.channel import above_key
from plugins.loop.channel import channel_key
from plugins.loop.reporter import Teller
from plugins.loop.screen import ScreenLine
from plugins.loop.screen import clear_sequence
from plugins.loop.screen import passing_lines
from plugins.progress.store import Bookmark
from plugins.progress.store import change_bookmark
from plugins.progress.store import read_standing
from plugins.progress.store import solved_among
from plugins.tools.processes import note_phase


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.course.model import Kata
    from plugins.progress.standing import Results


PARTLY = "Nothing failed, but not all of its tests ran."
BREAKPOINT = (
    "breakpoint() needs the keys that --watch reads: run this test in another terminal, "
    "without --watch"
)

order_key = pytest.StashKey["Order"]()


class Walk:
    """The plugin that runs the katas in `waiting`; the bar counts those in `katas`."""

    def __init__(
        self, config: pytest.Config, katas: Sequence[Kata], waiting: Sequence[Kata]
    ) -> None:
        self.config = config
        self.root = course_root(config)
        self.katas, self.waiting = katas, waiting
        left = {kata.id for kata in waiting}
        self.teller: Teller = Teller(config, katas, {kata.id for kata in katas}.difference(left))
        self.teller.waiting = [kata for kata in katas if kata in waiting]

    def pytest_collection(self) -> bool:
        """Collect nothing yet: `run_kata` collects each kata when its turn comes."""
        return True

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run kata after kata until one fails."""
        note_phase("configure")
        if channel := self.config.stash.get(channel_key, None):
            # A process that goes on where another has died tells all of it again.
            if channel.read().lines:
                self.teller.reporter.write(clear_sequence(os.environ))
            channel.clear()
        if self.waiting:
            self.teller.announce()
        for kata in self.waiting:
            self.teller.begin(kata)
            self.run_kata(session, kata)
            if self.teller.failed:
                self.mark(kata)
                break
            self.teller.end()
        return True

    def run_kata(self, session: pytest.Session, kata: Kata) -> None:
        """Run the tests of one kata, until one fails, and of a prediction the rows after it."""
        session.perform_collect([str(kata.test)])
        note_phase("collect")
        items = failed_first(session.items, read_standing(self.root, kata).results)
        for item, following in zip_longest(items, items[1:]):
            if self.teller.failed and item.nodeid not in self.teller.rows and not self.goes_on():
                continue
            self.teller.run(item, first_docstring_line(item))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)

    def goes_on(self) -> bool:
        """Whether to run the tests after one that has failed."""
        return False

    def mark(self, kata: Kata) -> None:
        """Store which kata is shown, and drop the skipped ones that are solved by now."""
        solved = solved_among(self.root, self.katas)

        def change(old: Bookmark) -> Bookmark:
            return Bookmark(kata.id, tuple(name for name in old.skipped if name not in solved))

        change_bookmark(self.root, change)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Pass on the report of a module: one that cannot be imported is a failure."""
        self.teller.hear(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Pass on the report of a test."""
        self.teller.hear(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self) -> tuple[str, str, str]:
        """Keep pytest from showing and counting the tests, which the teller describes."""
        return "described", "", ""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Show where the learner stands, unless something else has ended the session."""
        ended = (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.OK)
        if self.teller.failed:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif session.exitstatus in ended:
            session.exitstatus = pytest.ExitCode.OK
        else:
            return
        # `plugins.guide.failures` would show the reading of a failed import a second time.
        self.teller.reporter.stats.pop("error", None)
        note_phase("tests")
        self.teller.tell()
        note_phase("tell")


class OneKata(Walk):
    """Runs one kata, and leaves the bookmark of ``--next`` alone."""

    def __init__(
        self, config: pytest.Config, katas: Sequence[Kata], kata: Kata, away: Kata | None = None
    ) -> None:
        super().__init__(config, katas, [kata])
        root = course_root(config)
        others = solved_among(root, (each for each in katas if each.id != kata.id))
        self.teller: OneTeller = OneTeller(config, katas, others, away)

    def goes_on(self) -> bool:
        """Show the first failure at once, and count the tests that pass.

        Only that of a prediction says how many rows are right, which is known at the end.
        """
        if not self.teller.rows:
            self.teller.tell_once()
        return True

    def mark(self, kata: Kata) -> None:
        """Keep the bookmark of `--next` unchanged."""


class OneTeller(Teller):
    """Describes how one kata went, and not the rest of the course.

    What more there is to say about a solved kata, the process that stays says. `left` is the kata
    that this one was saved instead of.
    """

    def __init__(
        self, config: pytest.Config, katas: Sequence[Kata], solved: set[str], left: Kata | None
    ) -> None:
        super().__init__(config, katas, solved)
        self.left = left
        self.told = False

    def room(self, others: Iterable[ScreenLine]) -> tuple[int | None, int]:
        """Leave a row for the number of tests that pass, too."""
        return super().room([*others, ScreenLine()])

    def tell_once(self) -> None:
        """Write the failing test, or the closing lines, if that is yet to be done."""
        if not self.told:
            self.told = True
            super().tell()

    def tell(self) -> None:
        """Write the failing test, unless that is done, and how many pass; or the closing lines."""
        self.tell_once()
        run = self.results()
        # The report of a module that cannot be imported has the name of none.
        if self.failed and "::" in self.failed.nodeid and run.total:
            passing = f"{run.count('passed')} of {run.total - run.count('skipped')}"
            self.tell_watch(Told(passing=passing))
            self.write(passing_lines(passing))

    def closing_lines(self) -> Iterator[ScreenLine]:
        """Return a line if the kata is neither solved nor unavailable, though no test failed."""
        if not self.solved_now and self.kata.id not in self.away:
            yield ScreenLine(PARTLY)

    def last_lines(self) -> Iterator[ScreenLine]:
        """Return where the learner was, if that was at another kata."""
        if self.left:
            text = f"You were at {self.left.id}: press n to go back to it."
            yield from (ScreenLine(), ScreenLine(text, "yellow"))


@dataclass(frozen=True)
class Order:
    """What a fork does: runs one kata, or goes on.

    Attributes
    ----------
    kind
        ``kata`` runs that kata alone; ``next`` and ``skip`` go through all of them.
    why
        The line above the output, for example which file was saved.
    away
        The kata to which the learner will come back, if this is another one.
    first
        The id of the kata at which the way begins, if the learner has chosen one.
    """

    kind: Literal["kata", "next", "skip"]
    kata: Kata | None = None
    why: str = ""
    away: Kata | None = None
    first: str = ""

    def apply(self, config: pytest.Config) -> None:
        """Change the options of this process, a fork, to those of a command that does this."""
        # The parent has cached the folders' contents, and files may have been saved since.
        importlib.invalidate_caches()
        option = config.option
        option.next, option.skip = self.kind != "kata", self.kind == "skip"
        if not option.next:
            # It would mean --next.
            setattr(option, "from", None)
        elif self.first:
            setattr(option, "from", self.first)
        config.stash[above_key] = self.why
        if self.kata:
            config.args = [str(self.kata.test)]
            config.stash[order_key] = self
        config.pluginmanager.register(NoDebugger())


class NoDebugger:
    """Lets a breakpoint fail its test: a fork cannot read from the keyboard."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """Fail the test before pdb prompts."""
        pytest.fail(BREAKPOINT, pytrace=False)


def failed_first(items: Sequence[pytest.Item], last: Results) -> list[pytest.Item]:
    """Return the tests that failed last, and then the others, in their order."""
    failed = {name for name, outcome in last.tests.items() if outcome.verdict == "failed"}
    return sorted(items, key=lambda item: item.nodeid.partition("::")[2] not in failed)


def first_docstring_line(item: pytest.Item) -> str:
    """Return the first line of a test's docstring."""
    text = getattr(getattr(item, "obj", None), "__doc__", None) or ""
    return text.strip().partition("\n")[0]
