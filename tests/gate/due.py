"""Chooses the katas to prove: those that are due, those that a branch changes, or a sample."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from plugins.tools.git import GitError
from plugins.tools.git import Repo
from tests.gate.ledger import FOLDER
from tests.gate.ledger import ProofError
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
    folder = f"tests/{FOLDER}"
    changed = repo.run("diff", "--name-only", "-z", ancestor, "--", folder).decode().split("\0")
    new = repo.run("ls-files", "--others", "-z", "--", folder).decode().split("\0")
    names = {*changed, *new}
    return [
        kata
        for kata in katas
        if proof_file(gate, kata).relative_to(gate.root).as_posix() in names
        or proof_problems(gate, kata)
    ]


def sample(
    gate: Gate, katas: Sequence[Kata], seconds: float, seed: int
) -> tuple[list[Kata], list[Kata]]:
    """Return the katas to prove again within so much work, and the others.

    Half of the work goes to the entries that the youngest commits have written, since nobody but
    their author may have seen them yet; the other half to random ones, so that none is safe.
    """
    order = list(katas)
    random.Random(seed).shuffle(order)  # noqa: S311 - no secret
    young = youngest(gate, order)
    chosen: list[Kata] = []
    for candidates, share in ((young, seconds / 2), (order, seconds)):
        for kata in candidates:
            used = sum(seconds_of(gate, each) for each in chosen)
            if kata not in chosen and used + seconds_of(gate, kata) <= share:
                chosen.append(kata)
            elif kata not in chosen and candidates is young:
                break
    return chosen, [kata for kata in katas if kata not in chosen]


def youngest(gate: Gate, katas: Iterable[Kata]) -> list[Kata]:
    """Return the katas, those first whose entry was committed last; without git, as they come."""
    folder = f"tests/{FOLDER}"
    try:
        repo = Repo(gate.root)
        status = repo.run("status", "--porcelain", "-uall", "--", folder).decode()
        log = repo.run("log", "--format=%x00", "--name-only", "--no-renames", "--", folder).decode()
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
        return ages.get(proof_file(gate, kata).relative_to(gate.root).as_posix(), oldest)

    return sorted(katas, key=age_of)


def seconds_of(gate: Gate, kata: Kata) -> float:
    """Return how long the proof of a kata took, or may take."""
    try:
        return max(1, read_proof(proof_file(gate, kata)).seconds)
    except (OSError, ProofError):
        return UNKNOWN
