"""Shows the end of a session: of each failing kata one failure, and where to go on.

Of several katas the failure of the first comes last, just above where to go on: that is what the
learner sees of a long output.
``-v``, ``--tb=long`` and ``--all-failures`` show every failure, as pytest does. pytest, and every
other plugin, finds all reports where they always are, in the terminal reporter's ``stats``; only
while pytest itself prints them are those left out that `plugins.guide.folding` gives a line.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.names import restore_argument
from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.guide.episodes import describe_problems
from plugins.guide.failures import failure_of
from plugins.guide.folding import Folded
from plugins.guide.folding import fold
from plugins.guide.reading import format_brief
from plugins.guide.reading import format_hint
from plugins.guide.reading import format_reading
from plugins.guide.reading import knows_links
from plugins.guide.rows import count_right
from plugins.guide.shorten import shows_all
from plugins.guide.untouched import has_history
from plugins.guide.untouched import katas_as_given


if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.guide.failure import Failure
    from plugins.guide.reading import Reading


# The lists of reports that pytest prints as ERRORS and as FAILURES.
LISTS = ("error", "failed")
# With these, pytest prints no more of a failure than a line.
SHORT_STYLES = {"no", "line"}
EVERYTHING = "katas: this runs the tests of {}; pytest katas --next goes one by one"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("katas").addoption(
        "--all-failures",
        action="store_true",
        help="Show every failing test of a kata in full; so do -v and --tb=long.",
    )


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what a command without a path does: it takes minutes, and is seldom what is meant."""
    katas = len(config.stash[course_key].katas)
    count = f"all {katas} katas" if katas > 1 else "the only kata"
    return [] if config.option.file_or_dir or not katas else [EVERYTHING.format(count)]


def pytest_configure(config: pytest.Config) -> None:
    """Add the hook that runs within pytest's own, and keep the short summary short."""
    config.pluginmanager.register(Others(config))
    if not shows_all(config):
        # Under CI pytest gives each failure its whole message; one of the dispatcher has 140 lines.
        config.option.force_short_summary = True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, None, None]:
    """Around pytest's own summary: let it print one failure of each kata, then say how to go on."""
    stats = terminalreporter.stats
    config.stash[lists_key] = lists = Lists(stats, config)
    for line in lists.scores():
        terminalreporter.ensure_newline()
        terminalreporter.line(line, bold=True)
    lists.narrow(lists.but_first)
    try:
        yield
    finally:
        lists.restore()
    show_where_to_go_on(terminalreporter, config, lists)


class Lists:
    """The lists of failures in the terminal reporter: all of them, or those that are shown."""

    def __init__(self, stats: dict[str, list[Any]], config: pytest.Config) -> None:
        self.stats = stats
        self.whole = {name: stats[name] for name in LISTS if name in stats}
        # Errors first, as pytest prints them; what is no failure of a kata has None.
        self.failures = {
            id(each): failure_of(each) for reports in self.whole.values() for each in reports
        }
        self.failed = [each for each in self.failures.values() if each]
        self.folded = fold_session(self.failed, config)
        # Of several katas the first one, by its id, whose failure is shown last.
        ids = sorted({each.kata for each in self.failed})
        self.first = ids[0] if len(ids) > 1 and shows_last(config) else ""
        self.but_first = [each for each in self.folded.shown if each.kata != self.first]

    def narrow(self, failures: Iterable[Failure]) -> list[Any]:
        """Leave out the reports of katas but those of `failures`; return the others."""
        out = {id(each) for each in self.failed} - {id(each) for each in failures}
        for name, whole in self.whole.items():
            self.stats[name] = [it for it in whole if id(self.failures[id(it)]) not in out]
        return [report for name in self.whole for report in self.stats[name]]

    def scores(self) -> Iterator[str]:
        """Return of each prediction that is shown how many rows are right, if all have run."""
        ran = {
            name: {report.nodeid for report in self.stats.get(name, ())}
            for name in ("passed", *LISTS)
        }
        tables = {each.rows: each.kata for each in self.folded.shown if each.rows}
        for rows, kata in tables.items():
            if set().union(*ran.values()).issuperset(rows):
                yield f"{kata}: {count_right(rows, ran['passed'])}"

    @property
    def of_first(self) -> list[Any]:
        """The reports of the failure that is shown last."""
        failures = {id(each) for each in self.folded.shown if each.kata == self.first}
        every = (report for whole in self.whole.values() for report in whole)
        return [report for report in every if id(self.failures[id(report)]) in failures]

    def restore(self) -> None:
        """Put back what was left out."""
        self.stats.update(self.whole)


lists_key = pytest.StashKey[Lists]()


