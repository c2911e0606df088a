"""The parts of the engine: an edit changes those that rest on it, and words change none."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.gate.engine import HOME
from tests.gate.engine import engine_files
from tests.gate.parts import KIT
from tests.gate.parts import Modules
from tests.gate.parts import parts_of


if TYPE_CHECKING:
    from pathlib import Path


NOW = parts_of()
FAULTS = {name for name in NOW if name.startswith("the simulator: ")}
GATE = "tests/gate"
CHECKS = "plugins/checks"
SIMULATOR = "plugins/*/csrc/*"


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """Return a copy of the engine."""
    for file in engine_files(HOME):
        copy = tmp_path / file.relative_to(HOME)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    return tmp_path


def edit(engine: Path, name: str, old: str, new: str) -> set[str]:
    """Change one place of the engine, and return the parts that are others then."""
    ((file, text),) = (
        (path, text) for path in engine.glob(name) if old in (text := path.read_text())
    )
    assert 1 == text.count(old), old
    file.write_text(text.replace(old, new))
    return changed(engine)


def changed(engine: Path) -> set[str]:
    """Return the parts that are others now."""
    return {name for name, part in parts_of(engine).items() if part != NOW.get(name)}


def test_the_parts_are_what_katas_use() -> None:
    """Each name of the kit, each fixture of the plugins, the simulator's faults, and the gate."""
    kinds = {name.partition(": ")[0] for name in NOW}

    assert {"kit", "fixture", "the simulator", "the gate", "hooks of pytest"} == kinds
    assert {"kit: forbids", "kit: freed", "kit: graph_text", "kit: World"} <= NOW.keys()
    assert {"fixture: world", "fixture: extension", "fixture: unloaded"} <= NOW.keys()
    assert {"fixture: launches", "fixture: compiled", "fixture: ptx"} <= NOW.keys()
    faults = {"race", "out of bounds", "uninitialised read"}
    assert {f"the simulator: {fault}" for fault in faults} <= NOW.keys()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (f"{CHECKS}/aftermath.py", "Check that what `make` returns is", "See whether that is"),
        (f"{CHECKS}/aftermath.py", "something still refers to it", "something refers to it"),
        (f"{CHECKS}/forbidden.py", "from __future__", "# Why.\nfrom __future__"),
        (SIMULATOR, "// Returns only in a trial.", "// It returns only in a trial."),
        (
            SIMULATOR,
            "uint32_t stamp_of(const Region& region) {",
            "uint32_t  stamp_of(const Region& region)\n{",
        ),
        (f"{GATE}/mutation.py", "Run the mutants, and check the", "Try the mutants, and check the"),
    ],
)
def test_words_change_no_part(engine: Path, name: str, old: str, new: str) -> None:
    """A docstring, a message, a comment, and where a line ends."""
    assert set() == edit(engine, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new", "parts"),
    [
        (f"{CHECKS}/aftermath.py", "    if held:", "    if not held:", {"kit: freed"}),
        (
            f"{CHECKS}/aftermath.py",
            '    return ctypes.string_at(place, storage.nbytes()) if place else b""',
            '    return b""',
            {"kit: unchanged"},
        ),
        (
            f"{CHECKS}/tokens.py",
            "import re\n",
            "import re as re\n",
            {"kit: forbids_tokens"},
        ),
        (
            "plugins/tools/cxx.py",
            "    return NO_CODE.sub(_blank, text)",
            "    return text",
            {"kit: forbids_tokens", "kit: forbids_doubles", *FAULTS},
        ),
        ("plugins/cuda/source.py", "yield start, closed, f", "yield start, end, f", FAULTS),
        (
            f"{GATE}/pymutants.py",
            "def python_mutants",
            "def not_python_mutants",
            {"the gate: mutants of Python"},
        ),
        (
            f"{GATE}/cxxmutants.py",
            '"<": ("<=", ">=")',
            '"<": ("<=",)',
            {"the gate: mutants of C++"},
        ),
        (
            f"{GATE}/mutation.py",
            "SHARE = 0.95",
            "SHARE = 0.5",
            {"the gate: what runs and judges"},
        ),
        ("katas/__init__.py", '"KATAS_OVERLAY"', '"OVERLAY"', {"hooks of pytest"}),
    ],
)
def test_an_edit_changes_what_rests_on_it(
    engine: Path, name: str, old: str, new: str, parts: set[str]
) -> None:
    """A function, one behind it, a mutator, the rest of the gate, and how answers are laid."""
    assert parts == edit(engine, name, old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [("checks/tokens.py", "checks/words.py"), ("cuda/ptx.py", "gpu/ptx.py")],
)
def test_a_module_that_moves_changes_no_part(engine: Path, old: str, new: str) -> None:
    """To another name or another wing, with who imports it, and the list of plugins."""
    file = engine / "plugins" / new
    file.parent.mkdir(exist_ok=True)
    (engine / "plugins" / old).rename(file)
    before, after = (
        name.removesuffix(".py").replace("/", ".") for name in (f"plugins/{old}", f"plugins/{new}")
    )
    files = [path for path in engine_files(engine) if path.suffix == ".py"]
    texts = {path: path.read_text() for path in files}
    for path in (path for path, text in texts.items() if before in text):
        path.write_text(texts[path].replace(before, after))

    assert any(before in text for text in texts.values())
    assert set() == changed(engine)


