"""What a pull request is: practice, a contribution, or both; decisions, and no git."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal

from plugins.upstreams import is_stub


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
    "answers": re.compile(rf"tests/(?:wrong|right)/{LECTURE}/{KATA}[./].*"),
}
# What changes with the stub when a kata is changed for everybody.
WITH: set[Role] = {"tests", "solution"}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Change:
    """A file before and after; None: it is not there."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Judgement:
    """What the changes are.

    Attributes
    ----------
    filled
        The katas whose exercise is filled in, such as ``lecture02/k01_strides``.
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
    """Return what the changes are."""
    changes = sorted(changes, key=lambda change: change.path)
    places = [(change, part_of(change.path)) for change in changes]
    katas: dict[str, set[Role]] = {}
    for _, part in places:
        if part:
            katas.setdefault(part[0], set()).add(part[1])
    filled = [
        (change.path, part[0])
        for change, part in places
        if part and part[1] == "exercise" and fills_in(change, katas[part[0]])
    ]
    paths = {path for path, _ in filled}
    others = [(change.path, part) for change, part in places if change.path not in paths]
    # Who answers one exercise may have left a comment in another.
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
    """Return which kata a file belongs to, and which part of it that is."""
    for role, pattern in ROLES.items():
        if found := pattern.fullmatch(path):
            return f"{found['lecture']}/{found['kata']}", role
    return None


def fills_in(change: Change, roles: set[Role]) -> bool:
    """Whether an exercise is answered; `roles` are the parts of its kata that change.

    One that no longer says where to write is, whatever else changes. One that still does is a
    kata that is changed for everybody if its tests and its solution change with it.
    """
    if change.before is None or change.after is None or same_code(change):
        return False
    return not is_stub(change.after) or not roles >= WITH


def same_code(change: Change) -> bool:
    """Whether only the brief or comments differ."""
    versions = [(text or b"").decode(errors="replace") for text in (change.before, change.after)]
    if change.path.endswith(".py"):
        before, after = map(python_code, versions)
    else:
        before, after = (COMMENT.sub("", text).split() for text in versions)
    return before == after


def python_code(text: str) -> object:
    """Return what a module does, without its docstrings; its text, if it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del node.body[0]
    return ast.dump(tree)
