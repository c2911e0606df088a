"""How far a learner is: the bar of a lecture, and the count of all lectures beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

from plugins.progress.order import lecture_path
from plugins.progress.store import read_bookmark
from plugins.progress.store import solved_among


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata


BAR = 20


class Tally(NamedTuple):
    """How many katas of a lecture, and of all lectures of the command, are solved, and of how many.

    `waiting` are those that the learner has put off, in this lecture.
    """

    lecture: str
    solved: int
    total: int
    all_solved: int
    all_total: int
    waiting: int = 0
    # What all of them are.
    whole: str = "all katas"


def tally_of(
    lecture: Sequence[Kata],
    katas: Sequence[Kata],
    solved: Collection[str],
    skipped: Collection[str],
) -> Tally:
    """Return the tally of the path through a lecture, and of all `katas` of the command beside it.

    `solved` and `skipped` are ids. A command for one lecture counts that alone.
    """
    own = {each.id for each in lecture}
    name = lecture[0].lecture
    others = {each.id for each in katas if each.lecture != name}
    every = {each.id for each in katas} if others else own
    return Tally(
        name,
        len(own.intersection(solved)),
        len(own),
        len(every.intersection(solved)),
        len(every),
        len(own.intersection(skipped).difference(solved)),
        "core path" if all(each.core for each in katas) else "all katas",
    )


def format_bar(tally: Tally, *, blocks: bool) -> str:
    """Return a bar of how much of the lecture is solved, and the count of all lectures beside it.

    `blocks` allows more than ASCII. The first solved kata lights the first block.
    """
    filled = max(BAR * tally.solved // max(tally.total, 1), min(tally.solved, 1))
    full, empty = ("█", "░") if blocks else ("#", ".")
    bar = f"{full * filled}{empty * (BAR - filled)}"
    postponed = f", {tally.waiting} postponed" * bool(tally.waiting)
    line = f"{tally.lecture} {bar} {tally.solved} of {tally.total}{postponed}"
    if tally.all_total == tally.total:
        return line
    return f"{line}   {tally.whole}: {tally.all_solved} of {tally.all_total}"


def read_tally(
    root: Path, course: Course, kata: Kata, katas: Sequence[Kata], solved: Collection[str]
) -> Tally:
    """Return the tally for a learner at `kata`; `solved` has the ids of those of `katas` that are.

    What a command leaves out of the lecture counts as it is stored.
    """
    own = lecture_path(course, kata, katas)
    ids = {each.id for each in katas}
    beside = solved_among(root, (each for each in own if each.id not in ids))
    return tally_of(own, katas, beside.union(solved), read_bookmark(root).skipped)
