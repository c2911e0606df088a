"""What a module uses of another one: the statements that bring in a name, and what they mention."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.gate.syntax import deciding_of_node


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


EVERYTHING = "*"
# Gives a module names that no statement brings in.
ANY_NAME = "__getattr__"


def used_text(text: str, names: Iterable[str]) -> str:
    """Return what decides of a module for somebody who uses these names, or ``*``, of it."""
    every = statements(ast.parse(text))
    # What brings in no name runs all the same.
    wanted = _used({*names}, every) | {""}
    found = [f"{name}: {deciding_of_node(every[name])}" for name in sorted(wanted & every.keys())]
    return "\n".join(found)


def names_used(tree: ast.AST, package: str, module: str) -> set[str]:
    """Return which names of `package`.`module` a module uses: ``*`` where that cannot be told."""
    found: set[str] = set()
    whole, aliases = f"{package}.{module}", set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module == whole:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module == package:
            aliases |= {each.asname or each.name for each in node.names if each.name == module}
        elif isinstance(node, ast.Import) and any(each.name == whole for each in node.names):
            return {EVERYTHING}
    return found | (set(_attributes(tree, aliases)) if aliases else set())


def _attributes(tree: ast.AST, aliases: set[str]) -> Iterator[str]:
    """Yield what is asked of these names, and ``*`` where one is used by itself."""
    asked = set()
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Attribute) and _names(node.value, aliases):
            asked.add(node.value)
            yield node.attr
    if any(_names(node, aliases) and node not in asked for node in nodes):
        yield EVERYTHING


def _names(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def statements(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """Return the statements that bring in each name, an import of one name each; "" if none."""
    found: dict[str, list[ast.stmt]] = {}
    documented = ast.get_docstring(tree, clean=False) is not None
    for node in tree.body[documented:]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found.setdefault(name, []).append(ast.Import([alias]))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                one = ast.ImportFrom(node.module, [alias], node.level)
                found.setdefault(alias.asname or alias.name, []).append(one)
        else:
            for name in sorted(_brought(node)) or [""]:
                found.setdefault(name, []).append(node)
    return found


def _brought(node: ast.AST) -> set[str]:
    """Return the names that a statement brings in, of ``if`` and ``try`` those of all branches."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.alias):
        return {node.asname or node.name.partition(".")[0]}
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store) else set()
    return {name for part in ast.iter_child_nodes(node) for name in _brought(part)}


def _used(names: set[str], statements: dict[str, list[ast.stmt]]) -> set[str]:
    """Return these names and those that their statements mention, in turn."""
    used: set[str] = set()
    left = set(statements) if EVERYTHING in names else {*names, ""}
    while left:
        name = left.pop()
        used.add(name)
        parts = [part for node in statements.get(name, ()) for part in ast.walk(node)]
        mentioned = {part.id for part in parts if isinstance(part, ast.Name)}
        mentioned |= set() if name in statements else {ANY_NAME}
        left |= (mentioned & set(statements)) - used
    return used
