"""Remembers how each kata went, for the content that its exercise had.

Only the learner's own answers count: not reference solutions, and not a session that expects
failures. Of each kata only the tests that ran are remembered.

The process that runs a test writes on its report which content of the exercise was tested. The
process that remembers may be another one, and the exercise may have been edited meanwhile.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.files import content_of
from plugins.course.notes import found_key
from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.course.session import file_of
from plugins.course.session import kata_of
from plugins.course.solutions import solutions_shown
from plugins.progress.map import format_solved
from plugins.progress.map import format_undecided
from plugins.progress.map import place_after
from plugins.progress.map import places_of
from plugins.progress.map import why_away
from plugins.progress.standing import LONGEST
from plugins.progress.standing import Results
from plugins.progress.standing import TestOutcome
from plugins.progress.standing import pause_between
from plugins.progress.standing import share_time
from plugins.progress.store import change_standing
from plugins.progress.store import note_run
from plugins.progress.store import note_time
from plugins.progress.store import read_standing
from plugins.tools.files import why_nothing_is_kept


if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from plugins.course.model import Kata


OVERLAY = "KATAS_OVERLAY"
# Results are written at most this often, in seconds, while the session goes on.
SECONDS = 1.0
# The attribute of a report that holds its stamp: the kata, the digest of the content that was
# tested, how many tests the kata has, and what the test needs and has found here.
STAMP = "kata_stamp"
Stamp = tuple[str, str, "int | None", "list[str]"]

contents_key = pytest.StashKey[dict[str, str]]()
totals_key = pytest.StashKey["dict[str, int | None]"]()


def learners_own(config: pytest.Config) -> bool:
    """Whether this session runs the learner's answers and expects them to pass."""
    others = solutions_shown(config) or os.environ.get(OVERLAY)
    return not (others or config.getoption("unsolved"))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register `Progress`, in the process that sees all reports."""
    config.stash[contents_key] = {}
    config.stash[totals_key] = {}
    if learners_own(config) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config))


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Note the exercise's content before the tests import it: it may be edited meanwhile."""
    if kata := parent.config.stash[course_key].kata_of(module_path):
        parent.config.stash[contents_key][kata.id] = content_of(kata)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count each kata's tests, before ``-k`` and ``-m`` deselect some."""
    named = {argument.partition("::")[0] for argument in config.args if "::" in argument}
    parts = {(config.invocation_params.dir / path).resolve() for path in named}
    partly = bool(config.getoption("lf", default=False))
    counts = defaultdict[str, int](int)
    for item in items:
        if kata := kata_of(item):
            counts[kata.id] += 1
            whole = not partly and item.path not in parts
            config.stash[totals_key][kata.id] = counts[kata.id] if whole else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Stamp the report of a test module's import."""
    report = yield
    setattr(report, STAMP, stamp_of(collector))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Stamp the report of a test."""
    report = yield
    setattr(report, STAMP, stamp_of(item))
    return report


def stamp_of(node: pytest.Item | pytest.Collector) -> Stamp | None:
    """Return the stamp of a test's or a module's report, or None if it is not a kata's."""
    kata = node.config.stash[course_key].kata_of(node.path)
    if kata is None or kata.id not in node.config.stash[contents_key]:
        return None
    total = node.config.stash[totals_key].get(kata.id)
    found = node.stash.get(found_key, [])
    return kata.id, node.config.stash[contents_key][kata.id], total, found


def outcome_of(report: pytest.TestReport | pytest.CollectReport) -> TestOutcome | None:
    """Return the outcome of a test, or None if this report, as of a setup, does not decide it."""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash else report.longreprtext
        # A failed import is a traceback, whose last line says why.
        part = slice(LONGEST) if crash or report.when != "collect" else slice(-LONGEST, None)
        return TestOutcome("failed", message[part])
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        return TestOutcome("skipped", reason.removeprefix("Skipped: ")[:LONGEST])
    return TestOutcome("passed") if report.when == "call" else None


