"""The learner's place in the course, from what is stored, and the map of it as text.

Imports neither pytest nor torch.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.course.names import name_for_pytest
from plugins.progress.order import core_path
from plugins.progress.order import order_katas
from plugins.progress.standing import DONE
from plugins.progress.store import current_state
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
    from plugins.course.paths import CoursePath
    from plugins.progress.standing import Results
    from plugins.progress.standing import Standing
    from plugins.progress.standing import State


WIDTH = 80
BAR = 14
# The most letters of a kata's name.
NAME = 22
# On a terminal, the least rows of the map, and those of them that lectures have beside the katas.
LEAST, LECTURES = 8, 5
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
            current_state(kata, standing),
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
    return first_of([place for place in places if place.kata.id in path])


def first_of(places: Iterable[Place]) -> Place | None:
    """Return the place to which a learner goes, of those where something is left to do."""
    left = {place.kata.id: place for place in places if not place.done}
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
    course: Course, places: Sequence[Place], *, start: Path, blocks: bool, rows: int | None = None
) -> list[str]:
    """Return the lines of the map for a learner in the folder `start`.

    `blocks` says whether the terminal can show more than ASCII. On one of so many `rows` the map
    is folded around the learner's place.
    """
    here = next_place(places)
    head, tail = [*format_sums(places), ""], ["", *format_next_step(here, start)]
    errors = [f"broken: {error}" for error in course.errors]
    if rows is None:
        body = lecture_rows(course, places, here, blocks=blocks)
        return [*head, *body, *errors, *missing_lines(places), *tail]
    away = sum(count_skip_reasons(places).values())
    tests = "1 test is" if away == 1 else f"{away} tests are"
    tail = [*errors, *([f"{tests} not run on this machine."] if away else []), *tail]
    # The last row is for the prompt.
    room = max(rows - 1 - len(head) - len(tail), LEAST)
    return [*head, *fold_map(course, places, here, room, blocks=blocks), *tail]


def format_sums(places: Sequence[Place]) -> Iterator[str]:
    """Return the lines that count what is solved."""
    solved = sum(place.state == "solved" for place in places)
    spent = format_duration(sum(place.standing.seconds for place in places))
    taken = sum(place.hints for place in places)
    hints = f", {taken} {'hint' if taken == 1 else 'hints'} taken" if taken else ""
    core = [place for place in places if place.kata.core]
    yield f"{solved} of {len(places)} katas solved, {spent} spent{hints}"
    if len(core) < len(places):
        done = sum(place.state == "solved" for place in core)
        yield f"{done} of the {len(core)} on the core path, which --next follows"


def lecture_rows(
    course: Course, places: Sequence[Place], here: Place | None, *, blocks: bool
) -> Iterator[str]:
    """Return a line for each lecture, and one for each kata of that where the learner is."""
    for lecture in course.lectures:
        own = [place for place in places if place.kata.lecture == lecture.name]
        yield lecture_line(lecture, own, here, blocks=blocks)
        if here in own:
            yield from kata_lines(own, here)


def fold_map(
    course: Course, places: Sequence[Place], here: Place | None, room: int, *, blocks: bool
) -> Iterator[str]:
    """Return so many of these lines as there is room for, and what the others would say."""
    lectures = course.lectures
    names = [lecture.name for lecture in lectures]
    own = [place for place in places if here and place.kata.lecture == here.kata.lecture]
    at = names.index(here.kata.lecture) if here else 0
    wide = min(len(lectures), max(LECTURES, room - len(own)))
    begin, end = window(len(lectures), at, wide)
    if begin:
        yield f"  {sum_up(places, names[:begin])}"
    for lecture in lectures[begin:end]:
        among = [place for place in places if place.kata.lecture == lecture.name]
        yield lecture_line(lecture, among, here, blocks=blocks)
        if here and lecture.name == here.kata.lecture:
            lines = list(kata_lines(own, here))
            first, last = window(len(own), own.index(here), room - wide)
            yield from [f"    {first} before"] if first else []
            yield from lines[first:last]
            yield from [f"    {len(own) - last} more"] if last < len(own) else []
    if end < len(names):
        yield f"  {sum_up(places, names[end:])}; -v shows all"


def window(count: int, at: int, room: int) -> tuple[int, int]:
    """Return which of `count` lines to show around the one `at`, as the ends of a slice.

    What is left out on either side takes one row, which says so.
    """
    if count <= room:
        return 0, count
    begin = at - (room - 2) // 2
    if begin <= 1:
        return 0, room - 1
    if begin + room - 2 >= count - 1:
        return count - room + 1, count
    return begin, begin + room - 2


def sum_up(places: Sequence[Place], names: Sequence[str]) -> str:
    """Return what is solved of lectures that have no line of their own."""
    own = [place for place in places if place.kata.lecture in names]
    solved = sum(place.state == "solved" for place in own)
    which = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    return f"{which}: {solved} of {len(own)} solved"


def missing_lines(places: Sequence[Place]) -> Iterator[str]:
    """Return what did not run on this machine, and why."""
    if missing := count_skip_reasons(places):
        yield ""
        yield "Not run on this machine:"
        for reason, count in missing.items():
            text = f"{count} tests: {reason}" if count > 1 else f"1 test: {reason}"
            yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def format_path(path: CoursePath, places: Sequence[Place], *, rows: int | None = None) -> list[str]:
    """Return the lines of the map of a path: its katas, and the command that goes on."""
    ids = {kata.id for kata in path.katas}
    own = [place for place in places if place.kata.id in ids]
    here = first_of(own)
    solved = sum(place.state == "solved" for place in own)
    time = f"; all take about {format_duration(60 * path.minutes)}" if path.minutes else ""
    head = [
        *textwrap.wrap(f"{path.title}: {path.about}", WIDTH),
        f"{solved} of {len(own)} katas solved{time}",
        "",
    ]
    tail = ["", *path_step(path, here)]
    lines = list(kata_lines(own, here, by_id=True))
    begin, end = 0, len(lines)
    if rows is not None:
        room = max(rows - 1 - len(head) - len(tail), LEAST)
        begin, end = window(len(lines), own.index(here) if here else 0, room)
    above = [f"    {begin} before"] if begin else []
    below = [f"    {len(lines) - end} more; -v shows all"] if end < len(lines) else []
    return [*head, *above, *lines[begin:end], *below, *tail]


def path_step(path: CoursePath, here: Place | None) -> list[str]:
    """Return the lines that name the next kata of a path, and the command that goes on there."""
    if here is None:
        return ["What of this path can run here is solved."]
    return [f"Next, {here.kata.id}:", f"  pytest katas --next --path {path.name}"]


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


def kata_lines(
    places: Sequence[Place], here: Place | None, *, by_id: bool = False
) -> Iterator[str]:
    """Return the line of each kata of a lecture: name, title, effort, state and time spent.

    A column is as wide as its longest entry, and the titles have the rest. The effort is in
    parentheses beside the core path.
    """
    names = [place.kata.id if by_id else shorten_words(place.kata.name, NAME) for place in places]
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
