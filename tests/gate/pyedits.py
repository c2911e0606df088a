"""The edits that a one-edit mutant of Python may make, by kind of syntax node.

cosmic-ray, mutmut and universalmutator were considered. cosmic-ray edits the file on disk
and starts a shell command, so torch is imported for every mutant; mutmut 3 copies the
project and wraps each function in a trampoline, which module-level code escapes and which a
test that reads the source would see. Neither removes statements, swaps arguments or moves
slices. universalmutator edits text by rules much like `cxxmutants`, one shell command each.
All the gate needs is a text with one edit, which is then laid over a kata.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.gate import pyoperators


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator

    # Operator, the node whose text is replaced, the new text.
    Edit = tuple[str, ast.AST, str]


# The order of their arguments makes no difference, or hardly any.
COMMUTATIVE = {"max", "min", "torch.equal", "torch.maximum", "torch.minimum", "math.gcd"}


def _conditional(node: ast.If | ast.IfExp) -> Iterator[Edit]:
    yield "removed condition", node.test, "True"
    yield "removed condition", node.test, "False"


def _while(node: ast.While) -> Iterator[Edit]:
    yield "removed condition", node.test, "False"


def _comprehension(node: ast.comprehension) -> Iterator[Edit]:
    for test in node.ifs:
        yield "removed condition", test, "True"


def _with(node: ast.With) -> Iterator[Edit]:
    for item in node.items:
        yield "removed context", item.context_expr, '__import__("contextlib").nullcontext()'


def _statement(node: ast.stmt) -> Iterator[Edit]:
    yield "removed statement", node, "pass"


def _return(node: ast.Return) -> Iterator[Edit]:
    if node.value and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield "removed statement", node.value, "None"


def _call(node: ast.Call) -> Iterator[Edit]:
    for place, keyword in enumerate(node.keywords):
        if keyword.arg and not _is_guard(node, keyword):
            rest = node.keywords[:place] + node.keywords[place + 1 :]
            yield "dropped argument", node, ast.unparse(ast.Call(node.func, node.args, rest))
    if ast.unparse(node.func) in COMMUTATIVE:
        return
    for place, (first, second) in enumerate(zip(node.args, node.args[1:], strict=False)):
        if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            args = [*node.args[:place], second, first, *node.args[place + 2 :]]
            new = ast.Call(node.func, args, node.keywords)
            yield "swapped arguments", node, ast.unparse(new)


def _is_guard(node: ast.Call, keyword: ast.keyword) -> bool:
    """Whether the keyword is ``zip(strict=)``, which the linter asks for everywhere."""
    return ast.unparse(node.func) == "zip" and keyword.arg == "strict"


def _slice(node: ast.Slice) -> Iterator[Edit]:
    def moved(end: ast.expr | None, by: int, missing: int) -> ast.expr:
        if end is None:
            return ast.Constant(missing)
        if isinstance(end, ast.Constant) and isinstance(end.value, int):
            return ast.Constant(end.value + by)
        return ast.BinOp(end, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))

    yield "slice", node, ast.unparse(ast.Slice(moved(node.lower, 1, 1), node.upper, node.step))
    yield "slice", node, ast.unparse(ast.Slice(node.lower, moved(node.upper, -1, -1), node.step))
    if node.upper:
        new = ast.Slice(node.lower, moved(node.upper, 1, 1), node.step)
        yield "slice", node, ast.unparse(new)
    if node.step:
        yield "slice", node, ast.unparse(ast.Slice(node.lower, node.upper, None))


BY_KIND: dict[type[ast.AST], Callable[..., Iterator[Edit]]] = {
    ast.Compare: pyoperators.compare,
    ast.BinOp: pyoperators.binary,
    ast.AugAssign: pyoperators.augmented,
    ast.UnaryOp: pyoperators.unary,
    ast.BoolOp: pyoperators.boolean,
    ast.Constant: pyoperators.constant,
    ast.If: _conditional,
    ast.IfExp: _conditional,
    ast.While: _while,
    ast.comprehension: _comprehension,
    ast.With: _with,
    ast.Return: _return,
    ast.Call: _call,
    ast.Slice: _slice,
    ast.Expr: _statement,
    ast.Raise: _statement,
    ast.Assert: _statement,
    ast.Delete: _statement,
    ast.Break: _statement,
    ast.Continue: _statement,
}


def edits(node: ast.AST) -> Iterator[Edit]:
    """Yield every edit of the node itself."""
    for kind, make in BY_KIND.items():
        if isinstance(node, kind):
            yield from make(node)
