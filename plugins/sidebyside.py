"""Two texts side by side, line by line, in as many columns as there are: no pytest, no torch."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from itertools import zip_longest
from typing import TYPE_CHECKING
from typing import Literal


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence


TAB = 4
NARROWEST = 20
# How much further to the right a broken line goes on.
HANGING = 2
# Equal, changed, only on the left, only on the right; as sdiff marks them.
Mark = Literal[" ", "|", "<", ">"]
BETWEEN = 3
# The East Asian widths that take two columns.
WIDE = {"W", "F"}
COMBINING = {"Mn", "Me", "Cf"}


@dataclass(frozen=True)
class Row:
    """A line of the terminal: two cells and the mark between them."""

    left: str
    mark: Mark
    right: str

    @property
    def text(self) -> str:
        """The whole line."""
        return f"{self.left} {self.mark} {self.right}".rstrip()


def side_by_side(left: str, right: str, width: int) -> Iterator[Row]:
    """Return the lines of both texts next to each other, wrapped to `width` columns."""
    cell = max((width - BETWEEN) // 2, NARROWEST)
    for mine, mark, other in paired(lines_of(left), lines_of(right)):
        for one, two in zip_longest(cells(mine, cell), cells(other, cell), fillvalue=" " * cell):
            yield Row(one, mark, two)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, without what a terminal would act on."""
    lines = text.expandtabs(TAB).splitlines()
    return [
        "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in s) for s in lines
    ]


def paired(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, Mark, str]]:
    """Return the lines that belong together; blanks at the end make no difference."""
    mine, other = ([line.rstrip() for line in lines] for lines in (left, right))
    matcher = SequenceMatcher(None, mine, other, autojunk=False)
    for _, begin, end, start, stop in matcher.get_opcodes():
        both = zip_longest(left[begin:end], right[start:stop])
        for one, two in both:
            if one is None or two is None:
                yield one or "", "<" if two is None else ">", two or ""
            else:
                yield one, " " if one.rstrip() == two.rstrip() else "|", two


def cells(line: str, width: int) -> list[str]:
    """Return `line` in pieces that are all of the same width; what is broken is indented."""
    line = line.rstrip()
    own = len(line) - len(line.lstrip())
    indent = " " * min(own + HANGING, width // 2)
    pieces: list[str] = []
    rest, begun = line, own
    while (end := fitting(rest, width)) < len(rest):
        # At a blank if there is one in the code.
        blank = rest.rfind(" ", begun, end + 1)
        end = blank if blank > begun else end
        pieces.append(rest[:end].rstrip())
        rest, begun = indent + rest[end:].lstrip(), len(indent)
    return [piece + " " * (width - sum(map(columns_of, piece))) for piece in (*pieces, rest)]


def fitting(text: str, width: int) -> int:
    """Return how many characters of a text fit."""
    for place, used in enumerate(accumulate(map(columns_of, text))):
        if used > width:
            return place
    return len(text)


def columns_of(character: str) -> int:
    """Return how many columns of a terminal a character takes."""
    if unicodedata.category(character) in COMBINING:
        return 0
    return 2 if unicodedata.east_asian_width(character) in WIDE else 1