class Progress:
    """Gathers a session's reports and stores them kata by kata."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.root = config, course_root(config)
        self.course = config.stash[course_key]
        self.katas = {kata.id: kata for kata in self.course.katas}
        self.written = time.monotonic()
        self.runs: dict[str, Results] = {}
        self.tests = defaultdict[str, dict[str, TestOutcome]](dict)
        self.found = set[str]()
        # The content of each kata of which a test has passed.
        self.passed: dict[str, str] = {}
        self.seconds = defaultdict[str, float](float)
        # Why the results could not be stored, or "".
        self.lost = ""
        # The kata, the begin and the length of each part of a test, until they are shared out.
        self.spans: list[tuple[str, float, float]] = []
        # The seconds from the last run of any kata to this session, until a kata gets them.
        self.pause: float | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Add the failure of a module that cannot be imported."""
        if report.failed:
            self.add(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test's report; it may come from another process, even from one that died."""
        self.add(report)

    def add(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Add a report to the results of its kata."""
        stamp: Stamp | None = getattr(report, STAMP, None) or self.guess_stamp(report.nodeid)
        if stamp is None:
            return
        kata, content, total, found = stamp
        self.found.update(found)
        if isinstance(report, pytest.TestReport):
            self.spans.append((kata, report.start, report.duration))
        if (outcome := outcome_of(report)) is None:
            return
        if self.runs and kata not in self.runs and time.monotonic() - self.written > SECONDS:
            self.store_runs()
        if outcome.verdict == "passed":
            self.passed[kata] = content
        tests = self.tests[kata]
        # A test that passed can still fail in its teardown: the later report counts. The node ID
        # of a module has no "::", so its name among the tests is `standing.MODULE`.
        tests[report.nodeid.partition("::")[2]] = outcome
        self.runs[kata] = Results(content, tests, total, self.katas[kata].extra)

    def guess_stamp(self, nodeid: str) -> Stamp | None:
        """Return the stamp of a report whose process, a worker that died, could not write it."""
        if (kata := self.course.kata_of(file_of(nodeid, self.config))) is None:
            return None
        known = self.runs.get(kata.id, Results(content_of(kata), {}))
        return kata.id, known.content, known.total, []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Store what has not been stored yet."""
        self.store_runs()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Say last of all if nothing of this run is remembered; ``--next`` shows no summary."""
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        if self.lost and reporter:
            reporter.line(f"This run is not remembered: {self.lost}.", yellow=True)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what is solved, and what is next; after a failure `guide.failures` says more."""
        stats, config = terminalreporter.stats, terminalreporter.config
        quiet = config.option.no_summary or config.get_verbosity() < -1
        if quiet or stats.get("failed") or stats.get("error"):
            return
        solved, away, start = [], [], config.invocation_params.dir
        for name, content in self.passed.items():
            kata, standing = self.katas[name], read_standing(self.root, self.katas[name])
            if (state := standing.state(content)) == "solved":
                solved.append(kata)
            elif state == "unavailable":
                away.append((kata, why_away(standing.results)))
        if not solved + away:
            return
        terminalreporter.ensure_newline()
        last = (solved or [kata for kata, _ in away])[-1]
        here = place_after(last, places_of(self.root, self.course))
        for line in format_undecided(away, None if solved else here, start):
            terminalreporter.line(line, yellow=True)
        for line in format_solved(solved, here, start) if solved else ():
            terminalreporter.line(line, green=True)

    def store_runs(self) -> None:
        """Store the gathered results, and begin anew."""
        if not self.runs:
            return
        now = datetime.now(UTC)
        self.note_run(now)
        spent = 0.0
        for name, run in self.runs.items():
            kata = self.katas[name]
            if self.pause and read_standing(self.root, kata).edited(run):
                # One learner edits one file at a time.
                self.seconds[name] += self.pause
                self.pause = 0.0
            seconds = self.seconds.pop(name, 0.0)
            spent += seconds
            remember_run(self.root, kata, run, seconds, now)
        note_time(self.root, now, spent)
        self.lost = why_nothing_is_kept(self.root)
        self.runs, self.written = {}, time.monotonic()
        self.tests.clear()

    def note_run(self, now: datetime) -> None:
        """Store what this session says of all katas, and share out the time since the last run."""
        # A checkout of an older version knows only when each kata ran.
        older = (read_standing(self.root, self.katas[name]).last for name in self.runs)
        outcomes = (outcome for run in self.runs.values() for outcome in run.tests.values())
        lacked = {outcome.lacked for outcome in outcomes}
        before = note_run(self.root, now, self.found, lacked).before or max(older)
        last = datetime.fromisoformat(before).timestamp() if before else 0.0
        if self.pause is None:
            begin = min((begin for _, begin, _ in self.spans), default=now.timestamp())
            self.pause = pause_between(last, begin)
        for kata, seconds in share_time(self.spans, last).items():
            self.seconds[kata] += seconds
        self.spans.clear()


def remember_run(root: Path, kata: Kata, run: Results, seconds: float, now: datetime) -> None:
    """Add a run to what is stored about `kata`, for which `seconds` were spent."""
    change_standing(root, kata, lambda standing: standing.after(run, seconds, now))
