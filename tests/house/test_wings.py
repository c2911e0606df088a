"""The wings of plugins/: each with its tests, and importing only what stands below.

import-linter enforces the arrows (pyproject.toml has the contracts, ``tox -e lint`` runs them).
The tests check what it cannot see: a module named in a string.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import plugins.kit
from plugins import HERE
from plugins import ROOT


TESTS = ROOT / "tests"
WINGS = sorted(file.parent for file in HERE.glob("*/__init__.py"))
MODULES = sorted(
    file
    for wing in WINGS
    for file in wing.rglob("*.py")
    if file.parent != wing or file.stem != "__init__"
)


def modules_of(wing: Path) -> list[str]:
    """Return the names that a reader of a wing sees: of modules, and of packages."""
    return sorted(
        {
            file.relative_to(wing).parts[0].removesuffix(".py")
            for file in MODULES
            if wing in file.parents
        }
    )


def name_of(file: Path) -> str:
    """Return ``crash.plugin``."""
    return ".".join(file.relative_to(HERE).with_suffix("").parts)


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter as ``tox -e lint`` does."""
    command = [shutil.which("lint-imports", path=Path(sys.executable).parent) or "lint-imports"]
    return subprocess.run(
        [*command, "--no-cache", "--no-logo"],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_arrows_between_the_wings_are_the_allowed_ones() -> None:
    """The check of ``tox -e lint``, without tox."""
    done = lint(ROOT)

    assert 0 == done.returncode, done.stdout


def arrows_in_strings(file: Path) -> set[str]:
    """Return the wings that a module names in strings, docstrings aside: ``-m``, import_module."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    with_docs = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {ast.get_docstring(n, clean=False) for n in ast.walk(tree) if isinstance(n, with_docs)}
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docs
    ]
    wings = {wing.name for wing in WINGS}
    parts = [text.split(".") for text in texts if text.startswith("plugins.")]
    return {part[1] for part in parts if part[1] in wings} - {file.relative_to(HERE).parts[0]}


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_no_string_is_an_arrow(file: Path) -> None:
    """No linter sees a module of another wing that is started or imported by name."""
    assert set() == arrows_in_strings(file)


@pytest.mark.parametrize("wing", WINGS, ids=lambda wing: wing.name)
def test_a_wing_says_what_it_is_for_and_where_to_begin(wing: Path) -> None:
    """In three lines, and the map of plugins/ names it."""
    text = ast.get_docstring(ast.parse((wing / "__init__.py").read_text(encoding="utf-8"))) or ""

    assert len([line for line in text.splitlines() if line]) <= 3
    assert "Begin with `" in " ".join(text.split())
    assert f"`{wing.name}` " in (plugins.__doc__ or "")


def test_no_two_modules_share_the_name_of_a_class() -> None:
    """Three classes were called Outcome, and a traceback does not say of which wing."""
    names = [
        node.name
        for file in MODULES
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]

    assert [] == sorted({name for name in names if names.count(name) > 1})


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_a_module_has_a_test_module(file: Path) -> None:
    """``tests/<wing>/test_<module>.py``: the tests of a module are easy to find."""
    wing, *parts = file.relative_to(HERE).with_suffix("").parts
    name = "_".join(part for part in parts if part != "__init__")

    assert (TESTS / wing / f"test_{name}.py").is_file()


def test_a_test_module_has_a_module() -> None:
    """``test_<module>.py``, or ``test_<module>_<what>.py`` for a part that needs a tool."""
    files = [file for wing in WINGS for file in (TESTS / wing.name).glob("test_*.py")]
    modules = {wing.name: modules_of(wing) for wing in WINGS}
    others = [
        file.relative_to(TESTS).as_posix()
        for file in files
        if not any(
            file.stem == f"test_{name}" or file.stem.startswith(f"test_{name}_")
            for name in modules[file.parent.name]
        )
    ]

    assert [] == sorted(others)


def imported_test_modules(tree: ast.AST) -> list[str]:
    """Return the test modules that a module imports, whole or names of them."""
    names: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                names += [alias.name for alias in aliases]
            case ast.ImportFrom(module=module, names=aliases):
                names += [f"{module}.{alias.name}" for alias in aliases]
            case _:
                pass
    return [name for name in names if any(part.startswith("test_") for part in name.split("."))]


@pytest.mark.parametrize(
    "text",
    [
        "import tests.crash.test_stacks",
        "import tests.crash.test_stacks as stacks",
        "from tests.crash import test_stacks",
        "from tests.crash import conftest, test_stacks as stacks",
        "from tests.crash.test_stacks import TEST",
        "from . import test_stacks",
        "from .test_stacks import TEST",
        "def get():\n    from tests.crash import test_stacks",
    ],
)
def test_each_import_of_a_test_module_is_found(text: str) -> None:
    """However it is spelled."""
    assert 1 == len(imported_test_modules(ast.parse(text)))


def test_no_test_module_imports_another() -> None:
    """Shared helpers are in tests/support/, which imports no test module either."""
    found = {
        file.relative_to(ROOT).as_posix(): names
        for file in sorted(TESTS.rglob("*.py"))
        if (names := imported_test_modules(ast.parse(file.read_text(encoding="utf-8"))))
    }

    assert {} == found


def test_the_kit_is_the_one_door_of_the_katas() -> None:
    """Every other name of plugins/ is banned under katas/ by ruff, and only there."""
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"][
        "lint"
    ]
    names = {path.stem for path in HERE.iterdir() if path.suffix == ".py" or path in WINGS}
    ignored = lint["per-file-ignores"]

    assert sorted({*names, "HERE", "ROOT"} - {"__init__", "kit"}) == sorted(
        name.removeprefix("plugins.") for name in lint["flake8-tidy-imports"]["banned-api"]
    )
    assert ["TID251"] == ignored["{plugins,tests,benchmarks}/**"]
    assert all("TID251" not in codes for glob, codes in ignored.items() if glob.startswith("katas"))


def test_the_kit_says_what_each_name_is() -> None:
    """The author of a kata reads its docstring."""
    exported = plugins.kit.__all__

    assert sorted(exported) == list(exported)
    assert [] == [name for name in exported if f"`{name}`" not in (plugins.kit.__doc__ or "")]
    assert [] == [
        name for name in exported if not (getattr(plugins.kit, name).__doc__ or "").strip()
    ]


def test_the_katas_use_every_name_of_the_kit() -> None:
    """A name that no kata uses does not belong in it."""
    used = {
        alias.name
        for file in (ROOT / "katas").glob("*/*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "plugins.kit"
        for alias in node.names
    }

    assert set(plugins.kit.__all__) == used
