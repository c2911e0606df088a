"""Debug: review six pull requests, of which five have a fault: other words."""

from __future__ import annotations

from typing import NamedTuple


class Suggestion(NamedTuple):
    """A line that a pull request adds to `path`, and what should stand there. Given."""

    path: str
    line: str
    better: str


def review(number: int) -> list[Suggestion]:
    """Return the suggestions for a pull request, 1 to 6; none means that you approve it."""
    kernels, tests = "tinytorch/kernels.py", "test/opinfo.py"
    step = "- run: python test/run.py"
    floor = "return [float(math.floor(x + 0.5)) for x in self]"
    accepted = "ROUNDED = {0.5: 1.0, 1.5: 2.0, 2.25: 2.0}"
    slow, quick = "supports_autograd=False,", "supports_autograd=True,"
    suggestions = {
        1: [
            Suggestion("tinytorch/derivatives.yaml", "other: grad", 'other: "[-g for g in grad]"'),
            Suggestion(tests, slow, quick),
        ],
        2: [
            Suggestion(
                kernels, "result[place] = -x", "result = [*result[:place], -x, *self[place + 1:]]"
            )
        ],
        3: [
            Suggestion(
                kernels, floor, "return [math.floor(x + 0.5) - (x % 2 == 0.5) for x in self]"
            ),
            Suggestion(tests, accepted, "ROUNDED = {x: float(round(x)) for x in (0.5, 1.5, 2.25)}"),
        ],
        4: [
            Suggestion(
                ".github/workflows/ci.yaml",
                f"{step} | tail -n 1",
                f"{step} | tail -n 1\n        shell: bash",
            )
        ],
        5: [Suggestion(kernels, "return self", "return other if self == 1 else self")],
    }
    return suggestions.get(number, [])
