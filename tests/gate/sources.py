"""Reads a kata's files by their text and syntax trees; nothing is imported."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.course.model import Kata


# CUDA sources have one tier only, and do not name it.
TIER = re.compile(r"// tier: (stable|small|iter|full|vec)\n")
# A module of the lecture that another imports, and a folder beside it that one reads.
MODULE = re.compile(r"^from katas\.lecture\d\d\.([a-z]\w*) import", re.MULTILINE)
DATA = re.compile(r'Path\(__file__\)\.parent / "(\w+)"')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
LEADING = re.compile(r"(?:\s*//[^\n]*\n|\s*/\*.*?\*/)+", re.DOTALL)


def brief(kata: Kata) -> str:
    """Return the brief: a module's docstring, or a C++ source's leading comment."""
    text = kata.exercise.read_text(encoding="utf-8")
    if kata.exercise.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    found = LEADING.match(TIER.sub("", text))
    return re.sub(r"^\s*(//|/\*|\*/|\*)[ \t]?", "", found[0], flags=re.MULTILINE) if found else ""


def interface(text: str) -> dict[str, str]:
    """Return the public names of a module, each with its signature."""
    return dict(_names(ast.parse(text), ""))


def _names(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, str]]:
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and _public(child.name):
            returns = ast.unparse(child.returns) if child.returns else ""
            yield prefix + child.name, f"({ast.unparse(child.args)}) -> {returns}"
        elif isinstance(child, ast.ClassDef) and _public(child.name):
            bases = ", ".join(ast.unparse(base) for base in [*child.bases, *child.keywords])
            yield prefix + child.name, f"class({bases})"
            yield from _names(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            for target in targets:
                if isinstance(target, ast.Name) and _public(target.id):
                    yield prefix + target.id, "assigned"


def _public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def undocumented(text: str) -> list[str]:
    """Return the public functions and classes of a module that have no docstring."""
    return list(_undocumented(ast.parse(text)))


def _undocumented(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            public = not child.name.startswith("_")
            if public and ast.get_docstring(child) is None:
                yield child.name
        if isinstance(child, ast.ClassDef):
            yield from _undocumented(child)


def docstrings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the docstrings of a module: its own with the name "", then those of what is in it."""
    tree = ast.parse(text)
    yield "", ast.get_docstring(tree) or ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, ast.get_docstring(node) or ""


def unwritten_messages(path: Path) -> list[int]:
    """Return the lines of the asserts of a module whose message says TODO."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert) and node.msg and "TODO" in ast.unparse(node.msg)
    ]


def tests(path: Path) -> dict[str, str]:
    """Return the test functions of a module, each with its docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name: ast.get_docstring(node) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def written_lines(solution: str, stub: str) -> set[str]:
    """Return the learner's lines of code that are long enough to give the solution away."""
    given = {_plain(line) for line in stub.splitlines()}
    lines = {_plain(line) for line in solution.splitlines()}
    return {line for line in lines - given if len(line) >= 12 and not line.startswith(("#", "//"))}


def _plain(line: str) -> str:
    return " ".join(line.split()).rstrip(";:{ ")


def strays(folder: Path, katas: tuple[Kata, ...]) -> list[str]:
    """Return the files of a lecture's folder that do not belong there."""
    expected = {"__init__.py", "README.md", "lecture.toml", "conftest.py"}
    for kata in katas:
        for file in (f"{kata.name}.py", *kata.csrc):
            expected |= {file, f"solutions/{file}"}
        expected.add(kata.test.name)
        for file in kata.csrc:
            # Headers of our own, which stub and solution share.
            for name in INCLUDE.findall((folder / file).read_text(encoding="utf-8")):
                expected.add((Path(file).parent / name).as_posix())
        expected |= {f".meta/{kata.name}/{name}" for name in ("wrong.toml", "proof.json")}
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {path.relative_to(folder).as_posix() for path in files if path.suffix != ".pyc"}
    # Other right answers, whose number is free, are named after their kata.
    right = tuple(f".meta/{kata.name}/right/{kata.name}" for kata in katas)
    others = {name for name in found if name.startswith(right)}
    return sorted(found - expected - others - _shared(folder, found))


def _shared(folder: Path, found: set[str]) -> set[str]:
    """Return what conftest.py and the tests share: a module, or the files of a folder of data.

    Such a module is imported by its name, and such a folder named beside ``__file__``.
    """
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))]
    modules = {name for text in texts for name in MODULE.findall(text)}
    data = {name for text in texts for name in DATA.findall(text)}
    return {
        path for path in found if path.removesuffix(".py") in modules or path.split("/")[0] in data
    }
