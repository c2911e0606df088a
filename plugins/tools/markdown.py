"""Escapes text for Markdown, as running text or as code: no link, mention or HTML survives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plugins.tools.terminal import shorten_words
from plugins.tools.text import cut_printable
from plugins.tools.text import readable


if TYPE_CHECKING:
    from collections.abc import Iterable


# Characters of a table cell or a list entry; longer text is cut.
LONGEST = 160
# What Markdown or GitHub may interpret, and no more: the source is read too.
SPECIAL = re.compile(
    r"""[\\`*\[\]<>|~&@\#$]  # markup, HTML, a cell's end, a mention, an issue, a formula
    |(?<![^\W_])_|_(?![^\W_])  # emphasis, which is none within a word
    |:(?=//|[\w+-]+:)  # an address, a picture such as :tada:
    |(?<=www)\.|(?<=GH)-(?=\d)  # an address, an issue
    |\A[-+=]|\A\d+[.)](?=\s|\Z)  # a list, a heading, a rule""",
    re.VERBOSE | re.IGNORECASE,
)


def markdown_text(text: str, longest: int = LONGEST) -> str:
    """Return `text` as one line that Markdown shows unchanged."""
    line = shorten_words(" ".join(readable(text).split()), longest)
    # Entities: a mention or the number of an issue survives a backslash.
    return SPECIAL.sub(lambda found: f"{found[0][:-1]}&#{ord(found[0][-1])};", line)


def markdown_code(text: str, longest: int = LONGEST) -> str:
    """Return `text` as code on one line, in which Markdown interprets nothing."""
    text = cut_printable(text, longest)
    if not text:
        return ""
    marks = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    space = " " if "`" in text else ""
    return f"{marks}{space}{text}{space}{marks}"


def markdown_row(cells: Iterable[str]) -> str:
    """Return a row of a table.

    A bar would end its cell, in code too, unless one backslash stands before it (GFM 4.10).
    """
    escaped = (re.sub(r"\\(?=\|)", r"\\ ", cell).replace("|", r"\|") for cell in cells)
    return "".join(f"| {cell} " for cell in escaped) + "|"
