"""Remembers how each kata went, for the content that the exercise had.

The learner's own answers only: not the solutions, not a session that expects failures, and no
more of a kata than was run.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from plugins.course import course_key
from plugins.memory import update
from plugins.solutions import solutions_shown
from plugins.stamps import STAMP
from plugins.stamps import Stamp
from plugins.standing import LONGEST
from plugins.standing import Outcome
from plugins.standing import Results
from plugins.standing import content_of


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.layout import Kata


OVERLAY = "KATAS_OVERLAY"
# So often, at most, results are written while the session goes on.
SECONDS = 1.0


def learners_own(config: pytest.Config) -> bool:
    """Whether this session runs the learner's answers, and in earnest."""
    others = solutions_shown(config) or os.environ.get(OVERLAY)
    return not (others or config.getoption("unsolved"))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Take part, in the process that sees all reports."""
    if learners_own(config) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config))


def outcome_of(report: pytest.TestReport | pytest.CollectReport) -> Outcome | None:
    """Return what one report says of its test; None if it is not the one that tells."""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash else report.longreprtext
        # An import that fails is a traceback, and its last line tells.
        part = slice(LONGEST) if crash or report.when != "collect" else slice(-LONGEST, None)
        return Outcome("failed", message[part])
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        return Outcome("skipped", reason.removeprefix("Skipped: ")[:LONGEST])
    return Outcome("passed") if report.when == "call" else None


class Progress:
    """Gathers the reports of a session and hands them to the memory, kata by kata."""

    def __init__(self, config: pytest.Config) -> None:
        self.root = config.rootpath
        self.course = config.stash[course_key]
        self.katas = {kata.id: kata for lecture in self.course.lectures for kata in lecture.katas}
        self.written = time.monotonic()
        self.runs: dict[str, Results] = {}
        self.tests = defaultdict[str, dict[str, Outcome]](dict)
        self.seconds = defaultdict[str, float](float)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take into account that a module cannot be imported; its name among the tests is ""."""
        if report.failed:
            self.take(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a report into account; it may come from another process, or from one that died."""
        self.take(report, report.duration)

    def take(self, report: pytest.TestReport | pytest.CollectReport, seconds: float = 0.0) -> None:
        """Add a report to what is known of its kata."""
        stamp: Stamp | None = getattr(report, STAMP, None) or self.guess(report.nodeid)
        if stamp is None:
            return
        kata, content, total = stamp
        self.seconds[kata] += seconds
        if (outcome := outcome_of(report)) is None:
            return
        if self.runs and kata not in self.runs and time.monotonic() - self.written > SECONDS:
            self.write()
        tests = self.tests[kata]
        # A test that has passed may still fail in its teardown, and then it has failed.
        tests[report.nodeid.partition("::")[2]] = outcome
        self.runs[kata] = Results(content, tests, total)

    def guess(self, nodeid: str) -> Stamp | None:
        """Return the stamp of a test whose process could not write it: a worker that died."""
        file = self.root / nodeid.partition("::")[0]
        if (kata := self.course.kata_of(file)) is None:
            return None
        known = self.runs.get(kata.id, Results(content_of(kata), {}))
        return kata.id, known.content, known.total

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Remember the rest."""
        self.write()

    def write(self) -> None:
        """Remember what has been gathered."""
        now = datetime.now(UTC)
        for name, run in self.runs.items():
            remember(self.root, self.katas[name], run, self.seconds.pop(name), now)
        self.runs, self.written = {}, time.monotonic()
        self.tests.clear()


def remember(root: Path, kata: Kata, run: Results, seconds: float, now: datetime) -> None:
    """Add a run of `kata` to what is remembered of it."""
    update(root, kata, lambda standing: standing.after(run, seconds, now))
