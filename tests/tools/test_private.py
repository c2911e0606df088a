"""The private names of other projects stand in one package, and each of its doors has a test."""

from __future__ import annotations

import ast
import re
from itertools import chain

import pytest

from plugins import HERE
from plugins import ROOT
from plugins.tools import private


DOORS = HERE / "tools/private"
# Start with an underscore and are public all the same: of os, the documented module below
# threading, and the one that Python names operators of.
PUBLIC = {"_exit", "_operator", "_thread"}
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
# What Triton's documentation leaves out, though no underscore says so.
INTERNAL = re.compile(r"triton\.(backends|compiler|runtime)\b")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Ways to a private name, and what the scanner finds of each.
WAYS = {
    "from _pytest import capture": ["_pytest.capture"],
    "import torch._ops": ["torch._ops"],
    "from triton.runtime import interpreter": ["triton.runtime.interpreter"],
    "import triton.backends.compiler": ["triton.backends.compiler"],
    "from importlib import import_module\nimport_module('_pytest.capture')": ["_pytest.capture"],
    "import_module('triton.runtime.driver')": ["triton.runtime.driver"],
    "config._do_configure()": ["_do_configure"],
    "getattr(reporter, '_tw')": ["_tw"],
    "hasattr(reporter, '_tw')": ["_tw"],
    "setattr(reporter, '_session_start', 0)": ["_session_start"],
    "monkeypatch.setattr(reporter, '_session_start', 0)": ["_session_start"],
    "patch('_pytest.capture.FDCapture')": ["_pytest.capture.FDCapture"],
    "vars(reporter)['_tw']": ["_tw"],
    "mode(_dispatch_key=None)": ["_dispatch_key"],
    "class Own(TerminalReporter):\n    def write(self): self._tw.line()": ["_tw"],
    "class Own(Mode):\n    def _should_skip_dynamo(self): return False": ["_should_skip_dynamo"],
}
OWN = '''
"""_private"""
import os

class Own(Base):
    """_private"""

    _kept: int

    def __init__(self):
        self._one = 1

    def show(self):
        """_private"""
        return self._two(self._one, self._kept, self.__dict__, f"{self}_three")

    async def _two(self, *found):
        return "a _sentence", "_"

def _four():
    os._exit(_four())
'''


def is_private(name: str) -> bool:
    """Whether a part of somebody else's name is not for us."""
    parts = (part for part in name.split(".") if part.strip("_"))
    return any(
        part.startswith("_") and not part.startswith("__") and part not in PUBLIC for part in parts
    )


def no_names(tree: ast.AST) -> set[ast.AST]:
    """Return the texts that name nothing: docstrings, and parts of f-strings."""
    nodes = list(ast.walk(tree))
    docs = (
        node.value for node in nodes if isinstance(node, ast.Expr) if hasattr(node.value, "value")
    )
    parts = chain.from_iterable(node.values for node in nodes if isinstance(node, ast.JoinedStr))
    return {*docs, *parts}


def own_names(tree: ast.AST) -> set[str]:
    """Return what the classes of a module define for themselves and use."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.ClassDef(body=body):
                found |= {each.name for each in body if isinstance(each, FUNCTIONS)}
                found |= {
                    each.target.id
                    for each in body
                    if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
                }
            case _:
                pass
    return found


def private_names(tree: ast.AST) -> list[str]:
    """Return the private names of others that a module imports, reads, sets, overrides or spells.

    A method that the module never calls is called by somebody else: it overrides one of theirs.
    """
    found: list[str] = []
    own, texts = own_names(tree), no_names(tree)
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found += [each.name for each in names]
            case ast.ImportFrom(module=module, names=names):
                found += [f"{module}.{each.name}" for each in names]
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                found += {name} - own
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                found.append(name)
            case ast.Constant(value=str(name)) if node not in texts and NAME.fullmatch(name):
                found.append(name)
            case ast.ClassDef(body=body):
                found += [e.name for e in body if isinstance(e, FUNCTIONS) and e.name not in used]
            case _:
                pass
    return [name for name in found if is_private(name) or INTERNAL.match(name)]


@pytest.mark.parametrize("text", WAYS)
def test_each_way_to_a_private_name_is_found(text: str) -> None:
    """By import, attribute, text, keyword or override."""
    assert WAYS[text] == private_names(ast.parse(text))


def test_names_of_our_own_are_no_private_names_of_others() -> None:
    """Attributes and methods that a class defines and uses, docstrings, parts of texts."""
    assert [] == private_names(ast.parse(OWN))


def test_the_private_names_of_others_stand_in_one_package() -> None:
    """Each has a contract test; one that is used elsewhere breaks unnoticed."""
    used = {
        file.relative_to(HERE).as_posix(): names
        for file in sorted(HERE.rglob("*.py"))
        if (names := private_names(ast.parse(file.read_text(encoding="utf-8"))))
        if file.parent != DOORS
    }

    assert {} == used


@pytest.mark.parametrize("name", sorted({*private.__all__} - {"MissingNameError", "TritonAccess"}))
def test_each_door_has_a_contract_test_of_its_name(name: str) -> None:
    """A release that renames something breaks the test that names the door."""
    tests = [
        node.name
        for file in (ROOT / "tests/tools").glob("test_private_*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    ]

    assert 1 == tests.count(f"test_{name.lower()}")


def test_each_door_can_be_imported_from_the_package() -> None:
    """What a module of it defines for others stands in ``__all__``."""
    defined = {
        node.name
        for file in DOORS.glob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }

    assert defined <= {*private.__all__}
    assert {name for name in private.__all__ if not name.isupper()} == defined
