"""Decides what a save or a key means under ``--watch``, without a terminal and processes.

The decision is an `Order`: the process that stays forks, and the fork applies the order to its
own command line and goes on as pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.course.model import Course
from plugins.loop import course_list
from plugins.loop.course_list import CourseList
from plugins.loop.course_list import Restorer
from plugins.loop.farewell import farewell_lines
from plugins.loop.hint import format_hints
from plugins.loop.hint import take_hint
from plugins.loop.kata_session import Order
from plugins.loop.moment import Moment
from plugins.loop.moment import celebrate
from plugins.loop.reference import explain_unsolved
from plugins.loop.reference import reference_lines
from plugins.loop.saved_files import SavedFiles
from plugins.loop.screen import MEANINGS
from plugins.loop.screen import WIDTH
from plugins.loop.screen import ScreenLine
from plugins.loop.screen import format_rest
from plugins.loop.screen import wrap_line
from plugins.loop.tally import read_tally
from plugins.progress.map import places_of
from plugins.progress.order import ends_lecture
from plugins.progress.order import first_outside
from plugins.progress.order import lecture_arguments
from plugins.progress.order import lecture_command
from plugins.progress.order import offer_optional
from plugins.progress.order import optional_left
from plugins.progress.order import order_katas
from plugins.progress.standing import DONE
from plugins.progress.store import Bookmark
from plugins.progress.store import change_bookmark
from plugins.progress.store import is_solved
from plugins.progress.store import read_bookmark
from plugins.progress.store import read_counts
from plugins.progress.store import read_last_run
from plugins.progress.store import read_standing
from plugins.progress.store import state_of
from plugins.progress.store import states_of
from plugins.tools.files import why_nothing_is_kept


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Kata
    from plugins.loop.channel import Told
    from plugins.progress.standing import State


OUTSIDE = "{} is not among the katas of this command: its tests do not run."
WELCOME = (
    "Welcome! Open the file at `edit` in your editor, write the answer and save it.\n"
    "Each save runs the tests. h shows a hint, l lists the katas, q keeps your place."
)
NONE_OPEN = "No other kata here is open."
POSTPONED = "{} is postponed: press b to go back to it"
NOTHING_BACK = "You have left no kata yet: n leaves one, and b goes back to it."


class Desk:
    """Knows which kata the learner is at, and turns saves and keys into orders.

    That is the kata whose tests ran last. With `moving`, the learner goes through the katas as
    ``--next`` does, which stores the one that it has shown: another kata may be saved in between.
    With `flying` too, a solved kata is not stopped at.
    """

    def __init__(
        self,
        root: Path,
        start: Path,
        course: Course,
        katas: Sequence[Kata],
        *,
        moving: bool,
        flying: bool = False,
        path: Sequence[Kata] = (),
    ) -> None:
        self.root, self.start, self.course = root, start, course
        self.katas, self.moving, self.flying = katas, moving, flying
        # Those that are taken one after the other: what is optional runs only when it is saved.
        self.path = path or katas
        # Whether --next knows what it has shown; a read-only checkout remembers nothing.
        self.keeps = moving and not why_nothing_is_kept(root)
        self.files = SavedFiles(course, katas, start)
        # The kata that the learner is at, and those that a key has left, the last one last.
        self.kata = self.open_kata or katas[0]
        self._left: list[Kata] = []
        self._hints: dict[str, int] = {}
        # The kata at hand, if its tests pass, and whether that was known before they ran.
        self.passed: Kata | None = None
        self._solved_before = False
        self.list: CourseList | None = None
        self.restorer = Restorer(root)
        # Where the way begins, if the learner has chosen a kata.
        self._first = ""

    def open(self, states: Mapping[str, State] | None = None) -> list[Kata]:
        """Return the open katas, in the order in which ``--next`` takes them.

        `states` are those of the katas of this path, if they have been read.
        """
        states = states or states_of(self.root, self.path)
        left = [kata for kata in self.path if states[kata.id] not in DONE]
        return order_katas(left, read_bookmark(self.root).skipped)

    @property
    def open_kata(self) -> Kata | None:
        """The kata that ``--next`` shows."""
        return next(iter(self.open()), None)

    @property
    def later_kata(self) -> Kata | None:
        """The open kata after the one at hand, or else the first; None if no other is open."""
        return self.after_this(self.open())

    def after_this(self, left: Iterable[Kata]) -> Kata | None:
        """Return which of the katas that are `left` comes after the one at hand, or the first."""
        katas = [kata for kata in left if kata.id != self.kata.id]
        places = {kata.id: place for place, kata in enumerate(self.katas)}
        later = (kata for kata in katas if places[kata.id] > places[self.kata.id])
        return next(later, next(iter(katas), None))

    @property
    def beyond(self) -> Kata | None:
        """The first open kata of the course's core path outside of this command's lectures."""
        return first_outside(self.course, self.katas, self.kata, self.done)

    def done(self, kata: Kata) -> bool:
        """Whether there is nothing left to do in a kata, on this machine."""
        return state_of(self.root, kata) in DONE

    @property
    def shown_kata(self) -> Kata | None:
        """The kata that ``--next`` has shown last, if it is among these and still open."""
        name = read_bookmark(self.root).shown
        return next((kata for kata in self.path if kata.id == name and not self.done(kata)), None)

    def offer(self, lecture: str = "") -> list[ScreenLine]:
        """Return how many optional katas are left, of one lecture or of all, and the command."""
        states = states_of(self.root, self.katas)
        done = {name for name, state in states.items() if state in DONE}
        left = optional_left(self.katas, self.path, done)
        left = [kata for kata in left if lecture in {"", kata.lecture}]
        return [*map(ScreenLine, offer_optional(left, self.course, self.start, watch=True))]

    def first(self, *, skipping: bool) -> Order:
        """Return the order to begin with."""
        if not self.moving:
            return self.run()
        new = self.keeps and not (read_bookmark(self.root).shown or read_last_run(self.root).at)
        return Order("skip" if skipping else "next", why=WELCOME if new else "")

    def run(self, why: str = "") -> Order:
        """Return the order that runs the tests again of the kata at hand."""
        self.list = None
        self._solved_before = is_solved(self.root, self.kata)
        shown = self.shown_kata if self.moving else None
        if self.flying and (shown is None or shown.id == self.kata.id):
            return Order("next", why=why, first=self._first)
        away = shown if shown and shown.id != self.kata.id else None
        return Order("kata", self.kata, why, away)

    def saved(self, files: Sequence[Path]) -> Order | list[ScreenLine] | None:
        """Return the order for saved files; None if they belong to no kata.

        Of a kata that the command has left out, return a line that says so.
        """
        own = self.files.owned(files)
        shared = [file for file in files if self.files.is_shared(file)]
        if own:
            # A formatter, or git, writes many files: the current kata comes first.
            self.kata, file = own.get(self.kata.id) or next(iter(own.values()))
        elif shared:
            file = shared[0]
        elif others := [file for file in files if file in self.files.others]:
            name = self.files.others[others[0]]
            said = [self.files.describe(others[0]), *wrap_line(OUTSIDE.format(name))]
            return [*map(ScreenLine, said)]
        else:
            return None
        return self.run(self.restorer.said(self.kata) or self.files.describe(file))

    def ran(self, order: Order, told: Told) -> None:
        """Note, at the end of a run, which kata is at hand and whether it is solved."""
        if order.kind != "kata":
            self.kata = next((kata for kata in self.path if kata.id == told.failed), self.kata)
            # The only open kata comes back to itself: it was not left.
            if self._left and self._left[-1].id == self.kata.id:
                self._left.pop()
        # What did not run is as it was.
        solved = self.kata.id in told.solved or is_solved(self.root, self.kata)
        self.passed = self.kata if solved else None

    def moment(self, order: Order, size: tuple[int, int]) -> list[ScreenLine]:
        """Return the lines for the kata that this order ran, if it is solved, now or before.

        `size` are the columns and the rows of the terminal that they may take.
        """
        kata = self.passed
        if kata is None or order.kind != "kata":
            return []
        seconds, hints = read_standing(self.root, kata).seconds, read_counts(self.root)
        states = states_of(self.root, self.path)
        left = self.open(states)
        shown = self.shown_kata or next(iter(left), None)
        following = shown if self.keeps else self.after_this(left)
        solved = {name for name, state in states.items() if state == "solved"}
        tally = read_tally(self.root, self.course, kata, self.path, solved)
        beyond = None if following else self.beyond
        command = lecture_command(beyond, self.course, self.start)
        taken = hints.get(kata.id, 0)
        moment = Moment(kata, seconds, taken, following, tally, beyond, command)
        offer = self.offer(kata.lecture) if ends_lecture(kata, left) else []
        first = not self._solved_before
        return celebrate(self.root, self.course, moment, offer, size, first=first)

    def pressed(self, key: str, width: int = WIDTH) -> Order | list[ScreenLine] | None:
        """Return the order for a key, or the lines to show; None if the key means nothing."""
        if key == course_list.RESET:
            kata = self.list.kata if self.list else self.kata
            return [*map(ScreenLine, self.restorer.press(kata))]
        self.restorer.asked = ""
        if self.list:
            if (chosen := self.choose(key, self.list)) or self.list.move(key):
                return chosen or []
            # Any other key closes the list, and then does what it does elsewhere.
            self.list = None
            return [] if key == course_list.CLOSE else self.pressed(key, width) or []
        meanings: dict[str, Callable[[], Order | list[ScreenLine]]] = {
            course_list.CLOSE: self.open_list,
            "s": lambda: self.reference(width),
            "h": self.hinted,
            "r": self.run,
            "?": lambda: [ScreenLine(f"{k}  {what}") for k, what in MEANINGS.items()],
            "n": self.following,
            "b": self.back,
        }
        return meanings[key]() if key in meanings else None

    def hinted(self) -> list[ScreenLine]:
        """Return one more hint for the kata at hand."""
        # A read-only checkout remembers nothing; this process does.
        before = self._hints.get(self.kata.id, 0)
        shown = max(take_hint(self.root, self.kata), min(before + 1, len(self.kata.hints)))
        self._hints[self.kata.id] = shown
        text = format_hints(self.kata, shown, self.start, again="press h again")
        return [*map(ScreenLine, text.splitlines())]

    def reference(self, width: int) -> list[ScreenLine]:
        """Return the reference beside the answer, once the kata is solved, or how to get there."""
        # A read-only checkout remembers nothing.
        if self.passed is self.kata or is_solved(self.root, self.kata):
            head = ScreenLine(f"{self.kata.id}: {self.kata.title}", "bold")
            return [head, *reference_lines(self.kata, self.root, width)]
        return [*map(ScreenLine, explain_unsolved(self.kata, read_standing(self.root, self.kata)))]

    def open_list(self) -> list[ScreenLine]:
        """Open the list of the lectures, at the kata at hand."""
        names = {kata.lecture for kata in self.katas}
        lectures = [lecture for lecture in self.course.lectures if lecture.name in names]
        places = places_of(self.root, Course(tuple(lectures), ()))
        self.list = CourseList(lectures, places, self.kata)
        return []

    def choose(self, key: str, among: CourseList) -> Order | None:
        """Return the order for the kata that is marked, if the key is for that."""
        if key not in {course_list.JUMP, course_list.GO_ON}:
            return None
        self._left.append(self.kata)
        self.kata = among.kata
        if key == course_list.GO_ON and self.moving:
            self.begin_at(among.kata)
        return self.run()

    def begin_at(self, kata: Kata) -> None:
        """Let the way begin at a kata, as ``--from`` does."""
        later = self.katas[[each.id for each in self.katas].index(kata.id) :]
        self.path = [each for each in later if each == kata or each in self.path]
        self._first = kata.id
        change_bookmark(self.root, lambda old: Bookmark(kata.id, old.skipped))

    def following(self) -> Order | list[ScreenLine]:
        """Return the order that leaves the current kata for another open one."""
        if self.keeps:
            return self.forward()
        kata = self.later_kata
        if kata is None:
            command = lecture_command(self.beyond, self.course, self.start)
            return [ScreenLine(NONE_OPEN), *format_rest(command), *self.offer()]
        self._left.append(self.kata)
        why = "" if self.done(self.kata) else POSTPONED.format(self.kata.id)
        self.kata = kata
        # With `flying`, `run` would begin with the first again.
        return Order("kata", kata, why) if self.flying else self.run(why)

    def forward(self) -> Order:
        """Return the order that goes on: to the kata shown, if another was saved, or past it."""
        shown = self.shown_kata
        if shown and shown.id != self.kata.id:
            self.kata = shown
            return self.run()
        self._left.append(self.kata)
        # What is solved, or was never shown, cannot be skipped.
        return Order("skip" if shown else "next", first=self._first)

    def back(self) -> Order | list[ScreenLine]:
        """Return the order that goes back to the kata that a key has left."""
        if not self._left:
            return [ScreenLine(NOTHING_BACK)]
        self.kata = kata = self._left.pop()

        def change(old: Bookmark) -> Bookmark:
            return Bookmark(kata.id, tuple(name for name in old.skipped if name != kata.id))

        if self.moving:
            change_bookmark(self.root, change)
        return self.run()

    def farewell(self, args: Sequence[object]) -> list[str]:
        """Return what is said at the end; `args` are those of the command."""
        following = self.shown_kata or self.open_kata
        if following is None and (following := self.beyond):
            args = lecture_arguments(following, self.course, self.start)
        return farewell_lines(self.root, self.katas, following, args)

    @property
    def postpones(self) -> bool:
        """Whether the key for the next kata leaves this one unsolved, to come back to."""
        if not self.keeps:
            return len(self.path) > 1 and not self.done(self.kata)
        shown = self.shown_kata
        return len(self.path) > 1 and shown is not None and shown.id == self.kata.id

    @property
    def can_go_back(self) -> bool:
        """Whether a key has left a kata."""
        return bool(self._left)
