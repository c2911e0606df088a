r"""Accept the actual output as what a test expects, in its own source.

You change a compiler pass, and with it a line in the graphs of ninety tests. You edit none by hand:
run with EXPECTTEST_ACCEPT=1, the tests rewrite themselves, and you review the diff.

    7   expect(graph(f), '''\          7   expect(graph(f), '''\
    8   relu                           8   add
    9   ''')                           9   relu
                                      10   ''')
              actual  "add\nrelu\n"

Write two functions, about 18 lines.

- `literal`: a text, in triple quotes.
- `accept`: new literals in the source, each in the call that begins at its line.

The lines are those of the source that has run. A new literal with more lines than the old one
moves what is below it: from which end do you begin?

Begin on paper: how do you write a text that ends in a quote between three such quotes?
Afterwards follow `assertExpectedInline` from ``torch/testing/_internal/common_utils.py`` into
``expecttest/__init__.py``, in site-packages: why may `EditHistory` begin at either end?

Real life differs: a snapshot suits a text that was made for it. One with addresses, times or a
version in it is accepted again each week, and no longer read.
"""

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
    # TODO
    raise NotImplementedError("literal")


def accept(source: str, found: Iterable[tuple[int, str]]) -> str:
    """Return `source` with new literals, and not a byte changed outside of them.

    `found` has the line of each expectation that has failed, in any order, with the actual text. A
    line may come again with its text; with another one it raises `UnstableError`.
    """
    # TODO: encode the source; a line of it ends in b"\n".
    raise NotImplementedError("accept")
