"""Edits of Python expressions: comparisons, arithmetic, booleans and constants."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator

    # Operator, the node whose text is replaced, the new text.
    Edit = tuple[str, ast.AST, str]


COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
NEEDS_PARENTHESES = (ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.Lambda)


def text_of(node: ast.expr) -> str:
    """Return the text of an expression, in parentheses where it may need them."""
    text = ast.unparse(node)
    negative = isinstance(node, ast.Constant) and text.startswith("-")
    return f"({text})" if negative or isinstance(node, NEEDS_PARENTHESES) else text


def compare(node: ast.Compare) -> Iterator[Edit]:
    """Yield other comparisons."""
    for place, operator in enumerate(node.ops):
        for other in COMPARISONS[type(operator)]:
            new = copy.deepcopy(node)
            new.ops[place] = other()
            yield "comparison", node, text_of(new)


def binary(node: ast.BinOp) -> Iterator[Edit]:
    """Yield another operator."""
    new = ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    yield "arithmetic", node, text_of(new)


def augmented(node: ast.AugAssign) -> Iterator[Edit]:
    """Yield another operator, and the statement's removal."""
    new = ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
    yield "arithmetic", node, ast.unparse(new)
    yield "removed statement", node, "pass"


def unary(node: ast.UnaryOp) -> Iterator[Edit]:
    """Yield the operand alone."""
    operator = "boolean" if isinstance(node.op, ast.Not) else "arithmetic"
    yield operator, node, text_of(node.operand)


def boolean(node: ast.BoolOp) -> Iterator[Edit]:
    """Yield ``or`` for ``and``, and the conditions with one fewer."""
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "boolean", node, text_of(ast.BoolOp(other, node.values))
    for place in range(len(node.values)):
        rest = node.values[:place] + node.values[place + 1 :]
        new = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        yield "removed condition", node, text_of(new)


def constant(node: ast.Constant) -> Iterator[Edit]:
    """Yield the neighbours of a constant."""
    value = node.value
    others: tuple[str | float, ...] = ()
    if isinstance(value, bool):
        others = (not value,)
    elif isinstance(value, int):
        others = (value + 1, value - 1)
    elif isinstance(value, float):
        others = (value + 1.0,)
    elif isinstance(value, str):
        others = (value + "XX",)
    for other in others:
        yield "constant", node, text_of(ast.Constant(other))
