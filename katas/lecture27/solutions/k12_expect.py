"""Accept the actual output as what a test expects, in its own source."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Iterable


class UnstableError(AssertionError):
    """An expectation got two different texts in one run; no literal can match both. Given."""


class Span(NamedTuple):
    """The position of an expression: lines count from 1, columns in UTF-8 bytes from 0."""

    first: int
    left: int
    last: int
    right: int


def literal_at(tree: ast.Module, line: int) -> Span:
    """Find the outermost call that starts on a line; return its last argument's span. Given."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    found = next(node for node in calls if node.lineno == line).args[-1]
    assert found.end_lineno is not None
    assert found.end_col_offset is not None
    return Span(found.lineno, found.col_offset, found.end_lineno, found.end_col_offset)


def literal(text: str) -> str:
    """Return a Python literal for `text`, in triple single quotes.

    A text with a newline keeps its lines: put a backslash after the opening quotes and start the
    text on the next line. Escape every backslash and every single quote. `text` has no carriage
    return, null character or surrogate.
    """
    inner = text.replace("\\", "\\\\").replace("'", "\\'")
    start = "\\\n" if "\n" in text else ""
    return f"'''{start}{inner}'''"


def accept(source: str, found: Iterable[tuple[int, str]]) -> str:
    """Return `source` with new literals, otherwise unchanged.

    `found` lists each failed expectation's line and actual text, in any order. A line may be
    repeated with the same text; raise `UnstableError` if its texts differ.
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
