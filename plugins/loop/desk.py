"""Decides what a save or a key means under ``--watch``: no terminal, no processes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from plugins.bookmark import read_bookmark
from plugins.layout import Course
from plugins.memory import recall
from plugins.order import ordered
from plugins.orders import Order
from plugins.overview import shows_blocks
from plugins.places import places_of
from plugins.standing import content_of
from plugins.standing import learners_files
from plugins.walk import is_solved
from plugins.watchview import list_lines


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.layout import Kata


# What belongs to a lecture and not to one of its katas: headers, helpers.
SHARED = frozenset({".py", ".cpp", ".cu", ".h", ".hpp", ".cuh"})
NONE_OPEN = "There is no other kata here that is open."


class Desk:
    """Knows which kata the learner is at.

    With `moving` that is for ``--next`` to say, which goes on when a kata is solved; without, it
    is the one that was saved last.
    """

    def __init__(
        self, root: Path, start: Path, course: Course, katas: Sequence[Kata], *, moving: bool
    ) -> None:
        self.root, self.start, self.course = root, start, course
        self.katas, self.moving = katas, moving
        self._files = {file: kata for kata in katas for file in files_of(kata)}
        self._here = next(self.open(), katas[0])
        # The kata that was saved last, or chosen, if its tests pass.
        self.passed: Kata | None = None

    def open(self) -> Iterator[Kata]:
        """Return the katas that are open, in the order in which ``--next`` takes them."""
        katas = ordered(self.katas, read_bookmark(self.root).skipped)
        yield from (kata for kata in katas if not self.done(kata))

    def done(self, kata: Kata) -> bool:
        """Whether there is nothing left to do in a kata, on this machine."""
        return recall(self.root, kata).state(content_of(kata)) in {"solved", "unavailable"}

    @property
    def kata(self) -> Kata:
        """The kata that the learner is at."""
        if self.moving:
            shown = read_bookmark(self.root).shown
            return next((kata for kata in self.katas if kata.id == shown), self._here)
        return self._here

    def first(self, *, skipping: bool) -> Order:
        """Return what to do at first."""
        return Order("skip") if skipping else self.run()

    def run(self, why: str = "") -> Order:
        """Return the order that runs what the learner is at."""
        return Order("next", why=why) if self.moving else Order("kata", self._here, why)

    def saved(self, files: Sequence[Path]) -> Order | None:
        """Return what to do when files were saved: nothing, if they are of no kata here."""
        own = {kata.id: (kata, file) for file in files if (kata := self._files.get(file))}
        shared = [file for file in files if self.is_shared(file)]
        if own:
            # A formatter, or git, writes many.
            self._here, file = own.get(self.kata.id) or next(iter(own.values()))
        elif shared:
            file = shared[0]
        else:
            return None
        return self.run(f"saved   {os.path.relpath(file, self.start)}")

    def is_shared(self, file: Path) -> bool:
        """Whether the katas of a lecture may use a file that is none of theirs."""
        folders = {kata.folder for kata in self.katas}
        within = folders.intersection(file.parents)
        return bool(within) and file.suffix in SHARED and "solutions" not in file.parts

    def ran(self) -> None:
        """Note how a run has ended."""
        self.passed = self._here if is_solved(self.root, self._here) else None

    def pressed(self, key: str) -> Order | list[str] | None:
        """Return what to do when a key is pressed, or what to say; None if it means nothing."""
        match key:
            case "l":
                return self.listed()
            case "h":
                return Order("hint", self.kata)
            case "s":
                return Order("solution", self.passed or self.kata)
            case "r":
                return self.run()
            case "n":
                return self.following()
        return None

    def listed(self) -> list[str]:
        """Return the lectures, and the katas of the one that the learner is in."""
        names = {kata.lecture for kata in self.katas}
        lectures = [lecture for lecture in self.course.lectures if lecture.name in names]
        places = places_of(self.root, Course(tuple(lectures), ()))
        here = next(place for place in places if place.kata.id == self.kata.id)
        return list(list_lines(lectures, places, here, blocks=shows_blocks()))

    def following(self) -> Order | list[str]:
        """Return how to leave the kata that the learner is at for another one."""
        if self.moving:
            # With nothing to leave out, it only goes on.
            return Order("skip" if read_bookmark(self.root).shown else "next")
        katas = [kata for kata in self.open() if kata.id != self._here.id]
        places = {kata.id: place for place, kata in enumerate(self.katas)}
        later = [kata for kata in katas if places[kata.id] > places[self._here.id]]
        if not katas:
            return [NONE_OPEN]
        self._here = (later or katas)[0]
        return self.run()


def files_of(kata: Kata) -> list[Path]:
    """Return the files that are one kata's."""
    return [kata.test, kata.exercise, *learners_files(kata)]
