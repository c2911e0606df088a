"""Judges what a pull request is, practice, a contribution, or both, from its files alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal

from plugins.fork.stub_places import all_still_open
from plugins.fork.stub_places import same_code
from plugins.fork.upstream import is_stub


if TYPE_CHECKING:
    from collections.abc import Iterable


Verdict = Literal["nothing", "practice", "mixed", "contribution"]
Role = Literal["exercise", "tests", "solution", "answers"]

KATA = r"(?P<kata>k\d\d_[a-z0-9_]+)"
LECTURE = r"(?P<lecture>lecture\d\d)"
# Which part of a kata a path is.
ROLES: dict[Role, re.Pattern[str]] = {
    "exercise": re.compile(rf"katas/{LECTURE}/(?:csrc/)?{KATA}\.\w+"),
    "tests": re.compile(rf"katas/{LECTURE}/test_{KATA}\.py"),
    "solution": re.compile(rf"katas/{LECTURE}/solutions/(?:csrc/)?{KATA}\.\w+"),
    "answers": re.compile(rf"katas/{LECTURE}/\.meta/{KATA}/.*"),
}
# What changes with the stub when a kata is changed for everybody.
WITH: set[Role] = {"tests", "solution"}


@dataclass(frozen=True)
class Change:
    """A file before and after; None: no such file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Judgement:
    """What a pull request is.

    Attributes
    ----------
    filled
        The katas whose exercise is filled in, such as ``lecture02/k01_bytes``.
    katas
        All katas that are touched, and which parts of each.
    rest
        The paths that are no filled-in exercise.
    """

    verdict: Verdict
    filled: tuple[str, ...] = ()
    katas: tuple[tuple[str, tuple[Role, ...]], ...] = ()
    rest: tuple[str, ...] = ()


def judge(changes: Iterable[Change]) -> Judgement:
    """Return the verdict on the changes and the katas that they touch."""
    changes = sorted(changes, key=lambda change: change.path)
    parts = [(change, part_of(change.path)) for change in changes]
    katas: dict[str, set[Role]] = {}
    for _, part in parts:
        if part:
            katas.setdefault(part[0], set()).add(part[1])
    filled = [
        (change.path, part[0])
        for change, part in parts
        if part and part[1] == "exercise" and fills_in(change, katas[part[0]])
    ]
    paths = {path for path, _ in filled}
    others = [(change.path, part) for change, part in parts if change.path not in paths]
    # A learner who answers one exercise may have left a comment in another.
    only_exercises = all(part and part[1] == "exercise" for _, part in others)
    verdict: Verdict = "contribution" if changes else "nothing"
    if filled:
        verdict = "practice" if only_exercises else "mixed"
    return Judgement(
        verdict,
        tuple(dict.fromkeys(kata for _, kata in filled)),
        tuple((kata, tuple(role for role in ROLES if role in katas[kata])) for kata in katas),
        tuple(path for path, _ in others),
    )


def part_of(path: str) -> tuple[str, Role] | None:
    """Return the kata that a file belongs to and which part of it the file is."""
    for role, pattern in ROLES.items():
        if found := pattern.fullmatch(path):
            return f"{found['lecture']}/{found['kata']}", role
    return None


def fills_in(change: Change, roles: set[Role]) -> bool:
    """Whether an exercise is answered; `roles` are the parts of its kata that change.

    One that no longer says where to write is. One that still does is not if its tests and its
    solution change with it, for then the kata changes for everybody, or if every place is still
    to write. A file that was given, such as the operator around a kernel, has no place to fill in.
    """
    if change.before is None or change.after is None or not is_stub(change.before):
        return False
    before, after = (text.decode(errors="replace") for text in (change.before, change.after))
    python = change.path.endswith(".py")
    if same_code(before, after, python=python):
        return False
    if not is_stub(change.after):
        return True
    return not roles >= WITH and not all_still_open(before, after, python=python)
