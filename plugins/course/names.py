"""Finds lectures and katas by the names that people type; no pytest, no torch."""

from __future__ import annotations

import textwrap
from difflib import SequenceMatcher
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.layout import Course
    from plugins.layout import Kata


WIDTH = 80
# Names in a message; no lecture has more katas.
MOST = 20


class UnknownNameError(ValueError):
    """No kata is called so; the message lists what exists, the nearest first."""


def katas_named(course: Course, name: str) -> list[Kata]:
    """Return the katas of a lecture, or the one that ``lecture04/k03_clamp`` or its path names.

    ``lecture04/k03`` is enough, and so is the path of the exercise or of the test module.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    plain = plain_name(name)
    lectures = {lecture.name: list(lecture.katas) for lecture in course.lectures}
    head, slash, rest = plain.partition("/")
    if not slash and head in lectures:
        return lectures[head]
    # A lone name may be that of a kata of any lecture.
    among = lectures.get(head) or [kata for katas in lectures.values() for kata in katas]
    wanted = rest if head in lectures else plain
    found = [kata for kata in among if wanted in {kata.name, kata.id, kata.name.partition("_")[0]}]
    if len(found) == 1:
        return found
    if head.startswith("lecture") and head not in lectures:
        raise UnknownNameError(unknown("lecture", head, lectures))
    if found:
        raise UnknownNameError(several(plain, found))
    raise UnknownNameError(unknown("kata", plain, [kata.id for kata in among]))


def plain_name(name: str) -> str:
    """Return ``lecture04/k03_clamp`` of that, or of the path of one of the kata's files."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in {"", "."}]
    starts = [place for place, part in enumerate(parts) if part.startswith("lecture")]
    parts = parts[starts[-1] if starts else 0 :]
    if len(parts) < 2:  # noqa: PLR2004 - a lecture and a file
        return "/".join(parts)
    file = parts[-1].partition("::")[0]
    return f"{parts[0]}/{file.partition('.')[0].removeprefix('test_')}"


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names, those that are spelled like `name` first."""
    return sorted(known, key=lambda each: -SequenceMatcher(None, name, each).ratio())


def several(name: str, katas: Iterable[Kata]) -> str:
    """Return that `name` is not enough."""
    names = ", ".join(kata.id for kata in katas)
    return textwrap.fill(f"{name!r} may be: {names}", WIDTH, subsequent_indent="  ")


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return that `name` is none of the known ones, and which these are."""
    names = nearest(name, known)
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    text = f"no {kind} is called {name!r}; there are: {', '.join(names[:MOST])}{more}"
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
