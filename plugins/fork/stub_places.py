"""Finds the places to write in a stub, and tells whether a change fills one in.

In Python a place is a function that raises NotImplementedError or says TODO, in C++ and CUDA the
body of such a function, and in both whatever stands below a TODO outside of all functions.
"""

from __future__ import annotations

import ast
import copy
import io
import re
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.guide.definitions import Function
from plugins.guide.definitions import first_row
from plugins.guide.definitions import is_constant
from plugins.guide.traceback import TODO
from plugins.tools.text import parse_python


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence


# As much of C++ as finds functions: comments, directives, literals that may hold braces, the rest.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\#(?:\\\n|[^\n])*"""
    r"""|R"(?P<end>[^\s()\\]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|\d[\w.']*|\w+|\S""",
    re.DOTALL,
)
# A TODO among the tokens of C++, whatever it says.
MARK = "// TODO"
UNWRITTEN_CXX = re.compile(
    r"TORCH_CHECK_NOT_IMPLEMENTED \( false .*?\) ;|return cudaErrorNotYetImplemented ;"
)


@dataclass(frozen=True)
class WritingPlace:
    """A place to write.

    Attributes
    ----------
    code
        Its code, without comments, docstrings, and the statement that says it is unwritten.
    size
        The number of statements in it.
    unwritten
        Whether it has such a statement; a TODO alone is none.
    """

    code: str
    size: int = 0
    unwritten: bool = False


def same_code(before: str, after: str, *, python: bool) -> bool:
    """Whether two versions of a source differ in their comments and docstrings at most."""
    if python:
        return python_code(before) == python_code(after)
    return cxx_code(before) == cxx_code(after)


def all_still_open(before: str, after: str, *, python: bool) -> bool:
    """Whether each place of a source is still to write, wherever it stands now.

    It is if its code is the same. Given code in a function that raises may be repaired too: as
    long as the function still raises and no statement was added, nothing is filled in.
    """
    places, left = map(python_places if python else cxx_places, (before, after))
    others: list[WritingPlace] = []
    for place in places:
        same = next((each for each in left if each.code == place.code), None)
        if same:
            left.remove(same)
        else:
            others.append(place)
    for place in sorted(others, key=lambda place: place.size):
        fits = (each for each in left if each.unwritten and each.size <= place.size)
        if not place.unwritten or not (found := next(fits, None)):
            return False
        left.remove(found)
    return True


def python_code(text: str) -> object:
    """Return what a module does, without its docstrings; its text, if it is no Python."""
    tree = python_tree(text)
    if tree is None:
        return text
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, Function)) and has_docstring(node):
            del node.body[0]
    return ast.dump(tree)


def python_tree(text: str) -> ast.Module | None:
    """Return the tree of a module, or None if it is no Python."""
    try:
        return parse_python(text)
    except (SyntaxError, ValueError):
        return None


def has_docstring(node: ast.Module | ast.ClassDef | Function) -> bool:
    """Whether the first statement is a docstring, or another constant without effect."""
    return bool(node.body) and is_constant(node.body[0])


def python_places(text: str) -> list[WritingPlace]:
    """Return the places to write of a module; none, if it is no Python."""
    tree = python_tree(text)
    if tree is None:
        return []
    lines = list(io.StringIO(text))
    functions = {node: span(node, lines) for node in ast.walk(tree) if isinstance(node, Function)}
    places = [node for node in functions if any(map(is_unwritten, node.body))]
    outside = 0
    for row in todo_rows(text):
        if around := [node for node, rows in functions.items() if row in rows]:
            places.append(max(around, key=lambda node: node.col_offset))
        else:
            outside = outside or row
    places = list(dict.fromkeys(places))
    found = [function_place(node) for node in places]
    if outside:
        # In a hunt for bugs the TODO stands above, and the given code is what changes.
        below = [node for node in tree.body if (node.end_lineno or 0) >= outside]
        bare = Bare(places)
        found.append(
            WritingPlace("".join(ast.dump(node) for each in below if (node := bare.visit(each))))
        )
    return found


