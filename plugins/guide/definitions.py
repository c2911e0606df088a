"""The definitions of an exercise, Python or C++, and which of them a learner writes.

A learner writes what differs between the stub and the reference. Where the stub is not known, that
is what differs between the answer and the reference.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.course.files import learners_files
from plugins.course.files import path_from
from plugins.tools.cxx import CLOSE
from plugins.tools.cxx import OPEN
from plugins.tools.cxx import TOKEN
from plugins.tools.cxx import code_of
from plugins.tools.cxx import line_number
from plugins.tools.cxx import without_directives
from plugins.tools.text import parse_python


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Kata


Function = ast.FunctionDef | ast.AsyncFunctionDef
# What stands in parentheses in front of the name of a function in C++.
ATTRIBUTES = {"__launch_bounds__", "alignas", "decltype", "__attribute__", "requires"}
WORD = re.compile(r"[^\W\d]\w*")
DOTTED = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
# The end of the head of a function in Python.
END_OF_HEAD = re.compile(r":\s*(#.*)?$")


@dataclass(frozen=True)
class Definition:
    """A function, a method, a class without its methods, or a name of the module.

    Attributes
    ----------
    name
        Its name, as ``Tape.record``; of C++ without its namespace.
    line
        The first line of it, from 1.
    last
        The last line.
    code
        What it does: equal for definitions that differ in comments and docstrings at most.
    shown
        Its lines without a docstring.
    head
        How many of these come before its body: 0 if the body begins in one of them.
    """

    name: str
    line: int
    last: int
    code: str
    shown: tuple[str, ...]
    head: int = 0


def definitions(text: str, *, python: bool) -> dict[str, Definition]:
    """Return the definitions of a source by their names; none if Python cannot parse it."""
    found: dict[str, Definition] = {}
    for each in python_definitions(text) if python else cxx_definitions(text):
        name, number = each.name, 1
        while name in found:
            number += 1
            name = f"{each.name} ({number})"
        found[name] = each
    return found


def differing(one: Mapping[str, Definition], other: Mapping[str, Definition]) -> list[str]:
    """Return the names of the definitions of `other` that `one` lacks or has with other code."""
    return [name for name, each in other.items() if name not in one or one[name].code != each.code]


def names_to_write(
    stub: Mapping[str, Definition] | None,
    answer: Mapping[str, Definition],
    reference: Mapping[str, Definition],
) -> list[str]:
    """Return the names of what the learner writes, and of what they have added, in their order."""
    names = differing(answer if stub is None else stub, reference)
    known = reference if stub is None else {**stub, **reference}
    return [*names, *(name for name in answer if name not in known)]


def python_definitions(text: str) -> Iterator[Definition]:
    """Return the functions, methods, classes and assigned names of a module."""
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError):
        return
    lines = text.splitlines()
    for node in tree.body:
        yield from _statement(node, lines, "")


def _statement(node: ast.stmt, lines: list[str], prefix: str) -> Iterator[Definition]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield _definition(prefix + node.name, [node], lines)
        case ast.ClassDef():
            methods = [each for each in node.body if isinstance(each, (Function, ast.ClassDef))]
            fields = [each for each in node.body if each not in methods and not is_constant(each)]
            if fields:
                yield _definition(prefix + node.name, fields, lines, head=node)
            for each in methods:
                yield from _statement(each, lines, f"{prefix}{node.name}.")
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield _definition(prefix + name, [node], lines)


def _definition(
    name: str, nodes: list[ast.stmt], lines: list[str], head: ast.ClassDef | None = None
) -> Definition:
    """Return the definition that these statements make."""
    doc = {
        row
        for node in nodes
        if isinstance(node, Function) and is_constant(node.body[0])
        for row in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    rows = [row for node in nodes for row in range(first_row(node), (node.end_lineno or 0) + 1)]
    first = head.lineno if head else rows[0]
    shown = [first] * bool(head) + [row for row in rows if row not in doc]
    before = 1 if head else count_head(nodes[0], lines)
    return Definition(
        name,
        first,
        rows[-1],
        "".join(ast.dump(_without_docstrings(node)) for node in nodes),
        tuple(lines[row - 1].rstrip() for row in shown),
        before,
    )


def count_head(node: ast.stmt, lines: list[str]) -> int:
    """Return how many lines the head of a function takes; 0 if its body begins in the last."""
    if not isinstance(node, Function):
        return 0
    first, body = first_row(node), first_row(node.body[0])
    head = lines[first - 1 : body - 1]
    while head and (not head[-1].strip() or head[-1].lstrip().startswith("#")):
        head.pop()
    return len(head) if head and END_OF_HEAD.search(head[-1]) else 0


def first_row(node: ast.stmt) -> int:
    """Return the first line of a statement, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def is_constant(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, or another constant without effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _without_docstrings(node: ast.stmt) -> ast.stmt:
    """Remove the docstrings and the annotations, which decide nothing, from a new tree."""
    for each in ast.walk(node):
        if isinstance(each, (ast.ClassDef, Function)):
            each.body = [line for line in each.body if not is_constant(line)]
        if isinstance(each, Function):
            each.returns = None
        if isinstance(each, ast.arg):
            each.annotation = None
    return node


def cxx_definitions(text: str) -> Iterator[Definition]:
    """Return the functions of a source in C++ or CUDA, with what stands in macros' braces."""
    code = without_directives(code_of(text))
    lines = text.splitlines()
    tokens = list(TOKEN.finditer(code))
    every = [each[0] for each in tokens]
    begin = position = 0
    while position < len(tokens):
        word = every[position]
        words = every[begin:position]
        # Namespaces and classes have no parentheses; their functions are looked at. A brace
        # within parentheses begins a list.
        if word == "{" and 0 < words.count("(") == words.count(")"):
            end = closing(every, position)
            first = line_number(text, tokens[begin].start())
            last = line_number(text, tokens[end].start())
            shown = tuple(line.rstrip() for line in lines[first - 1 : last])
            brace = line_number(text, tokens[position].start()) - first
            yield Definition(
                function_name(words),
                first,
                last,
                " ".join(every[begin : end + 1]),
                shown,
                brace + 1 if brace + 1 < len(shown) and shown[brace].endswith("{") else 0,
            )
            begin = position = end + 1
            continue
        position += 1
        if word in {";", "{", "}"}:
            begin = position


def closing(words: Sequence[str], opening: int) -> int:
    """Return the position of the bracket that closes another one; the end, if none does."""
    depth = 0
    for position, word in enumerate(words[opening:], opening):
        depth += (word in OPEN) - (word in CLOSE)
        if not depth:
            return position
    return len(words) - 1


def function_name(header: Sequence[str]) -> str:
    """Return the name in front of a function's parameters; a macro's with its arguments."""
    for place, word in enumerate(header[1:], 1):
        name = header[place - 1]
        if word == "(" and WORD.fullmatch(name) and name not in ATTRIBUTES:
            end = closing(header, place)
            return name + "".join(header[place : end + 1]) if name.isupper() else name
    return " ".join(header)


def places_to_write(kata: Kata, start: Path) -> dict[str, list[Definition]]:
    """Return what is still to be written in each file of a kata, by its path from `start`.

    That is what differs from the reference, where it is in the learner's file now. Of a hunt for
    bugs there is nothing: it would give the bug away.
    """
    if kata.kind == "debug":
        return {}
    found: dict[str, list[Definition]] = {}
    for file, answer, reference in pair_files(kata):
        mine, other = (
            definitions(text, python=file.suffix == ".py") for text in (answer, reference)
        )
        names = names_to_write(None, mine, other)
        found[path_from(start, file)] = [mine[name] for name in names if name in mine]
    return {path: own for path, own in found.items() if own}


def pair_files(kata: Kata) -> Iterator[tuple[Path, str, str]]:
    """Return each file of a kata that has a reference, the learner's text, and the reference's."""
    for file in dict.fromkeys((kata.exercise, *learners_files(kata))):
        reference = kata.folder / "solutions" / file.relative_to(kata.folder)
        if reference.is_file():
            yield file, read_text(file), read_text(reference)


def read_text(file: Path) -> str:
    """Return the text of a file; an empty one if it was removed."""
    return file.read_text(encoding="utf-8", errors="replace").rstrip() if file.is_file() else ""


def innermost(
    places: Mapping[str, Sequence[Definition]], calls: Iterable[tuple[str, int]]
) -> tuple[str, int] | None:
    """Return the last of the calls, each a file and a line, that is within one of the places."""
    within = (
        (path, line)
        for path, line in reversed([*calls])
        if any(each.line <= line <= each.last for each in places.get(path, ()))
    )
    return next(within, None)


def first_named(places: Mapping[str, Sequence[Definition]], words: str) -> tuple[str, int] | None:
    """Return the place that `words` name first, by a function, a method or a class; else the first.

    None if there is no place.
    """
    lines = {
        part: (path, each.line)
        for path, own in reversed([*places.items()])
        for each in reversed(own)
        for part in (*each.name.split("."), each.name)
    }
    for word in DOTTED.findall(words):
        parts = word.split(".")
        # Of Tape.record the method counts, and of kata.Tape the class.
        for name in (*(".".join(parts[at:]) for at in range(len(parts))), *reversed(parts)):
            if name in lines:
                return lines[name]
    return next(((path, each.line) for path, own in places.items() for each in own), None)
