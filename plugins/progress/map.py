"""The learner's place in the course, from what is stored, and the map of it as text.

Imports neither pytest nor torch.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.course.files import content_of
from plugins.course.names import name_for_pytest
from plugins.progress.order import core_path
from plugins.progress.order import order_katas
from plugins.progress.standing import DONE
from plugins.progress.store import read_bookmark
from plugins.progress.store import read_counts
from plugins.progress.store import read_standings
from plugins.tools.terminal import format_duration
from plugins.tools.terminal import shorten_words


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata
    from plugins.course.model import Lecture
    from plugins.progress.standing import Results
    from plugins.progress.standing import Standing
    from plugins.progress.standing import State


WIDTH = 80
BAR = 14
# The most letters of a kata's name.
NAME = 22
ALL_DONE = "Everything that can run here is solved."
# A failing kata shows how many of its tests pass instead, or this if none can be imported.
BROKEN = "import fails"
# What can run here passes, and other tests would decide.
UNDECIDED = "undecided"
# How the reason of a skip names the device or backend that is missing.
LACKING = re.compile(r"\w+: ")
WORDS: dict[State, str] = {
    "solved": "solved",
    "failing": "",
    "open": "open",
    "new": "",
    "unavailable": "not here",
}


@dataclass(frozen=True)
class Place:
    """A kata on the map.

    Attributes
    ----------
    state
        The state of the current exercise, or "new".
    standing
        What is stored about it.
    hints
        How many of its hints were taken.
    skipped
        Its places among the skipped katas: one, or two if it comes after all others.
    """

    kata: Kata
    state: State
    standing: Standing
    hints: int = 0
    skipped: tuple[int, ...] = ()

    @property
    def done(self) -> bool:
        """Whether nothing is left to do here on this machine."""
        return self.state in DONE

    @property
    def undecided(self) -> bool:
        """Whether some of its tests pass, and those that would decide cannot run here."""
        return self.state == "unavailable" and bool(self.standing.results.count("passed"))


def places_of(root: Path, course: Course) -> list[Place]:
    """Return all katas in teaching order, with what is stored about each."""
    hints = read_counts(root)
    skipped: dict[str, tuple[int, ...]] = {}
    for place, name in enumerate(read_bookmark(root).skipped):
        skipped[name] = (*skipped.get(name, ()), place)
    katas = course.katas
    return [
        Place(
            kata,
            # Of an untouched kata no content is known, so none need be read.
            standing.state(content_of(kata) if standing.states else ""),
            standing,
            hints.get(kata.id, 0),
            skipped.get(kata.id, ()),
        )
        for kata, standing in read_standings(root, katas)
    ]


def next_place(places: Sequence[Place]) -> Place | None:
    """Return the kata that ``--next`` shows: the first that is not done, skipped ones last.

    What is optional comes after the core path, where ``--next --all`` shows it.
    """
    path = {kata.id for kata in core_path([place.kata for place in places if not place.done])}
    left = {place.kata.id: place for place in places if place.kata.id in path}
    skipped = sorted((at, name) for name, place in left.items() for at in place.skipped)
    ordered = order_katas((place.kata for place in left.values()), [name for _, name in skipped])
    return left[ordered[0].id] if ordered else None


def place_after(kata: Kata, places: Sequence[Place]) -> Place | None:
    """Return the kata to name when this one is solved: the next of its lecture's core path.

    One who began in the middle goes on from there; at the end of the lecture it is that of
    ``--next``.
    """
    own = [place for place in places if place.kata.lecture == kata.lecture]
    at = next(number for number, place in enumerate(own) if place.kata == kata)
    later = [place for place in own[at:] if place.kata.core]
    return next_place(later) or next_place(places)


def format_map(
    course: Course, places: Sequence[Place], *, start: Path, blocks: bool
) -> Iterator[str]:
    """Return the lines of the map for a learner in the folder `start`.

    `blocks` says whether the terminal can show more than ASCII.
    """
    solved = sum(place.state == "solved" for place in places)
    spent = format_duration(sum(place.standing.seconds for place in places))
    taken = sum(place.hints for place in places)
    hints = f", {taken} {'hint' if taken == 1 else 'hints'} taken" if taken else ""
    core = [place for place in places if place.kata.core]
    yield f"{solved} of {len(places)} katas solved, {spent} spent{hints}"
    if len(core) < len(places):
        done = sum(place.state == "solved" for place in core)
        yield f"{done} of the {len(core)} on the core path, which --next follows"
    yield ""
    here = next_place(places)
    for lecture in course.lectures:
        own = [place for place in places if place.kata.lecture == lecture.name]
        yield lecture_line(lecture, own, here, blocks=blocks)
        if here in own:
            yield from kata_lines(own, here)
    yield from (f"broken: {error}" for error in course.errors)
    if missing := count_skip_reasons(places):
        yield ""
        yield "Not run on this machine:"
        for reason, count in missing.items():
            text = f"{count} tests: {reason}" if count > 1 else f"1 test: {reason}"
            yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
    yield ""
    yield from format_next_step(here, start)


def lecture_line(
    lecture: Lecture, places: Sequence[Place], here: Place | None, *, blocks: bool
) -> str:
    """Return a lecture's line: a mark if the learner is there, its title, its solved katas."""
    mark = ">" if here in places else " "
    solved = sum(place.state == "solved" for place in places)
    filled = BAR * solved // max(len(places), 1)
    full, empty = ("█", "░") if blocks else ("#", ".")
    bar = full * filled + empty * (BAR - filled)
    count = f"{solved:2} of {len(places)}"
    head = f"{mark} {lecture.name}  "
    room = WIDTH - len(head) - BAR - 11
    return f"{head}{shorten_words(lecture.title, room):{room}}  {bar} {count}"