def test_what_lies_deep_is_found(engine: Path) -> None:
    """In a module that another imports, for each part that calls it and for no other."""
    old = "def profile_every_thread("
    found = edit(engine, "plugins/tools/private/torch.py", old, f"@str\n{old}")

    assert {"kit: forbids", "kit: watched_operators"} <= found
    assert not {"kit: freed", "kit: unchanged", "kit: tensors"} & found


def test_the_simulator_is_one_text(engine: Path) -> None:
    """Each of its faults is a part, and all have one digest."""
    old = "const auto unordered = [&](const Mark& mark) { return mark.thread &&"

    assert FAULTS == edit(engine, SIMULATOR, old, old.replace("mark.thread &&", "false &&"))
    assert 1 == len({NOW[name].digest for name in FAULTS})


def test_a_fixture_rests_on_hooks_and_fixtures_that_it_calls(tmp_path: Path) -> None:
    """They are called by a name alone, of whatever module; and so is a source beside it."""
    files = {
        "plugins/__init__.py": "",
        "plugins/kit.py": "from plugins.a.one import one\n\n__all__ = ('here', 'one')\nhere = 1\n",
        "plugins/a/__init__.py": "",
        "plugins/a/one.py": (
            "import pytest\nfrom typing import TYPE_CHECKING\nfrom plugins import b\n\n"
            "if TYPE_CHECKING:\n    from plugins.types import Type\n\n"
            "@pytest.fixture\ndef one(two, config) -> Type:\n"
            "    from plugins.b import three\n    config.hook.pytest_kata_four()\n"
            "    return 'five.cpp'\n\n"
            "def other(): return b.six\n"
        ),
        "plugins/a/five.cpp": "int x;",
        "plugins/b/__init__.py": (
            "import pytest\nprint()\n\n@pytest.fixture\ndef two(): pass\n\n"
            "def three(): return seven()\n\ndef pytest_kata_four(): return eight\n\n"
            "def six(): pass\n\ndef seven(): pass\n\neight = nine = 1\n"
        ),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    modules = Modules(tmp_path)
    found = modules.behind([("plugins.a.one", "one")])

    assert {name for module, name in found if module == "plugins.b"} == {
        *("", "pytest", "two", "three", "pytest_kata_four", "seven", "eight")
    }
    assert any("int" in text and "x" in text for text in found.values())
    assert ["here", "one"] == modules.kit()
    assert [("plugins.a.one", "one")] == modules.meaning(KIT, "one")[1]
    whole = {name for module, name in modules.behind([("plugins.a.one", "other")])}
    assert {"six", "nine", "two"} <= whole
