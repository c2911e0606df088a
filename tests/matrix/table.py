"""Writes the page ``tests/MATRIX.md`` from the results of a tour."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from tests.matrix.results import Result
    from tests.matrix.versions import Version

    Find = Callable[[str, str, str], Result | None]


HEAD = """\
# The torch matrix

`nox -s matrix` wrote this page, from every lecture with every version of torch in `pyproject.toml`.
Solved, every test passes; unsolved, every test is red for the right reason, unless it is given.

| torch | lecture | solved | unsolved | skipped | seconds |
| --- | --- | --- | --- | --- | --- |
"""
NOT_RUN = "not run"
# The parts of a reason that differ between machines or days: paths, builds of torch.
PARTICULAR = re.compile(r" \(\S*\d\S*\)|\+(cpu|cu\d+)\b")


def page(versions: Sequence[Version], lectures: Sequence[str], find: Find) -> str:
    """Return the page; `find` returns the result for a version, a lecture and a mode."""
    parts = [HEAD]
    reasons: dict[str, dict[str, int]] = {}
    failures: list[str] = []
    builds: list[str] = []
    for version in versions:
        results = {
            (lecture, mode): result
            for lecture in lectures
            for mode in ("solved", "unsolved")
            if (result := find(version.name, lecture, mode))
        }
        parts += [row(version.number, lecture, results) + "\n" for lecture in lectures]
        builds += [f"- {line}\n" for line in sorted({run_of(it) for it in results.values()})]
        for (lecture, mode), result in results.items():
            failures += [f"- {version.number}, {lecture}, {mode}: `{it}`\n" for it in result.failed]
            if mode == "solved":
                for reason, number in result.absent:
                    counts = reasons.setdefault(PARTICULAR.sub("", reason), {})
                    counts[version.number] = counts.get(version.number, 0) + number
    parts += ["\n## The runs\n\n", *builds]
    if failures:
        parts += ["\n## Not as expected\n\n", *failures]
    if reasons:
        parts += ["\n## Not run there\n\n", *skips(reasons)]
    return "".join(parts)


def row(number: str, lecture: str, results: Mapping[tuple[str, str], Result]) -> str:
    """Return the line of one version and one lecture."""
    solved, unsolved = (results.get((lecture, mode)) for mode in ("solved", "unsolved"))
    both = [result for result in (solved, unsolved) if result]
    skipped = " / ".join(dict.fromkeys(str(result.skipped) for result in both)) or NOT_RUN
    seconds = f"{sum(result.seconds for result in both):.0f}" if both else NOT_RUN
    cells = [number, lecture, cell(solved), cell(unsolved), skipped, seconds]
    return f"| {' | '.join(cells)} |"


def cell(result: Result | None) -> str:
    """Return the numbers of tests by outcome, without the skipped ones."""
    if result is None:
        return NOT_RUN
    counts = {
        "red": result.red,
        "given" if result.red else "passed": result.passed,
        "**failed**": len(result.failed),
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "0 passed"


def run_of(result: Result) -> str:
    """Return the versions and the date of a run."""
    return f"torch {result.torch}, Python {result.python}, {result.date}"


def skips(reasons: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield a line for each reason, with the number of tests by version of torch."""
    for reason, counts in sorted(reasons.items()):
        versions: dict[int, list[str]] = {}
        for version, count in counts.items():
            versions.setdefault(count, []).append(version)
        parts = [f"{tests(count)} with {', '.join(known)}" for count, known in versions.items()]
        yield f"- {reason}: {'; '.join(parts)}\n"


def tests(count: int) -> str:
    """Return a number of tests in words."""
    return "1 test" if count == 1 else f"{count} tests"
