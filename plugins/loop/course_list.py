"""The list of ``--watch``: the katas, one of which is marked; keys move the mark and act on it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from plugins.course.files import content_of
from plugins.progress.map import kata_lines
from plugins.progress.map import lecture_line
from plugins.tools.terminal import format_duration
from plugins.tools.terminal import shows_blocks


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Kata
    from plugins.course.model import Lecture
    from plugins.progress.map import Place


# The keys that move, as a terminal sends them, and by how many katas or lectures.
STEPS = {"j": 1, "k": -1, "\x1b[B": 1, "\x1b[A": -1, "\x1bOB": 1, "\x1bOA": -1}
LEAPS = {"\x1b[C": 1, "\x1b[D": -1, "\x1bOC": 1, "\x1bOD": -1}
JUMP, GO_ON, RESET, CLOSE = "\n", "g", "x", "l"
KEYS = "j down  k up  enter jump there  g go on from there  x reset  l close  q quit"
ASK = (
    "Press x again to put the stub of {} back.\n"
    "Your version is kept in .katas/backup; any other key leaves it as it is."
)


class CourseList:
    """The lectures, with the katas of the one that the mark is in."""

    def __init__(self, lectures: Sequence[Lecture], places: Sequence[Place], at: Kata) -> None:
        self.lectures, self.places = lectures, places
        self.at = next(n for n, place in enumerate(places) if place.kata.id == at.id)

    @property
    def kata(self) -> Kata:
        """The kata that is marked."""
        return self.places[self.at].kata

    def move(self, key: str) -> bool:
        """Move the mark, and return whether the key is one that does."""
        last = len(self.places) - 1
        if key in STEPS:
            self.at = min(max(self.at + STEPS[key], 0), last)
        elif key in LEAPS:
            names = [lecture.name for lecture in self.lectures]
            at = names.index(self.kata.lecture) + LEAPS[key]
            name = names[min(max(at, 0), len(names) - 1)]
            own = (n for n, place in enumerate(self.places) if place.kata.lecture == name)
            self.at = next(own, self.at)
        else:
            return False
        return True

    def lines(self, rows: int) -> list[str]:
        """Return the lines around the mark that fit into `rows` rows."""
        here = self.places[self.at]
        lines = list(format_list(self.lectures, self.places, here, blocks=shows_blocks()))
        marked = next(n for n, line in reversed([*enumerate(lines)]) if line.lstrip()[:1] == ">")
        first = min(max(marked - rows // 2, 0), max(len(lines) - rows, 0))
        return lines[first : first + rows]


def format_list(
    lectures: Sequence[Lecture], places: Sequence[Place], here: Place | None, *, blocks: bool
) -> Iterator[str]:
    """Return the lectures, and the katas of the lecture that the learner is in."""
    for lecture in lectures:
        own = [place for place in places if place.kata.lecture == lecture.name]
        yield lecture_line(lecture, own, here, blocks=blocks)
        if here in own or len(lectures) == 1:
            lines = [*kata_lines(own, here)]
            yield from lines
            spent = format_duration(sum(place.standing.seconds for place in own))
            if spent != format_duration(0):
                # Each kata's minutes are rounded; this is the sum that the lecture's end names.
                yield f"{f'in all {spent}':>{max(map(len, lines))}}"


class Restorer:
    """Puts the stubs of katas back, when the key came twice."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # The kata of the last key.
        self.asked = ""
        # By the kata, the content that a reset has left, and what there is to say of it.
        self.done: dict[str, tuple[str, str]] = {}

    def press(self, kata: Kata) -> list[str]:
        """Ask, or put the stub back; the files that are written come back as saved."""
        if self.asked != kata.id:
            self.asked = kata.id
            return ASK.format(kata.id).splitlines()
        self.asked = ""
        done, lines = reset_kata(self.root, kata)
        if done:
            self.done[kata.id] = content_of(kata), "\n".join(lines)
        return lines

    def said(self, kata: Kata) -> str:
        """Return what there is to say of a kata that was saved, if a reset has saved it."""
        content, said = self.done.get(kata.id, ("", ""))
        return said if content == content_of(kata) else ""


def reset_kata(root: Path, kata: Kata) -> tuple[bool, list[str]]:
    """Put a kata's stub back; return whether that was possible, and what there is to say.

    The command does it: what the learner types knows nothing of git.
    """
    done = subprocess.run(  # noqa: S603 - a module of this repository
        [sys.executable, "-m", "plugins.reset", kata.id],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0, [*done.stdout.splitlines(), *done.stderr.splitlines()]
