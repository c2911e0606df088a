"""Follows the tests of ``--next`` and writes the result through pytest's terminal reporter."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from typing import Any

from plugins.course.files import content_of
from plugins.course.files import exercise_texts
from plugins.course.files import path_from
from plugins.course.names import name_for_pytest
from plugins.course.notes import status_key
from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.guide.definitions import places_to_write
from plugins.guide.definitions import read_text
from plugins.guide.failures import failure_beside
from plugins.guide.failures import failure_of
from plugins.guide.reading import format_hint
from plugins.guide.rows import count_right
from plugins.guide.summary import choose_lines
from plugins.loop.channel import Told
from plugins.loop.channel import above_key
from plugins.loop.channel import channel_key
from plugins.loop.lecture import lecture_lines
from plugins.loop.screen import ERASE
from plugins.loop.screen import Lesson
from plugins.loop.screen import ScreenLine
from plugins.loop.screen import count_rows
from plugins.loop.screen import format_away
from plugins.loop.screen import format_done
from plugins.loop.screen import knows_sequences
from plugins.loop.screen import lesson_lines
from plugins.loop.screen import passing_lines
from plugins.loop.screen import skipped_lines
from plugins.loop.screen import waiting_lines
from plugins.loop.solved import learned_lines
from plugins.loop.solved import solved_line
from plugins.loop.tally import format_bar
from plugins.loop.tally import read_tally
from plugins.progress.map import why_away
from plugins.progress.order import core_path
from plugins.progress.order import ends_lecture
from plugins.progress.order import first_outside
from plugins.progress.order import lecture_command
from plugins.progress.order import offer_optional
from plugins.progress.order import passed_over
from plugins.progress.overview import wanted_path
from plugins.progress.plugin import outcome_of
from plugins.progress.plugin import totals_key
from plugins.progress.standing import DONE
from plugins.progress.standing import Results
from plugins.progress.standing import TestOutcome
from plugins.progress.store import read_standing
from plugins.progress.store import state_of
from plugins.tools.terminal import shows_blocks


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from plugins.course.model import Kata


SLOW = "Importing torch, and then the kata ..."


class Teller:
    """Follows the current kata, and keeps the results of those before it."""

    def __init__(self, config: pytest.Config, katas: Sequence[Kata], solved: set[str]) -> None:
        self.config = config
        self.katas = katas
        self.kata = katas[-1]
        # The ids of those that are solved.
        self.solved = solved
        # Why katas are not decided here, by their ids, and those that were not when it began.
        self.away: dict[str, str] = {}
        self.unavailable: Collection[str] = ()
        # Whether the current kata has just been solved.
        self.solved_now = False
        # The kata that this command skips.
        self.skipped = ""
        self.failed: pytest.TestReport | pytest.CollectReport | None = None
        self.outcomes: dict[str, TestOutcome] = {}
        # The katas that were not solved when this command began, in teaching order.
        self.waiting: Sequence[Kata] = ()
        # Those beside the core path that the command leaves out, and that are not solved.
        self.optional: Sequence[Kata] = ()
        # The first line of the docstring of the test that runs.
        self.says = ""
        self.announced = False  # whether a line says what is slow, until there is a result

    @property
    def reporter(self) -> Any:
        """Pytest's terminal reporter."""
        return self.config.pluginmanager.get_plugin("terminalreporter")

    @property
    def rows(self) -> Sequence[str]:
        """The tests of all rows of a prediction, if one of them has failed."""
        failure = self.failed and failure_of(self.failed)
        return failure.rows if failure else ()

    def announce(self) -> None:
        """Say on a terminal what takes seconds, until there is something to show."""
        # A run of --watch has imported torch, and has a clock.
        self.announced = (
            self.reporter.isatty
            and not self.watched
            and "torch" not in sys.modules
            and knows_sequences(os.environ)
        )
        if self.announced:
            self.reporter.write(SLOW, flush=True)

    def begin(self, kata: Kata) -> None:
        """Make `kata` the current one."""
        self.kata = kata
        self.outcomes = {}
        self.solved_now = False

    def hear(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Note the first failure, or an outcome, of the current kata."""
        if report.failed:
            self.failed = self.failed or report
        elif outcome := outcome_of(report):
            self.outcomes[report.nodeid] = outcome

    def end(self) -> None:
        """Count the current kata as solved or not decided here; none of its tests has failed."""
        run = self.results()
        if run.state == "unavailable":
            self.away[self.kata.id] = why_away(run)
        elif run.state == "solved":
            self.solved_now = True
            self.solved.add(self.kata.id)
            self.tell_watch(Told(solved=(self.kata.id,)))
            self.waiting = [kata for kata in self.waiting if kata != self.kata]
            self.write(self.solved_lines())
            here = [kata for kata in self.waiting if kata.id not in {*self.away, *self.unavailable}]
            if here and ends_lecture(self.kata, here):
                own = [kata for kata in self.optional if kata.lecture == self.kata.lecture]
                self.write(self.offer_lines(own))

    def results(self) -> Results:
        """Return the outcomes of the current kata, apart from failures."""
        # With tests left out by -k or -m the total differs, and the kata is not solved.
        total = self.config.stash[totals_key].get(self.kata.id)
        tests = {name.partition("::")[2]: outcome for name, outcome in self.outcomes.items()}
        return Results("", tests, total, self.kata.extra)

    def solved_lines(self) -> Iterator[ScreenLine]:
        """Return that the current kata is solved, and the command that shows the reference."""
        yield solved_line(self.kata)
        if not self.watched:
            yield from learned_lines(self.kata)
            test = name_for_pytest(self.kata, self.start)
            yield ScreenLine(f"  the reference: pytest {test} --solution")

    @property
    def watched(self) -> bool:
        """Whether a key does what a command does elsewhere."""
        return bool(self.config.getoption("watch", default=False))

    def run(self, item: pytest.Item, says: str) -> None:
        """Note which test runs, and the first line of its docstring."""
        self.says = says
        if tell := self.config.stash.get(status_key, None):
            tell(f"{item.name}: {says}".removesuffix(": "))

    def tell(self) -> None:
        """Write the bar and the failing test, or the closing lines."""
        root, course = course_root(self.config), self.config.stash[course_key]
        tally = read_tally(root, course, self.kata, self.katas, self.solved)
        bars = ScreenLine(format_bar(tally, blocks=shows_blocks()))
        last = list(self.last_lines())
        shown = self.kata.id if self.failed else ""
        skipped = skipped_lines(self.skipped, shown, watched=self.watched)
        before = [*skipped, *format_away(self.away)]
        if self.failed:
            text = f"{self.failed.nodeid}\n{self.failed.longreprtext}"
            self.tell_watch(Told(failed=self.kata.id, failure=text, passing=self.known_passing))
            away = {*self.away, *self.unavailable}
            before += waiting_lines(passed_over(self.waiting, shown, away))
            lesson = self.lesson_from(self.failed)
            lines = lesson_lines(lesson, self.command(), *self.room([*before, bars, *last]))
        else:
            lines = list(self.closing_lines())
        self.write([*before, bars, *lines, *last])

    def tell_watch(self, told: Told) -> bool:
        """Tell the process that stays, under ``--watch``; return whether there is one."""
        channel = self.config.stash.get(channel_key, None)
        if channel:
            channel.tell(told)
        return channel is not None

    def room(self, others: Iterable[ScreenLine]) -> tuple[int | None, int]:
        """Return the rows beside the lines `others`, if this is a terminal, and its columns."""
        size = shutil.get_terminal_size()
        # pytest ends with a blank line; of --watch, another one and the keys follow.
        prompt = 4 if self.watched else 2
        above = map(ScreenLine, self.config.stash.get(above_key, "").splitlines())
        rows = size.lines - prompt - count_rows([*above, *others], size.columns)
        return rows if self.reporter.isatty else None, size.columns

    def last_lines(self) -> Iterator[ScreenLine]:
        """Return how many tests pass, if that is known."""
        yield from passing_lines(self.known_passing)

    @cached_property
    def known_passing(self) -> str:
        """How many tests pass, as far as ``--watch`` has counted them for this answer before."""
        if not (self.watched and self.failed):
            return ""
        known = read_standing(course_root(self.config), self.kata).results
        return known.passing if known.content == content_of(self.kata) else ""

    def closing_lines(self) -> Iterator[ScreenLine]:
        """Return the last lines when no test has failed."""
        where = f"the core path of {self.scope()}" if self.optional else self.scope()
        total = len(self.katas)
        yield from format_done(where, len(self.solved), total, rest=self.rest(), away=self.away)
        if len(self.solved) + len(self.away) >= total:
            yield from self.offer_lines(self.optional)

    def rest(self) -> str:
        """Return the command for the rest of the course, if the command leaves any out.

        Under ``--watch`` it is that of the page at the end of a lecture.
        """
        if self.whole or not self.watched:
            return "" if self.whole else "pytest katas --next"
        root, course = course_root(self.config), self.config.stash[course_key]
        following = first_outside(
            course, self.katas, self.kata, lambda kata: state_of(root, kata) in DONE
        )
        return lecture_command(following, course, self.start)

    def offer_lines(self, optional: Sequence[Kata]) -> Iterator[ScreenLine]:
        """Return how many of the katas beside the core path are left, and how to take them."""
        course = self.config.stash[course_key]
        yield from map(ScreenLine, offer_optional(optional, course, self.start, watch=self.watched))

    def lesson_from(self, report: pytest.TestReport | pytest.CollectReport) -> Lesson:
        """Return the lesson of the current kata's failed report."""
        failure = failure_of(report) or failure_beside(report, self.kata)
        if failure.rows:
            passed = [row for row, outcome in self.outcomes.items() if outcome.verdict == "passed"]
            message = (count_right(failure.rows, passed), *failure.message)
            failure = replace(failure, message=message)
        reading = failure.reading
        if self.watched and reading.hint:
            reading = replace(reading, hint="press h")
        effort = f" ({self.kata.effort})" if self.kata.effort else ""
        name, module = report.nodeid.partition("::")[2], path_from(self.start, self.kata.test)
        course = self.config.stash[course_key]
        katas = [kata for kata in course.katas if kata.lecture == self.kata.lecture]
        return Lesson(
            heading=f"{reading.heading}{effort}",
            reading={
                "whole": choose_lines(reading, self.config),
                "brief": choose_lines(reading, self.config, brief=True),
                "hint": format_hint(reading),
            },
            files=exercise_texts(self.kata, self.start),
            module=module,
            tests={module: read_text(self.kata.test)},
            test=name or "the module cannot be imported",
            says=self.says if name else "",
            failure=failure,
            lecture=lecture_lines(self.kata, katas, self.start),
            printed=[part for part in report.sections if part[0].startswith("Captured")],
            places=places_to_write(self.kata, self.start),
        )

    @property
    def start(self) -> Path:
        """The folder where pytest was started."""
        return self.config.invocation_params.dir

    @property
    def whole(self) -> bool:
        """Whether the command names all katas of the course, or of its core path."""
        lectures = self.config.stash[course_key].lectures
        path = core_path([kata for lecture in lectures for kata in lecture.katas])
        return {kata.id for kata in path} <= {kata.id for kata in self.katas}

    def scope(self) -> str:
        """Return the path or the lectures that the command names, in words."""
        if path := wanted_path(self.config):
            return f"the path {path}"
        names = [self.katas[0].lecture, self.katas[-1].lecture]
        return "the course" if self.whole else " to ".join(dict.fromkeys(names))

    def command(self) -> str:
        """Return the command that runs the current kata again; none under ``--watch``.

        It has no ``--skip``, which would skip one more kata.
        """
        if self.watched:
            return ""
        given = [each for each in self.config.invocation_params.args if each != "--skip"]
        more = [] if "--next" in given else ["--next"]
        return shlex.join(["pytest", *map(str, given), *more])

    def write(self, lines: Iterable[ScreenLine]) -> None:
        """Write lines to the terminal, in their styles; over the clock of ``--watch``."""
        lines = list(lines)
        writer = self.config.get_terminal_writer()
        told = Told(tuple(style_line(writer, line) for line in lines))
        clock = self.tell_watch(told) and knows_sequences(os.environ) if lines else False
        if lines and (clock or self.announced):
            self.reporter.write(ERASE)
            self.announced = False
        for line in lines:
            self.reporter.line(line.text, **({line.style: True} if line.style else {}))


def style_line(writer: Any, line: ScreenLine) -> str:
    """Return a line in its style, if pytest's terminal writer has colours."""
    return str(writer.markup(line.text, **({line.style: True} if line.style else {})))
