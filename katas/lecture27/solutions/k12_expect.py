"""Accept the actual output as what a test expects, in its own source."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Iterable


class UnstableError(AssertionError):
    """An expectation has had two texts in one run: no literal can hold both. Given."""


class Span(NamedTuple):
    """Where an expression stands: lines from 1 on, columns in bytes of UTF-8 from 0 on."""

    first: int
    left: int
    last: int
    right: int


def literal_at(tree: ast.Module, line: int) -> Span:
    """Return where the last argument of the outermost call stands that begins in a line. Given."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    found = next(node for node in calls if node.lineno == line).args[-1]
    assert found.end_lineno is not None
    assert found.end_col_offset is not None
    return Span(found.lineno, found.col_offset, found.end_lineno, found.end_col_offset)


def literal(text: str) -> str:
    """Return Python source in three single quotes a side that stands for `text`.

    A text with a newline keeps its lines, and its first line begins below the quotes, which a
    backslash follows. Each backslash and each single quote of the text is escaped. `text` has no
    carriage return, null character or surrogate.
    """
    inner = text.replace("\\", "\\\\").replace("'", "\\'")
    start = "\\\n" if "\n" in text else ""
    return f"'''{start}{inner}'''"


def accept(source: str, found: Iterable[tuple[int, str]]) -> str:
    """Return `source` with new literals, and not a byte changed outside of them.

    `found` has the line of each expectation that has failed, in any order, with the actual text. A
    line may come again with its text; with another one it raises `UnstableError`.
    """
    pairs = set(found)
    if len(dict(pairs)) < len(pairs):
        raise UnstableError("two texts for one line")
    tree, lines = ast.parse(source), source.encode().split(b"\n")
    # From the last literal to the first: a call may begin above one that is in it, and end below.
    spans = [(literal_at(tree, line), text) for line, text in pairs]
    for (first, left, last, right), text in sorted(spans, reverse=True):
        new = lines[first - 1][:left] + literal(text).encode() + lines[last - 1][right:]
        lines[first - 1 : last] = [new]
    return b"\n".join(lines).decode()
