"""Debug: review six pull requests, five with a fault.

They are ``reviews/pr1.diff`` to ``pr6.diff``, next to this file, and CI is green for each. One
fault hides behind a disabled test, one behind accepted values, one looks like housekeeping:

    -      - run: python test/run.py
    +      - run: python test/run.py | tail -n 1

Find the line, and suggest a better one, as with GitHub's button "Add a suggestion". One pull
request is right: approve it. There are six lines to find; one fault needs two. Enabling the test is
welcome but not counted.

Begin with what the description promises. Which line keeps the promise, and which test would notice
if it did not?
Afterwards read ``assertExpectedInline``, which ``torch/testing/_internal/common_utils.py`` takes
from ``expecttest/__init__.py``, both in site-packages: what does accepting an output check?
"""

from __future__ import annotations

from typing import NamedTuple


class Suggestion(NamedTuple):
    """A line that a pull request adds to `path`, and its replacement. Given.

    Write both without the indentation, which stays the same.
    """

    path: str
    line: str
    better: str


def review(number: int) -> list[Suggestion]:
    """Return the suggestions for pull request 1 to 6; an empty list approves it.

    With your suggestions, CI is green and the fault is gone.
    """
    # TODO: one at a time; begin with the short ones, 2 and 4.
    raise NotImplementedError(f"review({number})")
