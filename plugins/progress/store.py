"""The files that remember the learner's progress, below ``.katas``: JSON, each written whole.

One for each kata's standing (``progress/``), one for the last run of any kata (``last.json``), one
for the hints that were shown (``hints.json``), and one for ``--next``: which kata it has shown, and
which were skipped (``next.json``). A damaged file counts as none, and a read-only checkout
remembers nothing. Imports neither pytest nor torch.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar

from plugins.course.files import content_of
from plugins.progress.standing import Standing
from plugins.tools.files import write_whole
from plugins.tools.locks import locked


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Iterator
    from datetime import date
    from pathlib import Path

    from plugins.course.model import Kata
    from plugins.progress.standing import State


FOLDER = ".katas/progress"
LAST = ".katas/last.json"
HINTS = ".katas/hints.json"
BOOKMARK = ".katas/next.json"

T = TypeVar("T")


def standing_file(root: Path, kata: Kata) -> Path:
    """Return the file with the standing of `kata`; it need not exist."""
    return root / FOLDER / kata.lecture / f"{kata.name}.json"


def read_standing(root: Path, kata: Kata) -> Standing:
    """Return what is remembered about `kata`; a file of a later version counts as none.

    Tests that were skipped for a lack of something count as such until a test, of whichever kata,
    has found it here: the last run that looked for it decides.
    """
    return _judged(root, kata, lambda: read_last_run(root).found)


def is_solved(root: Path, kata: Kata) -> bool:
    """Whether the current exercise is known to be solved."""
    return state_of(root, kata) == "solved"


def state_of(root: Path, kata: Kata) -> State:
    """Return what is known about the current exercise."""
    return current_state(kata, read_standing(root, kata))


def current_state(kata: Kata, standing: Standing) -> State:
    """Return the state of the current exercise; of one that has never run it need not be read."""
    return standing.state(content_of(kata) if standing.states else "")


def states_of(root: Path, katas: Iterable[Kata]) -> dict[str, State]:
    """Return what is known about the current exercises of `katas`, by their ids."""
    return {kata.id: current_state(kata, known) for kata, known in read_standings(root, katas)}


def solved_among(root: Path, katas: Iterable[Kata]) -> set[str]:
    """Return the ids of those of `katas` whose current exercise is known to be solved."""
    return {name for name, state in states_of(root, katas).items() if state == "solved"}


def read_standings(root: Path, katas: Iterable[Kata]) -> Iterator[tuple[Kata, Standing]]:
    """Return what is remembered about each of `katas`, of most of which nothing may be."""
    katas = [*katas]
    folders = {root / FOLDER / kata.lecture for kata in katas}
    stored = {f"{each.name}/{file.stem}" for each in folders for file in each.glob("*.json")}
    found = cache(lambda: read_last_run(root).found)
    for kata in katas:
        yield kata, _judged(root, kata, found) if kata.id in stored else Standing()


def change_standing(root: Path, kata: Kata, change: Callable[[Standing], Standing]) -> None:
    """Replace what is remembered about `kata`."""

    def dump(standing: Standing) -> str:
        return json.dumps(standing.to_data(), separators=(",", ":"))

    _change(standing_file(root, kata), lambda: change(read_standing(root, kata)), dump)


@dataclass(frozen=True)
class LastRun:
    """What is remembered about the last run of any kata.

    Attributes
    ----------
    at, before
        When it was, and when the one before: in ISO 8601, or "".
    found
        The devices and backends that are here, as far as tests have looked for them.
    day, seconds
        A day, and what the katas took on it: what their standings have got as `Standing.seconds`.
    """

    at: str = ""
    before: str = ""
    found: tuple[str, ...] = ()
    day: str = ""
    seconds: float = 0.0

    def spent_on(self, day: date) -> float:
        """Return the seconds that katas took on a day, if they took any on no later one."""
        return self.seconds if self.day == day.isoformat() else 0.0


def read_last_run(root: Path) -> LastRun:
    """Return what is remembered about the last run of any kata."""

    def parse(data: Any) -> LastRun:
        at = datetime.fromisoformat(data["at"]).isoformat()
        day, seconds = str(data.get("day", "")), float(data.get("seconds", 0.0))
        return LastRun(at, data["before"], tuple(map(str, data["found"])), day, seconds)

    return _read(root / LAST, parse, LastRun())


def note_run(
    root: Path, now: datetime, found: Collection[str] = (), lacked: Collection[str] = ()
) -> LastRun:
    """Store that katas have run until `now`, and what they found here and what they lacked.

    Of two terminals at once, each has the other's run as the one before, or comes before it.
    """

    def changed() -> LastRun:
        old = read_last_run(root)
        here = {*old.found} - {*lacked} | {*found}
        return replace(old, at=now.isoformat(), before=old.at, found=tuple(sorted(here)))

    return _change(root / LAST, changed, dump_run)


def note_time(root: Path, now: datetime, seconds: float) -> LastRun:
    """Store that katas took so many seconds more, on the day of `now`."""

    def changed() -> LastRun:
        old, day = read_last_run(root), now.astimezone().date()
        return replace(old, day=day.isoformat(), seconds=old.spent_on(day) + seconds)

    return _change(root / LAST, changed, dump_run)


def dump_run(run: LastRun) -> str:
    """Return a run as JSON."""
    return json.dumps(asdict(run), indent=2)


def read_counts(root: Path) -> dict[str, int]:
    """Return how many hints of each kata have been shown."""

    def parse(data: Any) -> dict[str, int]:
        return {str(kata): int(count) for kata, count in data.items()}

    return _read(root / HINTS, parse, {})


def change_count(root: Path, kata: str, change: Callable[[int], int]) -> int:
    """Replace how many hints of `kata` have been shown, and return it."""

    def changed() -> dict[str, int]:
        counts = read_counts(root)
        return {**counts, kata: change(counts.get(kata, 0))}

    def dump(counts: dict[str, int]) -> str:
        return json.dumps(counts, indent=2, sort_keys=True)

    return _change(root / HINTS, changed, dump)[kata]


@dataclass(frozen=True)
class Bookmark:
    """The kata that was shown last, or "", and those that were skipped, in that order."""

    shown: str = ""
    skipped: tuple[str, ...] = ()


def read_bookmark(root: Path) -> Bookmark:
    """Return which kata was shown last, and which were skipped."""

    def parse(data: Any) -> Bookmark:
        return Bookmark(str(data["shown"]), tuple(map(str, data["skipped"])))

    return _read(root / BOOKMARK, parse, Bookmark())


def change_bookmark(root: Path, change: Callable[[Bookmark], Bookmark]) -> Bookmark:
    """Replace the bookmark, and return the new one."""

    def dump(bookmark: Bookmark) -> str:
        return json.dumps(asdict(bookmark), indent=2)

    return _change(root / BOOKMARK, lambda: change(read_bookmark(root)), dump)


def _judged(root: Path, kata: Kata, found: Callable[[], Collection[str]]) -> Standing:
    """Return what is remembered about `kata` on a machine where these devices were found."""
    known = _read(standing_file(root, kata), Standing.from_data, Standing())
    # Of a kata that has not run there is nothing to leave out.
    return known.judged(kata.extra).without(found()) if known.results.tests else known


def _read(file: Path, parse: Callable[[Any], T], default: T) -> T:
    """Return what `parse` makes of the JSON in `file`, or the default if it is damaged."""
    try:
        return parse(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return default


def _change(file: Path, changed: Callable[[], T], dump: Callable[[T], str]) -> T:
    """Write `file` anew and return what it holds, or would hold if it could be written.

    `changed` reads the file and returns the new value. Under the lock this is one step: two
    terminals that change a file at once lose neither change.
    """
    new = changed()  # if it raises, no file is made
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with locked(file.with_suffix(".lock")):
            new = changed()
            write_whole(file, dump(new).encode(), file.parent)
    return new
