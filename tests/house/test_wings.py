"""The wings of plugins/: small, each with its tests, and importing only what stands below.

import-linter enforces the arrows (pyproject.toml has the contracts, ``tox -e lint`` runs them).
The tests check that it does, and check what it cannot see: a module named in a string.
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
# The one wing that has more modules on purpose: from a source to something that can be called.
LARGE = {"native": 15}
MOST = 12
# pytest's own small plugins have 30 to 320 lines.
LINES = 300
# Forbidden imports: the module that gets one, its text, and the message of import-linter.
BREAKS = {
    "in a function": (
        "course/model.py",
        "def pointed() -> object:\n    from plugins.guide import failures\n\n    return failures\n",
        "plugins.course is not allowed to import plugins.guide",
    ),
    "for types alone": (
        "native/tiers.py",
        "if TYPE_CHECKING:\n    from plugins.kernels.ptx import Ptx\n",
        "plugins.native is not allowed to import plugins.kernels",
    ),
    "between wings of one floor": (
        "machine/absent.py",
        "from plugins.guide.catalogue import Catalogue\n",
        "plugins.machine is not allowed to import plugins.guide",
    ),
    "that the floors alone allow": (
        "ranks/backends.py",
        "from plugins.guide.catalogue import Catalogue\n",
        "plugins.ranks is not allowed to import plugins.guide",
    ),
    "that closes a circle": (
        "tools/locks.py",
        "def held() -> object:\n    from plugins.tools import files\n\n    return files\n",
        "plugins.tools",
    ),
}


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


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the plugins and of the contracts."""
    ignored = shutil.ignore_patterns("__pycache__", "csrc", "templates")
    shutil.copytree(HERE, tmp_path / "plugins", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_arrows_between_the_wings_are_the_allowed_ones() -> None:
    """The check of ``tox -e lint``, without tox."""
    done = lint(ROOT)

    assert 0 == done.returncode, done.stdout


@pytest.mark.parametrize("name", BREAKS)
def test_another_arrow_is_red(copy: Path, name: str) -> None:
    """Wherever it is: in a function, under TYPE_CHECKING, between wings of one floor."""
    file, text, expected = BREAKS[name]
    if name == "that closes a circle":
        # The other half of the circle.
        with (copy / "plugins/tools/files.py").open("a", encoding="utf-8") as stream:
            stream.write("\n\nfrom plugins.tools import locks\n")
    with (copy / "plugins" / file).open("a", encoding="utf-8") as stream:
        stream.write(f"\n\n{text}")

    done = lint(copy)

    assert 1 == done.returncode
    assert expected in " ".join(done.stdout.split())


def test_a_new_wing_needs_a_floor(copy: Path) -> None:
    """A wing that no contract names would be free to import everything."""
    (copy / "plugins/attic").mkdir()
    (copy / "plugins/attic/__init__.py").write_text("")

    done = lint(copy)

    assert 1 == done.returncode
    assert "attic" in done.stdout


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
def test_a_wing_has_at_most_a_dozen_modules(wing: Path) -> None:
    """A reader in search of something reads the names of one wing, not of all."""
    assert len(modules_of(wing)) <= LARGE.get(wing.name, MOST)


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
def test_a_module_is_short_enough_to_read(file: Path) -> None:
    """A feature reads from top to bottom in one file."""
    assert len(file.read_text(encoding="utf-8").splitlines()) <= LINES


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
        if not {"wrong", "right"}.intersection(file.relative_to(TESTS).parts)
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


# Every way past the kit, for a module and for a name of the package itself.
FORBIDDEN = [
    form.format(name=name)
    for name in ("tools", "ROOT", "HERE")
    for form in (
        "from plugins import {name}\n\n\nprint({name})\n",
        "from plugins import {name} as other\n\n\nprint(other)\n",
        "import plugins\n\n\nprint(plugins.{name})\n",
        "import plugins as other\n\n\nprint(other.{name})\n",
        "import plugins.kit\n\n\nprint(plugins.{name})\n",
    )
] + [
    "import plugins.tools.files\n",
    "from plugins.tools import files\n",
    "from plugins.tools.files import content_of\n",
    "def test_it():\n    from plugins.tools import files\n",
]


def ruff(text: str, file: str) -> subprocess.CompletedProcess[str]:
    """Check a text, as if it stood in a file of this name, for imports past the kit."""
    command = [shutil.which("ruff", path=Path(sys.executable).parent) or "ruff", "check", "-"]
    return subprocess.run(
        [*command, "--select=TID251", "--no-cache", f"--stdin-filename={file}"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        input=text,
    )


@pytest.mark.parametrize("text", FORBIDDEN)
def test_a_way_past_the_kit_is_red(text: str) -> None:
    """Wherever it stands in a kata's tests, and however it is spelled."""
    done = ruff(text, "katas/lecture02/test_k01_bytes.py")

    assert 1 == done.returncode, done.stdout + done.stderr
    assert "TID251" in done.stdout
    assert 0 == ruff(text, "tests/house/test_wings.py").returncode


@pytest.mark.parametrize("text", ["from plugins.kit import Sent\n", "import plugins.kit\n"])
def test_the_kit_is_green(text: str) -> None:
    """For names of it, and for the module."""
    assert 0 == ruff(text, "katas/lecture02/test_k01_bytes.py").returncode


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
