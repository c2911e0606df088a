"""Chooses the katas to prove: those that are due, aged or changed by a branch, or a sample."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import TYPE_CHECKING

from plugins.tools.git import GitError
from plugins.tools.git import Repo
from tests.gate.ledger import ENTRIES
from tests.gate.ledger import ProofError
from tests.gate.ledger import is_aged
from tests.gate.ledger import proof_file
from tests.gate.ledger import proof_problems
from tests.gate.ledger import read_proof


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from plugins.course.model import Kata
    from tests.gate.cases import Gate


# How long the proof of a kata without an entry may take, in seconds.
UNKNOWN = 120
# No more is planned for one, whatever its entry says.
LONGEST_PLANNED = 1800

# The entries that a change has written: one that is only moved is as old as before.
WRITTEN = ("--name-only", "-M100%", "--diff-filter=AMD")


def due(gate: Gate, katas: Iterable[Kata]) -> list[Kata]:
    """Return the katas whose entry is missing, stale or unsound."""
    return [kata for kata in katas if proof_problems(gate, kata)]


def differing(gate: Gate, katas: Iterable[Kata], base: str) -> list[Kata]:
    """Return the katas whose entry is not that of the merge base with `base`, or is due.

    Raises
    ------
    GitError
        If git does not know `base`, or has no history in common with it.
    """
    repo = Repo(gate.root)
    ancestor = repo.run("merge-base", base, "HEAD").decode().strip()
    changed = repo.run("diff", *WRITTEN, "-z", ancestor, "--", ENTRIES).decode().split("\0")
    new = repo.run("ls-files", "--others", "-z", "--", ENTRIES).decode().split("\0")
    names = {*changed, *new}
    return [
        kata
        for kata in katas
        if gate.name_of(proof_file(kata)) in names or proof_problems(gate, kata)
    ]


def sample(
    gate: Gate, katas: Sequence[Kata], seconds: float, seed: int, longest: float
) -> tuple[list[Kata], list[Kata]]:
    """Return the katas to prove again within so much work, and the others.

    Half of the work goes to the entries that the youngest commits have written, since nobody but
    their author may have seen them yet; the other half to those that an older engine has made, the
    oldest first, and then to random ones, so that none is safe. The youngest of all comes first
    whatever it costs. No other is chosen that takes longer than `longest`, since it would not be
    begun.
    """
    order = list(katas)
    random.Random(seed).shuffle(order)  # noqa: S311 - no secret
    never = too_long(order, longest)
    order = [kata for kata in order if kata not in never]
    chosen = youngest(gate, [*order, *never])[:1]
    young = youngest(gate, order)
    rest = dict.fromkeys([*aged(order), *order])
    for candidates, share in ((young, seconds / 2), (rest, seconds)):
        for kata in candidates:
            used = sum(seconds_of(each) for each in chosen)
            if kata not in chosen and used + seconds_of(kata) <= share:
                chosen.append(kata)
    return chosen, [kata for kata in katas if kata not in chosen]


def aged(katas: Iterable[Kata]) -> list[Kata]:
    """Return the katas whose entry an older engine has made, the oldest first."""
    days = {}
    for kata in katas:
        # One that cannot be read is due.
        with suppress(OSError, ProofError):
            proof = read_proof(proof_file(kata))
            if is_aged(proof):
                days[kata] = proof.proved
    return sorted(days, key=days.__getitem__)


def too_long(katas: Iterable[Kata], longest: float) -> list[Kata]:
    """Return the katas whose proof takes longer than a run may take."""
    return [kata for kata in katas if seconds_of(kata) > longest]


def youngest(gate: Gate, katas: Iterable[Kata]) -> list[Kata]:
    """Return the katas, those first whose entry was committed last; without git, as they come."""
    try:
        repo = Repo(gate.root)
        status = repo.run("status", "--porcelain", "-uall", "--", ENTRIES).decode()
        log = repo.run("log", "--format=%x00", *WRITTEN, "--", ENTRIES).decode()
    except (GitError, OSError):
        return list(katas)
    # What is not committed yet is the youngest; a commit's entries are of one age.
    commits = ["\n".join(line[3:] for line in status.splitlines()), *log.split("\0")]
    ages: dict[str, int] = {}
    for age, names in enumerate(commits):
        for name in names.split("\n"):
            ages.setdefault(name, age)
    oldest = len(commits)

    def age_of(kata: Kata) -> int:
        return ages.get(gate.name_of(proof_file(kata)), oldest)

    return sorted(katas, key=age_of)


def seconds_of(kata: Kata) -> float:
    """Return how long the proof of a kata took, or may take: at least a second, and no day.

    Of an entry that is broken otherwise, too: its kata is due.
    """
    try:
        seconds = json.loads(proof_file(kata).read_text(encoding="utf-8"))["seconds"]
    except (OSError, ValueError, LookupError, TypeError):
        return UNKNOWN
    return min(max(1, seconds), LONGEST_PLANNED) if type(seconds) is int else UNKNOWN
