"""What the screen of ``--watch`` shows at the moment when a kata is solved."""

from __future__ import annotations

import textwrap
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from plugins.guide.definitions import read_text
from plugins.loop.reference import Comparison
from plugins.loop.reference import reference_parts
from plugins.loop.screen import INDENT
from plugins.loop.screen import WIDTH
from plugins.loop.screen import ScreenLine
from plugins.loop.screen import count_rows
from plugins.loop.screen import label_paragraph
from plugins.loop.solved import learned_lines
from plugins.loop.solved import solved_line
from plugins.loop.tally import format_bar
from plugins.progress.order import core_path
from plugins.progress.standing import DONE
from plugins.progress.store import read_standing
from plugins.progress.store import state_of
from plugins.tools.terminal import format_duration
from plugins.tools.terminal import shows_blocks


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata
    from plugins.course.model import Lecture
    from plugins.loop.tally import Tally


# What the README of a lecture says above its goals.
GOALS = "## What you will be able to do\n"
MINUTE = 60
# Rows: with fewer a comparison says nothing.
LEAST = 5


@dataclass(frozen=True)
class Moment:
    """A kata that has just been solved.

    Attributes
    ----------
    kata
        The kata.
    seconds, hints
        The time spent on it, and how many of its hints were taken.
    following
        The kata that comes next, if one is left.
    tally
        How much of its lecture is solved.
    beyond
        The first open kata of another lecture, if nothing is left of this command.
    command
        The command that goes on there.
    """

    kata: Kata
    seconds: float
    hints: int
    following: Kata | None
    tally: Tally
    beyond: Kata | None = None
    command: str = ""


def format_moment(
    moment: Moment, above: Sequence[Comparison], size: tuple[int, int], *, blocks: bool
) -> Iterator[ScreenLine]:
    """Return the lines that celebrate a solved kata, at most as many as have room.

    `size` are the columns and the rows that are left in the terminal. The reference `above`
    gives way.
    """
    columns, rows = size
    last = [ScreenLine(), *closing_lines(moment, blocks=blocks)]
    yield from [*fit_parts(above, max(rows - count_rows(last, columns), 0), columns), *last]


def fit_parts(parts: Sequence[Comparison], room: int, columns: int) -> list[ScreenLine]:
    """Return as much of the parts as `room` rows can hold, and how many lines are left out.

    First goes where the whole of it is; then each comparison begins with its first difference,
    which its head says, and is cut to the same number of rows, so that something of each function
    is seen.
    """
    lines = [line for part in parts for line in part.lines]
    if count_rows(lines, columns) <= room:
        return lines
    shorter = [part.shorter for part in parts if not part.whole]
    longest = max((len(part.rows) for part in shorter), default=0)
    for length in range(longest, 0, -1):
        # What is left of the room goes to the first parts.
        for spare in range(len(shorter), -1, -1):
            form = [
                line
                for place, part in enumerate(shorter)
                for line in (*part.head, *part.rows[: length + (place < spare)])
            ]
            form.append(more_line(len(lines) - len(form)))
            if count_rows(form, columns) <= room:
                return form
    ends = list(accumulate(count_rows([line], columns) for line in lines))
    # The row that counts the others needs room too.
    kept = lines[: bisect_right(ends, room - 1)]
    return [*kept, more_line(len(lines) - len(kept))]


def more_line(count: int) -> ScreenLine:
    """Return how many lines are left out, and the key that shows them."""
    return ScreenLine(f"({count} more {'line' if count == 1 else 'lines'}: press s)")


def closing_lines(moment: Moment, *, blocks: bool) -> Iterator[ScreenLine]:
    """Return that the kata is solved, what was learned, the bar, and what comes next."""
    kata = moment.kata
    yield ScreenLine(solved_line(kata).text, "bold")
    yield from learned_lines(kata)
    hints = f", {moment.hints} of {len(kata.hints)} hints" if moment.hints else ", no hint"
    time = format_duration(moment.seconds) if moment.seconds >= MINUTE else "under 1 min"
    yield ScreenLine(f"{'time':<{INDENT}}{time}{hints}")
    yield ScreenLine(format_bar(moment.tally, blocks=blocks))
    if following := moment.following or moment.beyond:
        effort = f" ({following.effort})" if following.effort else ""
        text = f"{following.id}, {following.title}{effort}"
        text = f"press n: {text}" if moment.following else f"{text}: {moment.command}"
        yield from map(ScreenLine, label_paragraph("next", text))
    else:
        yield ScreenLine("Nothing else is open here.")


