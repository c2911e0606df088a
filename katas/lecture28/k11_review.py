"""Debug: review six pull requests, of which five have a fault.

They are ``reviews/pr1.diff`` to ``pr6.diff``, beside this file, and CI is green for each. One
fault hides behind a test that is off, one behind values that were accepted, one looks like
housekeeping:

    -      - run: python test/run.py
    +      - run: python test/run.py | tail -n 1

Find the line, and suggest a better one, as GitHub's button "Add a suggestion" does. One pull
request is right as it is: approve it. Six lines to find; one of the faults needs two. Turning the
test on is welcome, and not counted.

Begin with what the text promises. Which line keeps the promise, and which test would notice if it
did not?
Afterwards read ``assertExpectedInline``, which ``torch/testing/_internal/common_utils.py`` takes
from ``expecttest/__init__.py``, both in site-packages: what does accepting an output check?
"""

from __future__ import annotations

from typing import NamedTuple


class Suggestion(NamedTuple):
    """A line that a pull request adds to `path`, and what should stand there. Given.

    The indentation stays, so both are written without it.
    """

    path: str
    line: str
    better: str


def review(number: int) -> list[Suggestion]:
    """Return the suggestions for a pull request, 1 to 6; none means that you approve it.

    With them CI is green, and the fault is gone.
    """
    # TODO: one after the other; begin with the short ones, 2 and 4.
    raise NotImplementedError(f"review({number})")
