"""What importing the plugins costs: no heavy package, no warning; and they stay small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[1]
PLUGINS = sorted((ROOT / "plugins").rglob("*.py"))
HEAVY = ("torch", "numpy", "hypothesis", "expecttest", "feedparser", "jinja2")
LINES = 160
SCRIPT = """
import importlib
import sys

for name in sys.argv[2:]:
    before = set(sys.modules)
    importlib.import_module(name)
    for heavy in sys.argv[1].split():
        if heavy in set(sys.modules) - before:
            print(name, "imports", heavy)
"""


def module(file: Path) -> str:
    """Return the name under which a file of plugins/ is imported."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[-1] != "__init__" else parts[:-1])


def test_importing_the_plugins_imports_nothing_heavy() -> None:
    """A run that needs no tensor does not wait for torch; and no import warns."""
    names = [module(file) for file in PLUGINS]
    command = [sys.executable, "-W", "error", "-c", SCRIPT, " ".join(HEAVY), *names]

    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)

    assert "" == done.stdout


@pytest.mark.parametrize("file", PLUGINS, ids=module)
def test_a_plugin_is_short(file: Path) -> None:
    """One concern each: whoever opens a plugin can read all of it."""
    lines = len(file.read_text().splitlines())

    assert lines <= LINES


def test_pytest_can_rewrite_every_plugin() -> None:
    """In the order of conftest.py none is imported by another before pytest gets to it."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "pytest",
        "--version",
        "--version",
        "-W",
        "error",
    ]

    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)

    assert (0, "") == (done.returncode, done.stderr)