def kata_lines(places: Sequence[Place], here: Place | None) -> Iterator[str]:
    """Return the line of each kata of a lecture: name, title, effort, state and time spent.

    A column is as wide as its longest entry, and the titles have the rest. The effort is in
    parentheses beside the core path.
    """
    names = [shorten_words(place.kata.name, NAME) for place in places]
    rows = [(effort_of(place), word_of(place), spent_on(place)) for place in places]
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    name_width = max(map(len, names), default=0)
    room = WIDTH - 4 - name_width - 2 - sum(width + 2 for width in widths if width)
    titles = [shorten_words(place.kata.title, room) for place in places]
    title_width = max(map(len, titles), default=0)
    for place, name, title, row in zip(places, names, titles, rows, strict=True):
        mark = ">" if place is here else " "
        line = f"  {mark} {name:{name_width}}  {title:{title_width}}"
        for entry, width in zip(row[:-1], widths[:-1], strict=True):
            line += f"  {entry:{width}}" if width else ""
        yield f"{line}  {row[-1]:>{widths[-1]}}".rstrip()


def effort_of(place: Place) -> str:
    """Return a kata's size and minutes, or nothing if its lecture does not state them."""
    kata = place.kata
    effort = f"{kata.size} {kata.minutes} min" if kata.size else ""
    return effort if kata.core or not effort else f"({effort})"


def word_of(place: Place) -> str:
    """Return a kata's state, or how many tests pass if some fail."""
    if place.state == "failing":
        passing = place.standing.results.passing
        return f"{passing} pass" if passing else BROKEN
    return UNDECIDED if place.undecided else WORDS[place.state]


def spent_on(place: Place) -> str:
    """Return the time spent on a kata, or nothing if there was none."""
    return format_duration(place.standing.seconds) if place.standing.seconds else ""


def format_next_step(here: Place | None, start: Path) -> Iterator[str]:
    """Return the lines that name the next kata and its command in the folder `start`."""
    if here is None:
        yield ALL_DONE
        return
    effort = f" ({here.kata.effort})" if here.kata.effort else ""
    yield f"Next, {shorten_words(here.kata.title, WIDTH - 7 - len(effort))}{effort}:"
    yield next_command(here, start)


def why_away(results: Results) -> str:
    """Return what follows the name of a kata that is unavailable, after a run with these results.

    ``is not decided here: 1 test passes, 5 wait for torchx: torchx not installed; ...``
    """
    passed = results.count("passed")
    if not passed:
        return f"cannot run here: {next(iter(results.tests.values())).message}"
    parts = ["1 test passes" if passed == 1 else f"{passed} tests pass"]
    for reason, count in Counter(results.undecided.values()).items():
        if LACKING.match(reason):
            parts.append(f"{count} {'waits' if count == 1 else 'wait'} for {reason}")
        else:
            parts.append(f"{count} {'is' if count == 1 else 'are'} skipped: {reason}")
    return f"is not decided here: {', '.join(parts)}"


def format_why(kata: str, why: str) -> list[str]:
    """Return the lines that say of a kata, by its id, why it is not decided here."""
    return textwrap.wrap(f"{kata} {why}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def format_solved(solved: Sequence[Kata], here: Place | None, start: Path) -> Iterator[str]:
    """Return the lines that follow a run in which these katas were found solved, and no other."""
    what = f"{solved[0].id} is solved" if len(solved) == 1 else f"{len(solved)} katas are solved"
    if here is None:
        yield f"{what}; {ALL_DONE[0].lower()}{ALL_DONE[1:]}"
        return
    yield f"{what}; next is {here.kata.id}:"
    yield next_command(here, start)


def format_undecided(
    undecided: Iterable[tuple[Kata, str]], here: Place | None, start: Path
) -> Iterator[str]:
    """Return the lines that follow a run in which no kata was solved, and these were not decided.

    Each comes with why; the next one is named, if there is one.
    """
    for kata, why in undecided:
        yield from format_why(kata.id, why)
    if here:
        yield f"Next is {here.kata.id}:"
        yield next_command(here, start)


def next_command(here: Place, start: Path) -> str:
    """Return the command that runs the next kata, as an indented line."""
    return f"  pytest {name_for_pytest(here.kata, start)} -x"


def count_skip_reasons(places: Iterable[Place]) -> dict[str, int]:
    """Return how many tests each reason kept from running here."""
    return Counter(
        outcome.message
        for place in places
        for outcome in place.standing.results.tests.values()
        if outcome.verdict == "skipped"
    )
