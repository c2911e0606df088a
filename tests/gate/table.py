"""The table at the end of a run of the gate: one row per kata, survivors below it."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tests.gate.mutant import Mutant


MARKER = "<!-- verify -->"
HEAD = ("kata", "tests", "unsolved", "solved", "wrong", "right", "mutants", "repeats", "seconds")


@dataclass
class Row:
    """What the gate found about one kata; an empty cell was not asked for."""

    kata: str
    cells: dict[str, str] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)
    survivors: tuple[Mutant, ...] = ()

    def add(self, check: str, cell: str, problems: list[str]) -> None:
        """Fill one cell, and keep what is wrong under the name of the check."""
        self.cells[check] = cell
        self.problems += [(check, problem) for problem in problems]


def table(rows: list[Row], head: tuple[str, ...] = HEAD) -> str:
    """Return the rows as a Markdown table, aligned so that a terminal shows it well."""
    lines = [head, *((row.kata, *(row.cells.get(name, "") for name in head[1:])) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([text[0], rule, *text[1:]])


def merged(text: str, rows: list[Row]) -> str:
    """Return a page whose table, behind the marker, holds these rows and the others it had."""
    before, marker, after = text.partition(MARKER)
    known = {row.kata: row for row in map(_row, after.splitlines()) if "/" in row.kata}
    for row in rows:
        old = known.get(row.kata, row)
        known[row.kata] = Row(row.kata, {**old.cells, **row.cells})
    # The time a check took is the machine's affair.
    head = tuple(name for name in HEAD if name != "seconds")
    shown = table([known[kata] for kata in sorted(known)], head)
    return f"{before}{marker}\n\n{shown}\n"


def _row(line: str) -> Row:
    kata, *cells = [cell.strip() for cell in line.strip("|").split("|")]
    return Row(kata, {name: cell for name, cell in zip(HEAD[1:], cells, strict=False) if cell})


def report(rows: list[Row]) -> str:
    """Return survivors, then problems, then the table: the verdict is what is seen last."""
    parts = []
    for row in rows:
        for mutant in row.survivors:
            place = f"{mutant.file}:{mutant.line} in {mutant.function or 'the module'}"
            parts.append(f"survivor  {row.kata}  {place}  ({mutant.operator})\n{mutant.diff}\n")
    for row in rows:
        parts += [f"PROBLEM  {row.kata}  {check}: {problem}\n" for check, problem in row.problems]
    return "\n".join([*parts, table(rows)])
