"""Debug: review six pull requests, five with a fault."""

from __future__ import annotations

from typing import NamedTuple


class Suggestion(NamedTuple):
    """A line that a pull request adds to `path`, and its replacement. Given."""

    path: str
    line: str
    better: str


def review(number: int) -> list[Suggestion]:
    """Return the suggestions for pull request 1 to 6; an empty list approves it."""
    kernels, tests = "tinytorch/kernels.py", "test/opinfo.py"
    step = "- run: python test/run.py"
    floor = "return [float(math.floor(x + 0.5)) for x in self]"
    accepted = "ROUNDED = {0.5: 1.0, 1.5: 2.0, 2.25: 2.0}"
    suggestions = {
        1: [Suggestion("tinytorch/derivatives.yaml", "other: grad", "other: neg(grad)")],
        2: [Suggestion(kernels, "result = self", "result = [*self]")],
        3: [
            Suggestion(kernels, floor, "return [float(round(x)) for x in self]"),
            Suggestion(tests, accepted, "ROUNDED = {0.5: 0.0, 1.5: 2.0, 2.25: 2.0}"),
        ],
        4: [Suggestion(".github/workflows/ci.yaml", f"{step} | tail -n 1", step)],
        5: [Suggestion(kernels, "return self", "return self if other == 1 else other")],
    }
    return suggestions.get(number, [])
