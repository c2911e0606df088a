"""The syntax of Python as text: the same for other comments, docstrings and layout.

`deciding` leaves out prose as well, which tells a reader something and decides nothing: what an
``assert``, a ``raise`` or ``pytest.fail`` says, and what is given as ``msg=``.
"""

from __future__ import annotations

import ast
from typing import Any


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def syntax_of(text: str) -> str:
    """Return a module's syntax tree as text, without its docstrings.

    `ast.dump` differs between versions of Python, in what it says about empty fields.
    """
    return syntax_of_node(ast.parse(text))


def syntax_of_node(node: object) -> str:
    """Return a part of a syntax tree as text."""
    return Writer().text(node)


def deciding(text: str) -> str:
    """Return what of a module decides, as text: its syntax without docstrings and messages."""
    return deciding_of_node(ast.parse(text))


def deciding_of_node(node: object) -> str:
    """Return what of a part of a syntax tree decides, as text."""
    return DecidingWriter().text(node)


class Writer:
    """Writes a syntax tree without docstrings."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(self, node: object) -> str:
        """Return the text of one tree."""
        self.write(node)
        return "".join(self.parts)

    def write(self, node: Any) -> None:
        """Add a node, a list of some, or what a field holds."""
        if isinstance(node, ast.AST):
            self.node(node)
        elif isinstance(node, list):
            self.parts.append("[")
            for each in node:
                self.write(each)
            self.parts.append("]")
        else:
            self.parts.append(f"{node!r},")

    def node(self, node: ast.AST, **others: object) -> None:
        """Add a node, of which some fields are others."""
        self.parts.append(f"{type(node).__name__}(")
        for name in node._fields:
            value = others[name] if name in others else getattr(node, name, None)
            if name == "body" and isinstance(node, DOCUMENTED):
                value = node.body[_is_documented(node) :]
            if value is not None and value != []:
                self.parts.append(f"{name}=")
                self.write(value)
        self.parts.append(")")


class DecidingWriter(Writer):
    """Leaves out messages, and the text to which a function gives a name for its messages alone.

    Of a message that is made before it is known whether it will be shown, the calls remain: one
    may be the learner's.
    """

    def __init__(self) -> None:
        super().__init__()
        # Names that are used: by what decides, and in messages.
        self.used: list[str] = []
        self.said: list[str] = []
        # Where the text of a name is, and what else is written there if only messages say it.
        self.named: list[tuple[int, str, str]] = []

    def node(self, node: ast.AST, **others: object) -> None:
        """Add a node without its messages."""
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store):
                self.used.append(node.id)
        elif isinstance(node, ast.Assert):
            self.without(node.msg)
            others["msg"] = None
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            self.raising(node, node.exc)
            return
        elif isinstance(node, ast.Call):
            others |= self.call(node)
        elif isinstance(node, FUNCTION):
            self.function(node)
            return
        elif isinstance(node, ast.Assign) and (name := _named(node)):
            self.naming(node, name)
            return
        super().node(node, **others)

    def raising(self, node: ast.Raise, error: ast.Call) -> None:
        """Add a ``raise`` without the text that the error says."""
        said = [each for each in error.args if _is_text(each)]
        for each in said:
            self.without(each)
        args = [each for each in error.args if each not in said]
        call = ast.Call(error.func, args, error.keywords)
        super().node(node, exc=call)

    def call(self, node: ast.Call) -> dict[str, object]:
        """Return the fields of a call that are others without its message."""
        names, args = {"msg"}, node.args
        if _is_fail(node.func):
            names, args = {"msg", "reason"}, []
            for each in node.args:
                self.without(each)
        keywords = []
        for keyword in node.keywords:
            if keyword.arg not in names:
                keywords.append(keyword)
            elif calls := self.without(keyword.value):
                keywords.append(ast.keyword(keyword.arg, ast.Tuple(calls)))
        return {"args": args, "keywords": keywords}

    def without(self, message: ast.expr | None) -> list[ast.expr]:
        """Note what a message names, and return what it calls when it is made."""
        nodes = list(ast.walk(message)) if message else []
        self.said += [node.id for node in nodes if isinstance(node, ast.Name)]
        later = isinstance(message, ast.Lambda)
        return [] if later else [node for node in nodes if isinstance(node, ast.Call)]

    def naming(self, node: ast.Assign, name: str) -> None:
        """Add text that gets a name, which may be taken out again at the end of the function."""
        place = len(self.parts)
        super().node(node)
        text = "".join(self.parts[place:])
        calls = [each for each in ast.walk(node.value) if isinstance(each, ast.Call)]
        self.parts[place:] = [text]
        self.named.append((place, name, DecidingWriter().text(calls) if calls else ""))

    def function(self, node: ast.AST) -> None:
        """Add a function, and take out of it the text that only messages use."""
        used, said, named = self.used, self.said, self.named
        self.used, self.said, self.named = [], [], []
        super().node(node)
        for place, name, calls in self.named:
            if name in self.said and name not in self.used:
                self.parts[place] = calls
        self.used, self.said, self.named = used + self.used, said + self.said, named


def _is_documented(node: Any) -> bool:
    first = node.body[0] if node.body else None
    return isinstance(first, ast.Expr) and _is_string(first.value)


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_text(node: ast.expr) -> bool:
    """Whether the expression is text as it is written here: quoted, filled in or put together."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or (isinstance(node.op, ast.Add) and _is_text(node.right))
    return isinstance(node, ast.JoinedStr) or _is_string(node)


def _named(node: ast.Assign) -> str:
    """Return the one name that the assignment gives to text, empty if it does something else."""
    target = node.targets[0]
    one = len(node.targets) == 1 and isinstance(target, ast.Name) and _is_text(node.value)
    return target.id if one and isinstance(target, ast.Name) else ""


def _is_fail(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "fail"
        and isinstance(function.value, ast.Name)
        and function.value.id == "pytest"
    )
