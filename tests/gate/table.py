"""The report of a gate run, and the tables of proofs: one row per kata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gate.ledger import ProofError
from tests.gate.ledger import proof_file
from tests.gate.ledger import read_proof


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence

    from plugins.course.model import Kata
    from tests.gate.ledger import Proof
    from tests.gate.prove import Row


HEAD = ("kata", "tests", "unsolved", "solved", "wrong", "right", "mutants", "repeats", "seconds")
PROOFS = ("kata", "tests", "wrong", "right", "mutants", "equivalent", "repeats", "blind", "proved")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as a Markdown table with aligned columns, legible in a terminal."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([text[0], rule, *text[1:]])


def report(rows: Sequence[Row], told: Collection[str] = ()) -> str:
    """Return survivors, then problems, then the table, so the verdict comes last.

    Of the katas in `told`, whose problems were shown already, the number of problems.
    """
    parts = []
    for row in rows:
        for mutant in row.survivors:
            place = f"{mutant.file}:{mutant.line} in {mutant.function or 'the module'}"
            parts.append(f"survivor  {row.kata}  {place}  ({mutant.operator})\n{mutant.diff}\n")
    for row in rows:
        lines = [f"{check}: {problem}" for check, problem in row.problems]
        if row.kata in told and lines:
            lines = [f"{len(lines)} {'problem' if len(lines) == 1 else 'problems'}, told above"]
        parts += [f"PROBLEM  {row.kata}  {line}\n" for line in lines]
    cells = [[row.kata, *(row.cells.get(name, "") for name in HEAD[1:])] for row in rows]
    return "\n".join([*parts, table(HEAD, cells)])


def proof_table(katas: Sequence[Kata]) -> str:
    """Return the table of the entries of these katas, and how long they took."""
    rows, seconds = [], 0
    for kata in katas:
        try:
            proof = read_proof(proof_file(kata))
        except (OSError, ProofError):
            rows.append([kata.id, *[""] * (len(PROOFS) - 1)])
        else:
            rows.append(_cells(proof))
            seconds += proof.seconds
    total = f"All runs of these proofs, one after the other, took {seconds} seconds."
    return f"{table(PROOFS, rows)}\n\n{total}"


def _cells(proof: Proof) -> list[str]:
    wrong, mutants = proof.wrong, proof.mutants
    sampled = mutants["tried"] + mutants["equivalent"] < mutants["possible"]
    return [
        proof.kata,
        str(proof.tests["all"]),
        f"{wrong['rejected']}/{wrong['listed']}",
        str(proof.right["accepted"] or ""),
        f"{mutants['killed']}/{mutants['tried']}"
        + (f" of {mutants['possible']}" if sampled else ""),
        str(mutants["equivalent"] or ""),
        f"{proof.repeats['passed']}/{proof.repeats['run']}",
        str(len(proof.blind) or ""),
        proof.proved,
    ]
