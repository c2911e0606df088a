"""What a wrong answer does to the solution, as text: the same wherever both are laid out anew.

Of an edit of Python that is the smallest statement around it, with its place in the module, and
of one of C++ all that it makes of the file. Here messages count: an answer may be wrong in them.
"""

from __future__ import annotations

import ast
import textwrap
from typing import TYPE_CHECKING

from tests.gate.cxxsyntax import cxx_syntax_of
from tests.gate.overlay import EditError
from tests.gate.overlay import edited
from tests.gate.syntax import syntax_of_node


if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gate.answers import Wrong


def edit_of(source: str, tree: ast.Module | None, wrong: Wrong) -> str:
    """Return what the edit makes of a solution, whose syntax tree is `tree` if it is Python.

    It is the edit as it is written where it does not fit, or makes something that is no Python.
    """
    plain = repr((wrong.replace, wrong.by, wrong.function, wrong.body))
    if wrong.function:
        try:
            nodes = ast.parse(textwrap.dedent(wrong.body)).body
        except SyntaxError:
            return plain
        return f"{wrong.function}: {_syntax(nodes)}"
    try:
        text = edited(source, wrong)
    except EditError:
        return plain
    if tree is None:
        return cxx_syntax_of(text)
    return _smallest(source, text, tree, wrong) or plain


def _smallest(source: str, text: str, tree: ast.Module, wrong: Wrong) -> str:
    """Return the place and the new syntax of the fewest statements that hold all of the edit."""
    start = source.index(wrong.replace)
    first = source.count("\n", 0, start) + 1
    # The line behind is not touched, if it is still a line of its own.
    ends = wrong.replace.endswith("\n") and text[: start + len(wrong.by)].endswith("\n")
    last = first + wrong.replace.count("\n") - ends
    grown = text.count("\n") - source.count("\n")
    before, after = source.split("\n"), text.split("\n")
    for place, nodes in reversed(list(_around(tree, first, last))):
        top, end = _top(nodes[0]), _end(nodes[-1])
        old, new = _parsed(before[top - 1 : end]), _parsed(after[top - 1 : end + grown])
        if old is not None and new is not None:
            now = _syntax(new)
            # It may be a docstring that is edited.
            return f"{place}: {now}" if now != _syntax(old) else ""
    return ""


def _around(tree: ast.Module, first: int, last: int) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield the statements that hold these lines, the most first, each time with their place."""
    place, inside = "", [(0, tree.body)]
    while inside:
        number, block = inside.pop()
        held = [n for n, node in enumerate(block) if _top(node) <= last and first <= _end(node)]
        if held and _top(block[held[0]]) <= first and last <= _end(block[held[-1]]):
            place = f"{place} {number}:{held[0]}-{held[-1]}"
            nodes = block[held[0] : held[-1] + 1]
            yield place, nodes
            inside = list(enumerate(_blocks(nodes[0]))) if len(nodes) == 1 else []


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if isinstance(block := getattr(node, name, None), list) and block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _top(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _parsed(lines: list[str]) -> list[ast.stmt] | None:
    """Return the statements of some lines, which may be indented."""
    text = "\n".join(lines)
    if text[:1].isspace():
        text = f"if True:\n{text}"
    try:
        return ast.parse(text).body
    except SyntaxError:
        return None


def _syntax(nodes: list[ast.stmt]) -> str:
    return syntax_of_node(nodes)
