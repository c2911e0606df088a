"""A mutant: the solution with one edit, and the key that a maintainer lists it by."""

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
    """One edit of one file; ``nth`` numbers the mutants that share a key."""

    file: str
    function: str
    operator: str
    line: int
    diff: str
    text: str
    nth: int = 1

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The name of the mutant, which stays when the lines around it move."""
        return self.file, self.function, self.operator, normal(self.diff)


def normal(diff: str) -> str:
    """Return the ``-`` and ``+`` lines of a diff without their indentation."""
    lines = [(line[0], line[1:].strip()) for line in diff.splitlines() if line.strip()]
    return "\n".join(f"{sign} {text}" for sign, text in lines)


def diff_of(old: str, new: str) -> str:
    """Return the changed lines only, the old ones first."""
    before, after = old.splitlines(), new.splitlines()
    # difflib is slow, and nearly all lines are the same.
    head = _alike(before, after)
    before, after = before[head:], after[head:]
    tail = _alike(before[::-1], after[::-1])
    before, after = before[: len(before) - tail], after[: len(after) - tail]
    if len(before) == len(after) == 1:
        return f"-{before[0]}\n+{after[0]}"
    changes = list(difflib.ndiff(before, after))
    return "\n".join(
        sign + line[2:] for sign in "-+" for line in changes if line.startswith(f"{sign} ")
    )


def _alike(first: list[str], second: list[str]) -> int:
    """Return how many lines at the beginning are the same."""
    pairs = zip(first, second, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def numbered(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Number the mutants that share a key."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    result = []
    for mutant in mutants:
        seen[mutant.key] += 1
        result.append(replace(mutant, nth=seen[mutant.key]))
    return result


def sampled(mutants: Iterable[Mutant], seed: str) -> list[Mutant]:
    """Return the mutants in a shuffled order that edits elsewhere in the file do not change."""

    def place(mutant: Mutant) -> bytes:
        return sha256(repr((seed, mutant.key, mutant.nth)).encode()).digest()

    return sorted(mutants, key=place)


def matches(mutant: Mutant, listed: Equivalent) -> bool:
    """Whether the entry `listed` of the answers file names this mutant."""
    key = (listed.file, listed.function, listed.operator, normal(listed.diff))
    return key == mutant.key and listed.nth in (0, mutant.nth)
