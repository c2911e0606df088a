"""The order in which katas are tried: ``--next``, ``--watch``, the map and the page agree on it.

Imports neither pytest nor torch.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from typing import TYPE_CHECKING

from plugins.course.names import restore_argument


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata


def core_path(katas: Sequence[Kata], named: Kata | None = None) -> list[Kata]:
    """Return those of the katas that are on the core path, and the one that was named.

    All of them if none is on it: then the command is about what is optional.
    """
    return [kata for kata in katas if kata.core or kata == named] or list(katas)


def lecture_path(course: Course, kata: Kata, katas: Iterable[Kata]) -> list[Kata]:
    """Return the core path of the lecture of `kata`, and what else of it is among `katas`."""
    ids = {each.id for each in katas}
    return [
        each
        for each in course.katas
        if each.lecture == kata.lecture and (each.core or each.id in ids)
    ]


def optional_left(katas: Iterable[Kata], path: Iterable[Kata], done: Collection[str]) -> list[Kata]:
    """Return those of `katas` that are beside the path, and not among the ids in `done`."""
    ids = {kata.id for kata in path}.union(done)
    return [kata for kata in katas if kata.id not in ids]


def ends_lecture(kata: Kata, left: Iterable[Kata]) -> bool:
    """Whether no kata is left of the lecture of `kata`."""
    return all(each.lecture != kata.lecture for each in left)


def offer_optional(
    optional: Sequence[Kata], course: Course, start: Path, *, watch: bool = False
) -> list[str]:
    """Return a line about these katas, if there are any: how many, and the command for them too.

    It is about their lecture, or about all lectures. `start` is where the learner types it.
    """
    if not optional:
        return []
    folders = sorted({kata.folder for kata in optional})
    folder = folders[0] if len(folders) == 1 else folders[0].parent
    name = restore_argument(course, start, str(folder))
    command = ["pytest", name, *(["--watch"] if watch else []), "--next", "--all"]
    more = "1 more is optional" if len(optional) == 1 else f"{len(optional)} more are optional"
    return [f"{more}: {shlex.join(command)}"]


def lecture_arguments(kata: Kata, course: Course, start: Path) -> list[str]:
    """Return the arguments with which pytest goes through the lecture of a kata, on each save."""
    return [restore_argument(course, start, str(kata.folder)), "--watch", "--next"]


def lecture_command(kata: Kata | None, course: Course, start: Path) -> str:
    """Return the command that goes through the lecture of a kata; none without a kata."""
    return shlex.join(["pytest", *lecture_arguments(kata, course, start)]) if kata else ""


def first_outside(
    course: Course, katas: Iterable[Kata], at: Kata, done: Callable[[Kata], bool]
) -> Kata | None:
    """Return the first kata of the course's core path that is not done, outside of their lectures.

    One of a lecture after that of `at` comes before those of earlier ones.
    """
    names = [lecture.name for lecture in course.lectures]
    here = {kata.lecture for kata in katas}
    later = names.index(at.lecture)
    order = [*names[later:], *names[:later]]
    others = [kata for kata in core_path(course.katas) if kata.lecture not in here]
    others.sort(key=lambda kata: order.index(kata.lecture))
    # What a kata's state is, its files say: they are read up to the first that is open.
    return next((kata for kata in others if not done(kata)), None)


def order_katas(
    katas: Iterable[Kata], skipped: Sequence[str], away: Collection[str] = ()
) -> list[Kata]:
    """Return the katas, none of which is solved, in the order in which to try them.

    Skipped katas come back at the end of their lecture, in the order in which they were skipped,
    and those that `skipped` names twice after all others. Each kata comes after those of `katas`
    that its ``after`` names. Nothing waits for those in `away`, which cannot run on this machine.
    """
    katas = list(katas)
    rank = {name: place for place, name in enumerate(skipped)}
    lectures = {lecture: n for n, lecture in enumerate(dict.fromkeys(k.lecture for k in katas))}

    def key(kata: Kata) -> tuple[bool, int, int]:
        last = skipped.count(kata.id) > 1
        return last, 0 if last else lectures[kata.lecture], rank.get(kata.id, -1)

    waiting = sorted(katas, key=key)
    left = {kata.id for kata in waiting}.difference(away)
    found: list[Kata] = []
    while waiting:
        # Of katas that wait for each other, the first goes first.
        kata = next((kata for kata in waiting if not blocking(kata, left)), waiting[0])
        waiting.remove(kata)
        left.discard(kata.id)
        found.append(kata)
    return found


def blocking(kata: Kata, left: Collection[str]) -> list[str]:
    """Return those of the katas that are left, by their ids, on which `kata` builds."""
    return [name for name in kata.builds_on if name in left]


def postpone(skipped: Sequence[str], kata: Kata, left: Iterable[Kata]) -> tuple[str, ...]:
    """Return the skipped katas with `kata` as the last one; `left` are those not solved.

    At the end of its lecture, where all that is left was skipped, it is named twice: the learner
    goes on to the next lecture.
    """
    left = list(left)
    own = [each.id for each in left if each.lecture == kata.lecture]
    once = (*(name for name in skipped if name != kata.id), kata.id)
    # What builds on it would wait for it.
    stays = order_katas(left, once)[0] == kata
    again = stays or all(name in skipped for name in own)
    return (*once, kata.id) if again else once


def passed_over(
    katas: Sequence[Kata], shown: str, away: Collection[str] = ()
) -> dict[str, list[Kata]]:
    """Return the katas before the one shown that wait, by the id of the kata they wait for.

    `katas` are those that are left, in teaching order. One waits for another if it builds on it,
    or on one that waits for it. Those in `away`, which cannot run on this machine, neither wait
    nor are waited for.
    """
    left = {kata.id for kata in katas}.difference(away)
    found: dict[str, list[Kata]] = defaultdict(list)
    root: dict[str, str] = {}
    for kata in katas:
        if kata.id == shown:
            break
        if kata.id in left and (names := blocking(kata, left)):
            root[kata.id] = root.get(names[0], names[0])
            found[root[kata.id]].append(kata)
    return dict(found)
