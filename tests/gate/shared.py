"""The files of a lecture's folder that are no kata's own, and which of them a kata rests on.

That are the package itself and conftest.py, which every run reads, what the kata's files import,
include or name in a path, in turn, and what its runs have opened beside (`file_trace`).
"""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from pathlib import Path
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tests.gate.cases import package_of
from tests.gate.syntax import DecidingWriter


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.course.model import Kata


OWNER = re.compile(r"(?:test_)?(k\d\d)_")
NO_CONTENT = {"README.md", "lecture.toml"}
ALWAYS = {"__init__.py", "conftest.py"}
CXX = {".cpp", ".cu", ".cuh", ".h", ".hpp"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.MULTILINE)


def files_below(folder: Path) -> dict[str, Path]:
    """Return the files of a folder that somebody has written, by their path in it."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "." and name != "__pycache__"]
        for name in names:
            if name[0] != "." and not name.endswith(".bak"):
                path = Path(place, name)
                found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))


def own_and_shared(kata: Kata) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the kata's own files in its lecture's folder, and those that no kata has for itself.

    Each is found by its path in that folder.
    """
    own, shared = {}, {}
    for name, path in files_below(kata.folder).items():
        owner = OWNER.match(path.name)
        if owner and kata.name.startswith(f"{owner[1]}_"):
            own[name] = path
        elif not owner and name not in NO_CONTENT:
            shared[name] = path
    return own, shared


def needed(kata: Kata, files: Iterable[Path], shared: dict[str, Path]) -> set[str]:
    """Return which shared files these files need by what they say."""
    found = ALWAYS & shared.keys()
    others = shared.keys() - ALWAYS
    left = [*files, *(shared[name] for name in found)] if others else []
    while left:
        file = left.pop()
        text = file.read_text(encoding="utf-8") if file.suffix in {".py", *CXX} else ""
        mentioned = _mentions(text, file.suffix, package_of(kata.folder))
        more = {name for name in others - found if _is_meant(name, mentioned)}
        found |= more
        left += [shared[name] for name in sorted(more)]
    return found


@cache
def _mentions(text: str, suffix: str, package: str) -> set[str]:
    """Return the modules of the package, the includes and the text in quotes of a file."""
    if suffix != ".py":
        return set(INCLUDE.findall(text))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        # The run of the kata fails.
        return set()
    reader = _Reader(package)
    reader.write(tree)
    found = reader.found
    inside = {name.removeprefix(f"{package}.").replace(".", "/") for name in found}
    return found | {f"{name}.py" for name in inside}


class _Reader(DecidingWriter):
    """Finds imports and text in quotes, but none in a message."""

    def __init__(self, package: str) -> None:
        super().__init__()
        self.package = package
        self.found: set[str] = set()

    def node(self, node: ast.AST, **others: object) -> None:
        """Note what a node mentions."""
        if isinstance(node, ast.Import):
            self.found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            module = f"{self.package}.{module}".rstrip(".") if node.level else module
            self.found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.found.add(node.value)
        super().node(node, **others)


def _is_meant(name: str, mentioned: set[str]) -> bool:
    """Whether a file is mentioned by its path, by the end of it, or by the folder it lies in."""
    path = PurePosixPath(name)
    parts = path.parts
    ends = {"/".join(parts[start:]) for start in range(len(parts))}
    folders = {folder.as_posix() for folder in path.parents} - {".", "csrc"}
    return bool(mentioned & (ends | folders))
