"""Checks a kata's wrong answers without running them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.tools.toml import TomlError
from tests.gate import sources
from tests.gate.answers import answers_file
from tests.gate.answers import read_answers
from tests.gate.brief_rules import misquoted
from tests.gate.cases import solution_text
from tests.gate.overlay import EditError
from tests.gate.overlay import edited


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.course.model import Kata
    from tests.gate.cases import Gate


LEAST = 3


def broken_answers(gate: Gate, kata: Kata) -> list[str]:
    """Return the problems of a kata's file of wrong answers, which may be missing."""
    file = answers_file(kata)
    named = gate.name_of(file)
    try:
        answers = read_answers(file)
    except TomlError as error:
        return [str(error)]
    lines = list(_count([answer.shortcut for answer in answers.wrong]))
    lines += misquoted(kata, answers)
    tests = sources.tests(kata.test)
    for number, answer in enumerate(answers.wrong, 1):
        if answer.rejected_by.partition("[")[0].rpartition("::")[2] not in tests:
            names = ", ".join(tests)
            lines.append(f"wrong {number}: rejected_by: expected a test of the kata: {names}")
        if "TODO" in answer.because:
            lines.append(f"wrong {number}: because still says TODO")
        if answer.by.startswith("TODO"):
            lines.append(f"wrong {number}: by still says TODO")
        try:
            edited(solution_text(kata, answer.file), answer)
        except FileNotFoundError:
            lines.append(
                f"wrong {number}: file = {answer.file!r} is not in {kata.lecture}/solutions"
            )
        except EditError as error:
            lines.append(f"wrong {number}: {error}")
    for number, listed in enumerate(answers.equivalent, 1):
        if "TODO" in listed.reason:
            lines.append(f"equivalent {number}: reason still says TODO")
    return [f"{named}: {line}" for line in lines]


def _count(shortcuts: list[bool]) -> Iterator[str]:
    if len(shortcuts) < LEAST:
        yield (
            f"expected at least {LEAST} [[wrong]] answers, found {len(shortcuts)}: add mistakes "
            f"that learners make"
        )
    if not any(shortcuts):
        yield "expected one [[wrong]] with shortcut = true: one that calls the library function"
