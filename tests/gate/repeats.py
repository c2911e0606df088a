"""Looks for flakes: repeats a solved kata, each time in another order with another seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gate import outcome


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.course.model import Kata
    from tests.gate.checks import Checks


# As many of `MOST` repeats as fit into so many processor seconds, and at least `LEAST`.
MOST = 20
LEAST = 5
SECONDS = 60


def times_of(checks: Checks, kata: Kata) -> int:
    """Return how often a kata is repeated: a slow one less often."""
    return max(LEAST, min(MOST, int(SECONDS / max(checks.solved_result(kata).cpu, 0.01))))


def repeats(
    checks: Checks, kata: Kata, times: int, progress: Callable[[int, int], None] | None = None
) -> list[str]:
    """Return a line for each repeat in which a test failed, with the seed that shows it."""
    solved = checks.solved_result(kata)
    cpu, wall = int(60 + 10 * solved.cpu), 300 + 40 * solved.cpu
    seeds = range(1, times + 1)
    runs = [checks.run_of(kata, shuffle=s, cpu_seconds=cpu, wall_seconds=wall) for s in seeds]
    found = []
    for done, (run, result) in enumerate(checks.runner.each(runs), 1):
        failed = "\n".join(f"{test.name}\n{test.message}" for test in result.failed)
        lines = outcome.ended(result) + ([failed] if failed else [])
        found += [f"seed {run.shuffle}: " + "\n".join(lines)] if lines else []
        if progress:
            progress(done, times)
    return found