class Others:
    """Lets the summaries of other plugins see all reports, and shows what does not build again."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Run between what pytest prints of the failures and its short summary of them."""
        lists = self.config.stash[lists_key]
        lists.restore()
        yield
        printed = lists.narrow(lists.but_first)
        lists.narrow(lists.folded.named or lists.folded.shown)
        if not shows_all(self.config) and self.config.option.tbstyle != "no":
            show_compile_errors(terminalreporter, printed)


def fold_session(failed: Sequence[Failure], config: pytest.Config) -> Folded:
    """Return what to show of the failures in katas: all of them, if that is asked for."""
    if shows_all(config) or not failed:
        return Folded(failed, {})
    ids = {each.kata for each in failed}
    katas = [kata for kata in config.stash[course_key].katas if kata.id in ids]
    root = course_root(config)
    given = {kata.id for kata in katas_as_given(root, katas)}
    known = has_history(root)
    unknown = {kata.id for kata in katas if not (known and kata.folder.is_relative_to(root))}
    return fold(failed, given, unknown)


def shows_last(config: pytest.Config) -> bool:
    """Whether one failure is shown below all others: not where none is, or each in full."""
    option = config.option
    return not (shows_all(config) or option.tbstyle in SHORT_STYLES or option.no_summary)


def show_failure(reporter: pytest.TerminalReporter, config: pytest.Config, report: Any) -> None:
    """Show a failed report as pytest does among the others."""
    writer: Any = config.get_terminal_writer()
    reporter.section(report.nodeid, red=True, bold=True)
    report.toterminal(writer)
    captured = config.option.showcapture
    for name, text in report.sections if captured != "no" else ():
        if captured in {"all", *name.split()}:
            writer.sep("-", name)
            writer.line(text.removesuffix("\n"))


def show_compile_errors(reporter: pytest.TerminalReporter, shown: Sequence[Any]) -> None:
    """Repeat what does not build, unless it is what pytest has printed last."""
    broken = [it for it in shown if (failure := failure_of(it)) and failure.kind == "unbuilt"]
    if not broken or broken == [*shown[-1:]]:
        return
    reporter.section("does not build")
    for report in broken:
        reporter.line(str(report.longrepr).strip(), red=True)


def show_where_to_go_on(
    reporter: pytest.TerminalReporter, config: pytest.Config, lists: Lists
) -> None:
    """Show each failing kata once: what else fails in it, what to read, the command for a hint."""
    # By the kata, in the order of the course: what its first failure points to.
    readings = {each.kata: each.reading for each in reversed(lists.failed)}
    errors = describe_problems(config)
    if not readings and not errors:
        return
    unbuilt = set() if shows_all(config) else find_unbuilt(lists.failed)

    def show(readings: Mapping[str, Reading]) -> None:
        for kata, reading in sorted(readings.items()):
            reporter.line(reading.heading, bold=True)
            brief = kata in lists.folded.brief
            # What the compiler says is what to read now, and it should stay on the screen.
            lines = (
                format_hint(reading)
                if kata in unbuilt
                else choose_lines(reading, config, brief=brief)
            )
            for line in (*lists.folded.notes.get(kata, ()), *lines):
                reporter.line(f"  {line}")

    if lists.first:
        first = {lists.first: readings.pop(lists.first)}
        reporter.section("the other katas")
        show(readings)
        for report in lists.of_first:
            show_failure(reporter, config, report)
        readings = first
    reporter.section("where to go on")
    show(readings)
    if any(lines for kata, lines in lists.folded.notes.items() if kata not in unbuilt):
        reporter.line(f"All failures: {format_command(config, '--all-failures')}")
    if len({each.kata for each in lists.failed}) > 1:
        reporter.line(f"One kata at a time: {format_command(config, '--next')}", bold=True)
    for line in errors:
        reporter.line(line, yellow=True)


def choose_lines(reading: Reading, config: pytest.Config, *, brief: bool = False) -> list[str]:
    """Return the lines for one kata: all if that is asked for; with links if they are shown."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    colours = reporter.isatty and config.get_terminal_writer().hasmarkup
    links = bool(colours and knows_links(os.environ))
    if brief:
        return format_brief(reading, links=links)
    return format_reading(reading, links=links, many=None if shows_all(config) else 1)


def find_unbuilt(failed: Sequence[Failure]) -> set[str]:
    """Return the ids of the katas whose tests all fail because nothing was built."""
    others = {each.kata for each in failed if each.kind != "unbuilt"}
    return {each.kata for each in failed} - others


def format_command(config: pytest.Config, option: str) -> str:
    """Return a command that runs the same tests with another option."""
    start = config.invocation_params.dir
    course = config.stash[course_key]
    named = [restore_argument(course, start, argument) for argument in config.args]
    return shlex.join(["pytest", *named, option])
