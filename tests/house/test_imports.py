"""Importing the plugins is cheap: no heavy package, no warning. Nor do katas import compilers."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import HERE
from plugins import ROOT


if TYPE_CHECKING:
    from pathlib import Path


PLUGINS = sorted(HERE.rglob("*.py"))
HEAVY = ("torch", "numpy", "hypothesis", "expecttest", "feedparser", "jinja2")
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

# What takes longer to import than torch itself: tests import it when they run.
LATE = ("torch._dynamo", "torch._inductor", "torch.distributed.tensor")
COLLECT = """
import sys

import pytest

status = pytest.main(["katas", "--collect-only", "-q", "-p", "no:cacheprovider"])
print(int(status), *(name for name in sys.argv[1:] if name in sys.modules))
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


def test_pytest_can_rewrite_every_plugin() -> None:
    """In the order of conftest.py, no plugin imports another before pytest can rewrite it."""
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


@pytest.mark.torch
def test_collecting_the_katas_imports_no_compiler() -> None:
    """A run of a few tests waits for all that their modules import."""
    command = [sys.executable, "-c", COLLECT, *LATE]

    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)

    text = f"{done.stdout[-2000:]}\nimport it in tests, or see docs/authoring.md on ranks_import"
    assert "0" == done.stdout.splitlines()[-1], text


def test_a_verdict_needs_no_assert() -> None:
    """Python -O (``PYTHONOPTIMIZE``) leaves asserts out, and pytest keeps those of tests alone.

    What checks an answer for a test would accept any.
    """
    decides = [*sorted((HERE / "checks").glob("*.py")), HERE / "native/extension.py"]
    asserts = {
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in decides
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    }

    assert set() == asserts


def test_what_is_forbidden_is_so_without_asserts(tmp_path: Path) -> None:
    """As a learner's shell may have it."""
    source = tmp_path / "k01.cpp"
    source.write_text("auto it = at::add(a, b);\n")
    script = (
        "import sys; from pathlib import Path\n"
        "from plugins.checks.tokens import forbids_tokens\n"
        "forbids_tokens(Path(sys.argv[1]), 'at::add')\n"
    )
    command = [sys.executable, "-O", "-c", script, str(source)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert "AssertionError: k01.cpp:1 uses at::add" in done.stderr
