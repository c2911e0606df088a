"""Finds statements of CUDA C++ that share or span lines: the simulator counts by statement.

A statement that reads an address twice counts once (``plugins/cuda/csrc/README.md``), and the
binary says of a load only at which line and column it is.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from plugins.tools.cxx import TOKEN
from plugins.tools.cxx import code_of
from plugins.tools.cxx import line_number
from plugins.tools.cxx import without_directives


if TYPE_CHECKING:
    from collections.abc import Iterator


# What has a head in brackets, and is a statement of its own.
HEADS = ("if", "for", "while", "switch", "catch", "constexpr")
# What stands before braces that hold statements.
BEFORE = (")", ":", "else", "do", "try", "const", "noexcept", "mutable", "override", "final")
# What begins a declaration whose braces hold declarations.
CLASSES = ("struct", "class", "union", "enum", "namespace", "extern", "template")


# The line and the column, in bytes, from 1.
Place = tuple[int, int]


def statement_spans(text: str) -> list[tuple[Place, Place]]:
    """Return the first and the last place of each statement that shares a line or has several.

    The heads of loops and branches are statements too.
    """
    found = parts(without_directives(code_of(text)))
    spans = [(_place(text, first), _place(text, last - 1)) for first, last in found]
    lines = Counter(line for (first, _), (last, _) in spans for line in range(first, last + 1))
    return [(first, last) for first, last in spans if first[0] < last[0] or lines[first[0]] > 1]


def _place(text: str, position: int) -> Place:
    column = len(text[text.rfind("\n", 0, position) + 1 : position].encode()) + 1
    return line_number(text, position), column


def parts(code: str) -> Iterator[tuple[int, int]]:
    """Yield where the statements of `code` begin and end, without comments and directives."""
    # Of each open bracket: what it is, and whether it opens statements or the head of one.
    opened: list[tuple[str, bool]] = []
    words: list[str] = []
    start = end = 0
    for token in TOKEN.finditer(code):
        word = token[0]
        if not words:
            start = token.start()
        words.append(word)
        last, done = end, False
        end = token.end()
        if word in "([{":
            done = word == "{" and _holds_statements(words[:-1])
            opened.append((word, done or (word == "(" and _is_head(words[:-1]))))
            # The brace is no part of what stands before it.
            end = last if done else end
        elif word in ")]}":
            bracket, own = opened.pop() if opened else ("", False)
            done = own or (bracket == "{" and words == ["}"])
        elif word == ";":
            # Not in the head of a loop. Braces in which one stands hold statements.
            done = not opened or opened[-1][0] != "("
            if done and opened:
                opened[-1] = (opened[-1][0], True)
        if done:
            if len(words) > 1 or word == ";":
                yield start, end
            words = []


def _holds_statements(words: list[str]) -> bool:
    """Whether braces after these words hold statements, and no values."""
    first = next((word for word in words if word in CLASSES), "")
    return not words or words[-1] in BEFORE or (first in words[:2] and "=" not in words)


def _is_head(words: list[str]) -> bool:
    return bool(words) and words[-1] in HEADS
