"""A mutant: the solution with one edit, and the key by which a person can name it."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.gate.answers import Equivalent


@dataclass(frozen=True)
class Mutant:
    """One edit of one file; ``nth`` counts those that no other part of the key tells apart."""

    file: str
    function: str
    operator: str
    line: int
    diff: str
    text: str
    nth: int = 1

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the mutant, however the lines around it move."""
        return self.file, self.function, self.operator, normal(self.diff)


def normal(diff: str) -> str:
    """Return the ``-`` and ``+`` lines of a diff without their indentation."""
    lines = [(line[0], line[1:].strip()) for line in diff.splitlines() if line.strip()]
    return "\n".join(f"{sign} {text}" for sign, text in lines)


def diff_of(old: str, new: str) -> str:
    """Return the changed lines only, the old ones first."""
    changes = list(difflib.ndiff(old.splitlines(), new.splitlines()))
    return "\n".join(
        sign + line[2:] for sign in "-+" for line in changes if line.startswith(f"{sign} ")
    )


def numbered(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Count the mutants that share a key."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    result = []
    for mutant in mutants:
        seen[mutant.key] += 1
        result.append(replace(mutant, nth=seen[mutant.key]))
    return result


def sampled(mutants: Iterable[Mutant], seed: str) -> list[Mutant]:
    """Return the mutants in a mixed order that an edit elsewhere in the file does not change."""

    def place(mutant: Mutant) -> bytes:
        return sha256(repr((seed, mutant.key, mutant.nth)).encode()).digest()

    return sorted(mutants, key=place)


def matches(mutant: Mutant, listed: Equivalent) -> bool:
    """Whether `listed` in the answers file speaks of this mutant."""
    key = (listed.file, listed.function, listed.operator, normal(listed.diff))
    return key == mutant.key and listed.nth in (0, mutant.nth)