def format_ended(
    root: Path, lecture: Lecture, optional: Sequence[ScreenLine], size: tuple[int, int]
) -> list[ScreenLine]:
    """Return the page at the end of a lecture: what a learner can do now, and the time it took.

    What they can do is in its README; `optional` are the lines about what is beside the core path.
    Where the page is longer than `size`, in columns and rows, first its blank rows go and then the
    last goals, which are counted.
    """
    columns, rows = size
    goals = goals_of(lecture.folder / "README.md")
    seconds = sum(read_standing(root, kata).seconds for kata in lecture.katas)
    took = f"It took {format_duration(seconds)}. This is a good place to stop."
    last = [ScreenLine(took), *optional]

    def form(count: int, blank: Sequence[ScreenLine]) -> list[ScreenLine]:
        left = len(goals) - count
        more = [f"and {left} more, in its README.md"] if left else []
        listed = [line for goal in (*goals[:count], *more) for line in wrap_goal(goal)]
        what = [*blank, ScreenLine("What you can do now:"), *listed] if goals else []
        head = ScreenLine(f"The end of {lecture.name}: {lecture.title}", "bold")
        return [head, *what, *blank, *last]

    forms = [form(len(goals), [ScreenLine()])]
    forms += [form(count, []) for count in range(len(goals), -1, -1)]
    return next((page for page in forms if count_rows(page, columns) <= rows), forms[-1])


def wrap_goal(goal: str) -> list[ScreenLine]:
    """Return a goal as an item of a list."""
    lines = textwrap.wrap(goal, WIDTH, initial_indent="- ", subsequent_indent="  ")
    return [*map(ScreenLine, lines)]


def goals_of(readme: Path) -> list[str]:
    """Return the goals that a lecture's README lists."""
    _, _, after = read_text(readme).partition(GOALS)
    goals: list[str] = []
    for line in after.partition("\n## ")[0].splitlines():
        if line.startswith("- "):
            goals.append(line.removeprefix("- "))
        elif line.strip() and goals:
            goals[-1] += f" {line.strip()}"
    return [goal.replace("`", "") for goal in goals]


def ended_lecture(root: Path, course: Course, kata: Kata) -> Lecture | None:
    """Return the lecture of a kata on its core path, if nothing of that is left to do."""
    lecture = next(each for each in course.lectures if each.name == kata.lecture)
    path = core_path(lecture.katas)
    return lecture if kata in path and all(state_of(root, each) in DONE for each in path) else None


def celebrate(
    root: Path,
    course: Course,
    moment: Moment,
    offer: Sequence[ScreenLine],
    size: tuple[int, int],
    *,
    first: bool = True,
) -> list[ScreenLine]:
    """Return the lines for a solved kata: below the reference, or below the page of its lecture.

    That page comes when its last kata is solved `first`, and the reference stands above it where
    there is room. `offer` says what is optional in the lecture; `size` is as for `format_moment`.
    """
    blocks = shows_blocks()
    columns, rows = size
    reference = [*reference_parts(moment.kata, root, columns)]
    lecture = ended_lecture(root, course, moment.kata) if first else None
    if lecture is None:
        return [
            *format_moment(moment, reference, (columns, rows - len(offer)), blocks=blocks),
            *offer,
        ]
    ending = [ScreenLine(), *closing_lines(moment, blocks=blocks)]
    rows -= count_rows(ending, columns)
    page = format_ended(root, lecture, offer, (columns, rows))
    # A blank row stands between the two.
    rows -= count_rows(page, columns) + 1
    above = [*fit_parts(reference, rows, columns), ScreenLine()] if rows >= LEAST else []
    return [*above, *page, *ending]
