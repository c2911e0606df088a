"""The syntax of Python as text: the same for other comments, docstrings and layout."""

from __future__ import annotations

import ast


def syntax_of(text: str) -> str:
    """Return a module's syntax tree as text, without its docstrings.

    `ast.dump` differs between versions of Python, in what it says about empty fields.
    """
    return syntax_of_node(ast.parse(text))


def syntax_of_node(node: object) -> str:
    """Return a part of a syntax tree as text."""
    if isinstance(node, list):
        return f"[{' '.join(map(syntax_of_node, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, DOCUMENTED):
            value = value[ast.get_docstring(node, clean=False) is not None :]  # noqa: PLW2901
        if value not in (None, []):
            fields.append(f"{name}={syntax_of_node(value)}")
    return f"{type(node).__name__}({' '.join(fields)})"


DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
