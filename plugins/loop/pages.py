"""Shows what is longer than the screen of ``--watch`` from its beginning, with keys that page."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from plugins.loop.course_list import STEPS
from plugins.loop.screen import ScreenLine
from plugins.loop.screen import count_rows
from plugins.tools.text import COLOURS


if TYPE_CHECKING:
    from collections.abc import Sequence


PAGES = {" ": 1, "b": -1}
KEYS = "space on  b back  j down  k up  s close  q quit"
CLOSE = "s"


class Pages:
    """Lines, styled for a terminal of so many columns, of which a screen shows a part."""

    def __init__(self, lines: Sequence[str], columns: int) -> None:
        self.lines = lines
        self.rows = [count_rows([ScreenLine(COLOURS.sub("", line))], columns) for line in lines]
        # The first line that is shown.
        self.at = 0

    def fit(self, rows: int) -> bool:
        """Whether all lines fit into so many rows of the terminal."""
        return sum(self.rows) <= rows

    def end(self, rows: int) -> int:
        """Return the number of the line below those that `rows` rows show, at least one."""
        ends = accumulate(self.rows[self.at :])
        return self.at + max(sum(end <= rows for end in ends), 1)

    def last(self, rows: int) -> int:
        """Return the first line of the last page, which is as full as it can be."""
        ends = accumulate(reversed(self.rows))
        return len(self.lines) - max(sum(end <= rows for end in ends), 1)

    def move(self, key: str, rows: int) -> bool:
        """Go on or back by a page or a line, and return whether the key is one that does."""
        step = STEPS.get(key, PAGES.get(key, 0) * (self.end(rows) - self.at))
        self.at = min(max(self.at + step, 0), self.last(rows))
        return bool(step)

    def shown(self, rows: int) -> Sequence[str]:
        """Return the lines that `rows` rows show."""
        return self.lines[self.at : self.end(rows)]

    def place(self, rows: int) -> str:
        """Return which lines these are, and of how many."""
        return f"lines {self.at + 1} to {self.end(rows)} of {len(self.lines)}"
