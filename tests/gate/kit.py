"""What a kata uses of plugins/kit.py: a name more in the kit leaves the other proofs as they are.

For each name that the kata's files import from it, this is the statement that brings the name
into the kit. Where the name comes from plugins.checks, whose modules decide verdicts, it is also
the syntax of that module and of those of plugins.checks that it imports in turn. What comes from
another wing is the engine's, and a change there is answered by running every kata again.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from tests.gate.syntax import syntax_of_node


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from pathlib import Path


KIT = "plugins.kit"
CHECKS = "plugins.checks"
EVERYTHING = "*"
# Gives a module names that no statement brings in.
ANY_NAME = "__getattr__"


def kit_text(root: Path, files: Iterable[Path]) -> str:
    """Return what these files use of the kit, and of the checks behind it; empty if nothing."""
    imports = [found for file in files if file.suffix == ".py" for found in _imports_of_kata(file)]
    file = root / "plugins/kit.py"
    kit = _statements(file.read_text(encoding="utf-8")) if file.is_file() else {}
    lines = []
    for name in sorted(_used({name for module, name in imports if module == KIT}, kit)):
        lines += [f"{name}: {syntax_of_node(node)}" for node in kit.get(name, ())]
        for node in kit.get(name, ()):
            imports += _imports(node, "plugins")
    checks = _checks(root, imports)
    return "\n".join([*lines, *(f"{name}: {checks[name]}" for name in sorted(checks))])


def _imports_of_kata(file: Path) -> Iterator[tuple[str, str]]:
    text = file.read_text(encoding="utf-8")
    # Most files need no second look.
    if "plugins" not in text:
        return
    try:
        tree = ast.parse(text)
    except SyntaxError:
        # The run of the kata fails.
        return
    yield from _imports(tree, "")


def _imports(tree: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """Yield each import, in functions too: the module, and the name or ``*``.

    Relative ones are resolved in `package`.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, EVERYTHING) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")[: -node.level + 1 or None] if node.level else []
            module = ".".join([*up, *([node.module] if node.module else [])])
            for alias in node.names:
                # ``from plugins import kit`` gives all of it.
                whole = f"{module}.{alias.name}" == KIT
                yield (KIT, EVERYTHING) if whole else (module, alias.name)


@cache
def _statements(text: str) -> dict[str, list[ast.stmt]]:
    """Return the statements of a module that bring in each name; an import of one name each."""
    found: dict[str, list[ast.stmt]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found.setdefault(name, []).append(ast.Import([alias]))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                one = ast.ImportFrom(node.module, [alias], node.level)
                found.setdefault(alias.asname or alias.name, []).append(one)
        else:
            for name in sorted(_brought(node)):
                found.setdefault(name, []).append(node)
    return found


def _brought(node: ast.stmt) -> set[str]:
    """Return the names that a statement brings in, of ``if`` and ``try`` those of all branches."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(part.name)
        elif isinstance(part, ast.alias):
            found.add(part.asname or part.name.partition(".")[0])
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
    return found


def _used(names: set[str], kit: dict[str, list[ast.stmt]]) -> set[str]:
    """Return these names and those that their statements in the kit mention, in turn."""
    used: set[str] = set()
    left = set(kit) if EVERYTHING in names else set(names)
    while left:
        name = left.pop()
        used.add(name)
        parts = [part for node in kit.get(name, ()) for part in ast.walk(node)]
        mentioned = {part.id for part in parts if isinstance(part, ast.Name)}
        mentioned |= set() if name in kit else {ANY_NAME}
        left |= (mentioned & set(kit)) - used
    return used


def _checks(root: Path, imports: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the syntax of the modules of plugins.checks that these imports run, in turn."""
    found: dict[str, str] = {}
    left = list(imports)
    while left:
        module, name = left.pop()
        if not f"{module}.{name}.".startswith(f"{CHECKS}."):
            continue
        # A package runs before its module; the name may be that of a module as well.
        parts = [*module.split("."), *([] if name == EVERYTHING else [name])]
        for end in range(2, len(parts) + 1):
            path = root.joinpath(*parts[:end])
            file = path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")
            label = file.relative_to(root).as_posix()
            if label not in found and file.is_file():
                package = ".".join(parts[: end if path.is_dir() else end - 1])
                found[label], more = _module(file.read_text(encoding="utf-8"), package)
                left += more
    return found


@cache
def _module(text: str, package: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the syntax of a module, and its imports."""
    tree = ast.parse(text)
    return syntax_of_node(tree), tuple(_imports(tree, package))
