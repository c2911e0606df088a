"""Reads a kata's wrong answers and equivalent mutants: ``.meta/kNN_name/wrong.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.course.lectures import torch_need
from plugins.tools.toml import read_toml


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Kata
    from plugins.course.model import TorchNeed
    from plugins.tools.toml import TomlTable


@dataclass(frozen=True)
class Wrong:
    """An edit of the solution that one named test must reject."""

    because: str
    rejected_by: str
    file: str
    shortcut: bool = False
    replace: str = ""
    by: str = ""
    function: str = ""
    body: str = ""
    # What of the brief or of a docstring it breaks, quoted.
    breaks: tuple[str, ...] = ()
    torch: TorchNeed | None = None


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can kill, and why."""

    file: str
    function: str
    operator: str
    diff: str
    reason: str
    nth: int = 0


@dataclass(frozen=True)
class Answers:
    """The contents of a kata's file of answers."""

    wrong: tuple[Wrong, ...]
    equivalent: tuple[Equivalent, ...]


def answers_file(kata: Kata) -> Path:
    """Return the path of a kata's wrong answers."""
    return kata.meta / "wrong.toml"


def read_answers(file: Path) -> Answers:
    """Read wrong answers and equivalent mutants; raises TomlError on a bad file."""
    table = read_toml(file)
    wrong = tuple(_wrong(entry) for entry in table.tables("wrong", ()))
    equivalent = tuple(_equivalent(entry) for entry in table.tables("equivalent", ()))
    table.refuse_others()
    return Answers(wrong, equivalent)


def _text(entry: TomlTable, key: str) -> str:
    text: str = entry.get(key, str, "a string", "")
    return text


def _wrong(entry: TomlTable) -> Wrong:
    answer = Wrong(
        because=entry.string("because"),
        rejected_by=entry.string("rejected_by"),
        file=entry.string("file"),
        shortcut=entry.get("shortcut", bool, "true or false", False),
        replace=_text(entry, "replace"),
        by=_text(entry, "by"),
        function=_text(entry, "function"),
        body=_text(entry, "body"),
        breaks=entry.strings("breaks", ()),
        torch=torch_need(entry),
    )
    entry.refuse_others()
    if bool(answer.replace) == bool(answer.function):
        raise entry.error("replace", "expected either replace and by, or function and body")
    if answer.function and not answer.body.strip():
        raise entry.error("body", "expected the function's whole new body")
    return answer


def _equivalent(entry: TomlTable) -> Equivalent:
    listed = Equivalent(
        file=entry.string("file"),
        function=_text(entry, "function"),
        operator=entry.string("operator"),
        diff=entry.string("diff"),
        reason=entry.string("reason"),
        nth=entry.get("nth", int, "a number", 0),
    )
    entry.refuse_others()
    return listed
