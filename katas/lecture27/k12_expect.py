r"""Accept the actual output as a test's expectation, in the test's own source.

You change a compiler pass, and with it a line in the expected graphs of ninety tests. You edit none
of them by hand: run with EXPECTTEST_ACCEPT=1, and the tests rewrite themselves; you review the
diff.

    7   expect(graph(f), '''\          7   expect(graph(f), '''\
    8   relu                           8   add
    9   ''')                           9   relu
                                      10   ''')
              actual  "add\nrelu\n"

Write two functions, about 18 lines.

- `literal`: a text as a triple-quoted string.
- `accept`: put new literals into the source, each in the call that begins at its line.

Line numbers refer to the source before any change. A new literal with more lines than the old one
shifts everything below it: from which end do you begin?

Begin on paper: how do you write a text that ends in a quote between triple quotes?
Afterwards follow `assertExpectedInline` from ``torch/testing/_internal/common_utils.py`` into
``expecttest/__init__.py``, in site-packages: why may `EditHistory` begin at either end?

Real life differs: a snapshot suits a text designed for it. A text with addresses, times or versions
is accepted again every week, and nobody reads it any more.
"""

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
    # TODO
    raise NotImplementedError("literal")


def accept(source: str, found: Iterable[tuple[int, str]]) -> str:
    """Return `source` with new literals, otherwise unchanged.

    `found` lists each failed expectation's line and actual text, in any order. A line may be
    repeated with the same text; raise `UnstableError` if its texts differ.
    """
    # TODO: encode the source; its lines end in b"\n".
    raise NotImplementedError("accept")
