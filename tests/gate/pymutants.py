"""One-edit mutants of a Python solution: finds the nodes of the syntax tree to edit."""

from __future__ import annotations
import __future__

import ast
from typing import TYPE_CHECKING

from tests.gate.mutant import Mutant
from tests.gate.mutant import diff_of
from tests.gate.mutant import numbered
from tests.gate.pyedits import edits


if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gate.pyedits import Edit

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
NOTHING_TO_MUTATE = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.JoinedStr)
# Decorators that only a type checker reads.
FOR_TYPES = {"override", "overload", "final"}


def python_mutants(solution: str, stub: str, file: str) -> list[Mutant]:
    """Return every mutant of the learner's code; code that the stub gives is left alone."""
    tree = ast.parse(solution)
    given = {dump for _, dump in _definitions(ast.parse(stub), "")}
    given |= {dump for node, _ in _definitions(ast.parse(stub), "") for dump in _decorators(node)}
    module = Module(solution, tree)
    found = []
    for function, (operator, node, new) in _walk(tree, "", given):
        if module.differs(node, new, file):
            text = module.replaced(node, new)
            line = getattr(node, "lineno", 0)
            found.append(Mutant(file, function, operator, line, diff_of(solution, text), text))
    return numbered(found)


class Module:
    """Replaces the text of a node; the syntax tree counts columns in UTF-8 bytes."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.data = text.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        # What the `from __future__` of the module means for a part of it.
        self.flags = 0
        # The lines of each statement, or of several that share a line.
        self.parts: list[tuple[int, int]] = []
        for node in tree.body:
            decorators = getattr(node, "decorator_list", [])
            first = min(each.lineno for each in (node, *decorators))
            if self.parts and first <= self.parts[-1][1]:
                first = self.parts.pop()[0]
            self.parts.append((first, node.end_lineno or first))
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for alias in node.names:
                    self.flags |= getattr(__future__, alias.name).compiler_flag
        dumps = [ast.dump(ast.parse(self._part(part))) for part in self.parts]
        self.seen = set(zip(self.parts, dumps, strict=True))

    def _part(self, part: tuple[int, int]) -> bytes:
        return self.data[self.starts[part[0] - 1] : self.starts[part[1]]]

    def _place(self, node: ast.AST) -> tuple[int, int]:
        start, end = (
            self.starts[getattr(node, f"{end}lineno") - 1] + getattr(node, f"{end}col_offset")
            for end in ("", "end_")
        )
        return start, end

    def differs(self, node: ast.AST, new: str, file: str) -> bool:
        """Whether `new` instead of `node` is Python, and neither the solution nor seen before.

        Only the statement around it is parsed: the rest of the module is the same.
        """
        line = getattr(node, "lineno", 0)
        part = next(part for part in self.parts if part[0] <= line <= part[1])
        begin = self.starts[part[0] - 1]
        start, end = (place - begin for place in self._place(node))
        data = self._part(part)
        try:
            tree = ast.parse(data[:start] + new.encode() + data[end:])
            if (key := (part, ast.dump(tree))) in self.seen:
                return False
            compile(tree, file, "exec", self.flags, dont_inherit=True)
        except SyntaxError:
            return False
        self.seen.add(key)
        return True

    def replaced(self, node: ast.AST, new: str) -> str:
        """Return the whole text with `new` instead of `node`."""
        start, end = self._place(node)
        return (self.data[:start] + new.encode() + self.data[end:]).decode()


def _definitions(tree: Scope, prefix: str) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each statement of modules and classes with the text that finds it in the stub."""
    for node in tree.body:
        yield node, f"{prefix} {ast.dump(node)}"
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node, f"{prefix}{node.name}.")


def _decorators(node: ast.AST) -> dict[str, ast.expr]:
    """Return the decorators of a function or class, by the text that finds them in the stub."""
    if not isinstance(node, Function | ast.ClassDef):
        return {}
    return {f"{node.name} @{ast.dump(each)}": each for each in node.decorator_list}


def _walk(node: ast.AST, scope: str, given: set[str]) -> Iterator[tuple[str, Edit]]:
    for child in _children(node):
        prefix = f"{scope}." if scope else ""
        if isinstance(node, Scope) and f"{prefix} {ast.dump(child)}" in given:
            continue
        inner = f"{prefix}{child.name}" if isinstance(child, Function | ast.ClassDef) else scope
        for text, decorator in _decorators(child).items():
            # The learner finds the others in the stub.
            if text not in given and ast.unparse(decorator).rpartition(".")[2] not in FOR_TYPES:
                yield inner, ("removed decorator", decorator, "lambda it: it")
        if isinstance(child, ast.Assign) and _replaceable(child, node):
            yield inner, ("removed statement", child, "pass")
        for edit in edits(child):
            yield inner, edit
        # The message of an exception is for its reader, not for a test.
        if not isinstance(child, ast.Raise):
            yield from _walk(child, inner, given)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    skipped = {"annotation", "returns", "type_params", "type_comment"}
    if isinstance(node, ast.Assert):
        skipped.add("msg")
    # ``zip(strict=)`` is there for the linter.
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    for name, value in ast.iter_fields(node):
        if name in skipped:
            continue
        children = value if isinstance(value, list) else [value]
        if name == "body" and isinstance(node, Scope) and ast.get_docstring(node) is not None:
            children = children[1:]
        for child in children:
            if isinstance(child, ast.AST) and not _left_alone(child):
                yield child


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        )
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
    # A bare string or ellipsis does nothing.
    bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return bare or isinstance(node, NOTHING_TO_MUTATE)


def _replaceable(node: ast.Assign, parent: ast.AST) -> bool:
    """Whether removing the assignment is worth a try: removing a name's raises NameError."""
    return not isinstance(parent, ast.Module | ast.ClassDef) and any(
        isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets
    )
