"""Stops a session whose Python lacks a package that its katas import: one message, not one a kata.

Mostly a virtual environment was not activated. Nothing runs, so nothing is stored as failing.
"""

from __future__ import annotations

import ast
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.course.session import katas_among
from plugins.course.session import read_session_course
from plugins.tools.showing import shows_only
from plugins.tools.terminal import install_command
from plugins.tools.text import parse_python


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from plugins.course.model import Kata


# What katas import of requirements.txt; what else they need is optional, and a backend.
PACKAGES = ("torch", "numpy", "hypothesis", "expecttest")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Refuse to import katas that cannot be, before anything waits, forks or builds."""
    if shows_only(config) and not config.option.collectonly:
        return
    if not (absent := [name for name in PACKAGES if not is_installed(name)]):
        return
    course, start = read_session_course(config), config.invocation_params.dir
    imported = set[str]().union(*map(imports_of, katas_among(course, config.args, start)))
    if needed := [name for name in absent if name in imported]:
        raise pytest.UsageError(describe_absent(needed, ROOT, start))


def is_installed(package: str) -> bool:
    """Whether `package` can be imported; it is not, since torch takes a second."""
    return package in sys.modules or find_spec(package) is not None


def imports_of(kata: Kata) -> set[str]:
    """Return the packages that a kata's tests and its exercise import, in functions too."""
    found: set[str] = set()
    for file in (kata.test, kata.folder / f"{kata.name}.py"):
        try:
            nodes = list(ast.walk(parse_python(file.read_bytes())))
        except (OSError, SyntaxError, ValueError):
            # A C++ kata has no module, and the learner's may be half written.
            continue
        modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        modules += [
            each.name for node in nodes if isinstance(node, ast.Import) for each in node.names
        ]
        found.update(name.partition(".")[0] for name in modules)
    return found


def describe_absent(packages: Sequence[str], root: Path, start: Path) -> str:
    """Return that `packages` are missing, and the commands that help, for a shell in `start`."""
    *others, last = packages
    requirements = os.path.relpath(root / "requirements.txt", start)
    names = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    lines = [f"{names} not installed in this Python: {sys.executable}"]
    for folder in environments(root):
        command = f". {os.path.relpath(folder, start)}/bin/activate"
        lines += ["There is a virtual environment here; this activates it:", f"  {command}"]
    lines += [
        "This installs the edition of the course, best in a virtual environment:",
        f"  {install_command(f'-r {requirements}')}",
    ]
    return "\n".join(lines)


def environments(root: Path) -> Iterable[Path]:
    """Return the virtual environments in the folder `root`, apart from the active one."""
    found = sorted(file.parent for file in root.glob("*/pyvenv.cfg"))
    return [folder for folder in found if folder.resolve() != Path(sys.prefix).resolve()]
