"""Sets two texts side by side, line by line, in as many columns as the terminal has."""

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


# Equal, changed, only on the left, only on the right: the marks of sdiff.
Mark = Literal[" ", "|", "<", ">"]
TAB = 4
# Columns: of the narrowest cell, of the mark with its blanks, and of the indent of a wrapped line.
NARROWEST = 20
BETWEEN = 3
HANGING = 2
# The East Asian widths that take two columns, and the categories that take none.
WIDE = {"W", "F"}
COMBINING = {"Mn", "Me", "Cf"}
# Where code without a blank may be divided: after one of these.
JOINTS = "([{,.=)"


@dataclass(frozen=True)
class Row:
    """A line of the terminal: two cells, and the mark between them."""

    left: str
    mark: Mark
    right: str

    @property
    def text(self) -> str:
        """The whole line."""
        return f"{self.left} {self.mark} {self.right}".rstrip()


def side_by_side(left: str, right: str, width: int) -> Iterator[Row]:
    """Return both texts as rows of `width` columns, with wrapped lines."""
    cell = max((width - BETWEEN) // 2, NARROWEST)
    for mine, mark, other in pair_lines(printable_lines(left), printable_lines(right)):
        for one, two in zip_longest(
            wrap_cell(mine, cell), wrap_cell(other, cell), fillvalue=" " * cell
        ):
            yield Row(one, mark, two)


def printable_lines(text: str) -> list[str]:
    """Return the lines of a text, with a mark for each character that a terminal acts on."""
    lines = text.expandtabs(TAB).splitlines()
    return [
        "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in s) for s in lines
    ]


def pair_lines(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, Mark, str]]:
    """Return the lines that belong together; trailing blanks make no difference."""
    mine, other = ([line.rstrip() for line in lines] for lines in (left, right))
    matcher = SequenceMatcher(None, mine, other, autojunk=False)
    for _, begin, end, start, stop in matcher.get_opcodes():
        both = zip_longest(left[begin:end], right[start:stop])
        for one, two in both:
            if one is None or two is None:
                yield one or "", "<" if two is None else ">", two or ""
            else:
                yield one, " " if one.rstrip() == two.rstrip() else "|", two


def wrap_cell(line: str, width: int) -> list[str]:
    """Return `line` in pieces of `width` columns; the second and later pieces are indented."""
    line = line.rstrip()
    own = len(line) - len(line.lstrip())
    indent = " " * min(own + HANGING, width // 2)
    pieces: list[str] = []
    rest, begun = line, own
    while (end := count_fitting(rest, width)) < len(rest):
        # Break at a blank if there is one after the indent, or else where no name is divided.
        blank = rest.rfind(" ", begun, end + 1)
        joint = max(rest.rfind(each, begun, end) for each in JOINTS) + 1
        end = next((place for place in (blank, joint) if place > begun), end)
        pieces.append(rest[:end].rstrip())
        rest, begun = indent + rest[end:].lstrip(), len(indent)
    return [piece + " " * (width - sum(map(count_columns, piece))) for piece in (*pieces, rest)]


def count_fitting(text: str, width: int) -> int:
    """Return how many characters of a text fit into `width` columns."""
    for place, used in enumerate(accumulate(map(count_columns, text))):
        if used > width:
            return place
    return len(text)


def count_columns(character: str) -> int:
    """Return how many columns of a terminal a character takes."""
    if unicodedata.category(character) in COMBINING:
        return 0
    return 2 if unicodedata.east_asian_width(character) in WIDE else 1
