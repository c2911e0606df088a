"""Looks for flakes: a lecture's solved run again and again, in another order, other seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gate import outcome
from tests.gate.protocol import Run


if TYPE_CHECKING:
    from plugins.layout import Kata
    from tests.gate.checks import Checks


def repeats(checks: Checks, katas: tuple[Kata, ...], times: int) -> dict[str, list[str]]:
    """Return for each kata a line per repeat in which one of its tests failed."""
    root = checks.gate.root
    paths = {kata.test.relative_to(root).as_posix(): kata for kata in katas}
    limit = sum(checks.solved_result(kata).cpu for kata in katas)
    runs = [
        Run(
            root=str(root),
            tests=tuple(paths),
            solutions=True,
            shuffle=seed,
            cpu_seconds=int(60 + 10 * limit),
            wall_seconds=300 + 40 * limit,
        )
        for seed in range(1, times + 1)
    ]
    found: dict[str, list[str]] = {kata.id: [] for kata in katas}
    for run, result in checks.runner.each(runs):
        again = f"seed {run.shuffle}"
        for line in outcome.ended(result):
            # Nobody knows whose fault it is.
            for lines in found.values():
                lines.append(f"{again}: {line}")
        for path, kata in paths.items():
            failed = [test for test in result.failed if test.module == path]
            if failed:
                shown = "\n".join(f"{test.name}\n{test.message}" for test in failed)
                found[kata.id].append(f"{again}: {shown}")
    return found
