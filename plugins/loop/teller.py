"""Gathers what ``--next`` has to tell, and tells it through pytest's terminal reporter."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING
from typing import Any

from plugins.course import course_key
from plugins.exercisetext import exercise_texts
from plugins.failures import SUMMARY
from plugins.lessonview import Lesson
from plugins.lessonview import Line
from plugins.lessonview import away_lines
from plugins.lessonview import bar
from plugins.lessonview import done_lines
from plugins.lessonview import lesson_lines
from plugins.lessonview import skipped_lines
from plugins.progress import outcome_of
from plugins.stamps import totals_key
from plugins.standing import Outcome
from plugins.standing import Results


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from plugins.layout import Kata


class Teller:
    """Knows how the kata whose turn it is goes, and what became of those before."""

    def __init__(self, config: pytest.Config, katas: Sequence[Kata], solved: int) -> None:
        self.config = config
        self.katas = katas
        self.solved = solved
        self.away: dict[str, str] = {}
        # Whether the kata whose turn it is has turned out to be solved.
        self.solved_now = False
        # What was skipped by this command.
        self.skipped = ""
        self.failed: pytest.TestReport | pytest.CollectReport | None = None
        self.outcomes: dict[str, Outcome] = {}
        # The first line of the docstring of the test that runs.
        self.says = ""

    @property
    def reporter(self) -> Any:
        """The terminal."""
        return self.config.pluginmanager.get_plugin("terminalreporter")

    def begin(self, kata: Kata) -> None:
        """Turn to a kata."""
        self.kata = kata
        self.outcomes = {}
        self.solved_now = False

    def hear(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Take a report of the kata into account."""
        if report.failed:
            self.failed = self.failed or report
        elif outcome := outcome_of(report):
            self.outcomes[report.nodeid] = outcome

    def end(self) -> None:
        """Say what became of a kata none of whose tests has failed."""
        # -k and -m leave tests out, and then the rest solves nothing.
        run = Results("", self.outcomes, self.config.stash[totals_key].get(self.kata.id))
        if run.state == "unavailable":
            reasons = [outcome.message for outcome in self.outcomes.values()]
            self.away[self.kata.id] = reasons[0]
        elif run.state == "solved":
            self.solved_now = True
            self.solved += 1
            test = self.shown(self.kata.test)
            self.write(
                [
                    Line(f"{self.kata.id} is solved: {self.kata.title}", "green"),
                    Line(f"  the reference: pytest {test} --solution"),
                ]
            )

    def tell(self) -> None:
        """Show the failing test, or that there is none."""
        total = len(self.katas)
        bars = Line(bar(self.solved, total, blocks=self.blocks))
        if self.failed:
            lines = list(lesson_lines(self.lesson(self.failed), self.command()))
        else:
            lines = list(self.done())
        skipped = skipped_lines(self.skipped, self.kata.id if self.failed else "")
        self.write([*skipped, *away_lines(self.away), bars, *lines])

    def done(self) -> Iterator[Line]:
        """Return what there is to say when no test has failed."""
        total = len(self.katas)
        return done_lines(self.where(), self.solved, total, whole=self.whole, away=self.away)

    def lesson(self, report: pytest.TestReport | pytest.CollectReport) -> Lesson:
        """Return what there is to say about the failed report."""
        plain = [f"{self.kata.id}: {self.kata.title}"]
        heading, *reading = getattr(report, SUMMARY, plain)
        name = report.nodeid.partition("::")[2]
        return Lesson(
            heading=heading,
            reading=reading,
            files=exercise_texts(self.kata, self.config.invocation_params.dir),
            module=self.shown(self.kata.test),
            test=name or "the module cannot be imported",
            says=self.says if name else "",
            text=report.longreprtext,
            printed=[part for part in report.sections if part[0].startswith("Captured")],
        )

    def shown(self, path: Path) -> str:
        """Return a path as tracebacks have it: from where pytest was started."""
        return os.path.relpath(path, self.config.invocation_params.dir)

    @property
    def whole(self) -> bool:
        """Whether all katas of the course are among these."""
        lectures = self.config.stash[course_key].lectures
        return len(self.katas) == sum(len(lecture.katas) for lecture in lectures)

    def where(self) -> str:
        """Return what was gone through."""
        names = [self.katas[0].lecture, self.katas[-1].lecture]
        return "the course" if self.whole else " to ".join(dict.fromkeys(names))

    def command(self) -> str:
        """Return how to go on; a skip holds already, and would leave out one more.

        Under ``--watch`` it is enough to save the file.
        """
        if self.config.getoption("watch", default=False):
            return ""
        given = [each for each in self.config.invocation_params.args if each != "--skip"]
        more = [] if "--next" in given else ["--next"]
        return shlex.join(["pytest", *map(str, given), *more])

    @property
    def blocks(self) -> bool:
        """Whether the terminal shows more than ASCII."""
        file = self.reporter._tw._file  # noqa: SLF001 - whatever pytest writes to
        return str(getattr(file, "encoding", "")).lower().startswith("utf")

    def write(self, lines: Iterable[Line]) -> None:
        """Write to the terminal."""
        for line in lines:
            self.reporter.line(line.text, **({line.style: True} if line.style else {}))