def todo_rows(text: str) -> Iterator[int]:
    """Return the lines of a module in which a comment says TODO."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and TODO.match(token.string):
            yield token.start[0]


def span(function: Function, lines: Sequence[str]) -> range:
    """Return the lines of a function, with its decorators and the comments at its end."""
    end = function.end_lineno or function.lineno
    while end < len(lines):
        rest = lines[end].lstrip()
        if rest and len(lines[end]) - len(rest) <= function.col_offset:
            break
        end += 1
    return range(first_row(function), end + 1)


def is_unwritten(statement: ast.AST) -> bool:
    """Whether a statement raises NotImplementedError."""
    if not isinstance(statement, ast.Raise):
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def function_place(function: Function) -> WritingPlace:
    """Return a function as a place to write: its decorators and its body."""
    bare = Bare().visit(copy.deepcopy(function))
    nodes = [*bare.decorator_list, *bare.body]
    size = sum(isinstance(each, ast.stmt) for node in nodes for each in ast.walk(node))
    return WritingPlace(
        "".join(map(ast.dump, nodes)),
        size + len(bare.decorator_list),
        any(map(is_unwritten, function.body)),
    )


class Bare(ast.NodeTransformer):
    """Removes what answers nothing: imports, annotations, docstrings, statements of a stub."""

    def __init__(self, places: Sequence[Function] = ()) -> None:
        self.places = places

    def visit_stub(self, node: ast.stmt) -> ast.stmt | None:
        """Remove a raise of NotImplementedError, and what does nothing."""
        return None if is_constant(node) or is_unwritten(node) else node

    def visit_import(self, node: ast.stmt) -> None:
        """Drop import and pass statements."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Remove the annotation."""
        node.annotation = None
        return node

    def visit_function(self, node: Function) -> Function:
        """Remove the annotation; of a place that is compared by itself, leave the decorators."""
        self.generic_visit(node)
        node.returns = None
        if node in self.places:
            node.args = ast.arguments([], [], None, [], [], None, [])
            node.body = []
        return node

    visit_Expr = visit_Raise = visit_stub  # noqa: N815 - ast names them so
    visit_Import = visit_ImportFrom = visit_Pass = visit_import  # noqa: N815
    visit_FunctionDef = visit_AsyncFunctionDef = visit_function  # noqa: N815


def cxx_tokens(text: str) -> list[str]:
    """Return the tokens of a source, without comments but for MARK."""
    words = (found[0] for found in TOKEN.finditer(text))
    tokens = (MARK if TODO.match(word) else word for word in words)
    return [word for word in tokens if word == MARK or not word.startswith(("//", "/*"))]


def cxx_code(text: str) -> list[str]:
    """Return what a source does: its tokens without comments."""
    return [word for word in cxx_tokens(text) if word != MARK]


def cxx_places(text: str) -> list[WritingPlace]:
    """Return the places to write of a source in C++ or CUDA."""
    tokens = [word for word in cxx_tokens(text) if not word.startswith("#include")]
    places: list[WritingPlace] = []
    outside: list[str] = []
    begin = position = 0
    while position < len(tokens):
        word = tokens[position]
        header = tokens[begin:position]
        # Namespaces, classes and linkage have no parentheses; their functions are looked at.
        if word == "{" and "(" in header:
            end = closing_brace(tokens, position)
            if place := cxx_place(tokens[position + 1 : end]):
                places.append(place)
                outside += [MARK] * header.count(MARK)
            else:
                outside += tokens[begin : end + 1]
            begin = position = end + 1
            continue
        position += 1
        if word in {";", "{", "}"}:
            outside += tokens[begin:position]
            begin = position
    outside += tokens[begin:]
    if MARK in outside:
        below = outside[outside.index(MARK) :]
        places.append(WritingPlace(" ".join(word for word in below if word != MARK)))
    return places


def closing_brace(tokens: Sequence[str], opening: int) -> int:
    """Return the position of the brace that closes another one; the end, if none does."""
    depth = 0
    for position in range(opening, len(tokens)):
        depth += (tokens[position] == "{") - (tokens[position] == "}")
        if not depth:
            return position
    return len(tokens)


def cxx_place(body: Sequence[str]) -> WritingPlace | None:
    """Return the body of a function as a place to write, or None if it is none."""
    code = " ".join(word for word in body if word != MARK)
    bare = UNWRITTEN_CXX.sub("", code)
    if MARK not in body and bare == code:
        return None
    words = bare.split()
    return WritingPlace(" ".join(words), sum(word in {";", "{"} for word in words), bare != code)
