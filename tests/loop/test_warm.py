"""The imports of the process that stays under ``--watch``, and how it notices changes."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from plugins import ROOT
from plugins.course.model import Course
from plugins.loop import warm
from plugins.loop.warm import Loaded
from plugins.loop.warm import warm_up


def test_what_is_missing_is_for_the_run_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """No import of a package, nor one that is broken, ends the process."""
    frozen: list[int] = []
    monkeypatch.setattr("gc.freeze", lambda: frozen.append(1))
    monkeypatch.setattr(warm, "MODULES", ("there_is_no_such_module", "string"))
    monkeypatch.setattr(warm, "draw_examples", lambda: 1 // 0)
    monkeypatch.delitem(sys.modules, "string")

    warm_up(Course((), ()))

    assert "string" in sys.modules
    assert [1] == frozen


@pytest.mark.torch
@pytest.mark.parametrize("name", warm.MODULES)
def test_what_is_imported_ahead_is_there(name: str) -> None:
    """A module that has moved would be imported in each run again, and nothing would say so."""
    assert importlib.import_module(name)


def test_hypothesis_has_read_the_modules_before_the_runs() -> None:
    """A second test that draws reads none of them again."""
    code = """
import sys
from hypothesis import given, strategies
from plugins.course import model
from plugins.loop import warm

@given(strategies.lists(strategies.floats(), min_size=50))
def draw(numbers):
    pass

def note(event, arguments):
    if event == "open" and str(arguments[0]) == model.__file__:
        print(when)

when = "before"
sys.addaudithook(note)
warm.draw_examples()
when = "after"
draw()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)

    assert (0, ["before"]) == (done.returncode, done.stdout.decode().split())


@pytest.mark.parametrize(("first", "some"), [("", True), ("warm.know_files()", False)])
def test_the_files_of_all_modules_are_known_before_the_runs(first: str, *, some: bool) -> None:
    """The source of a failing test is then found without a look at each of them."""
    code = f"""
import inspect, os
from plugins.loop import warm

{first}
looked_at = []
before, os.path.realpath = os.path.realpath, lambda name, **_: looked_at.append(name) or name
inspect.getmodule(compile("", "of another module", "exec"))
os.path.realpath = before
print(len(looked_at))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)

    assert 0 == done.returncode, done.stderr
    assert some == (int(done.stdout) > 0)


def test_it_names_what_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the course, by its path in it; a file elsewhere, by its whole path."""
    module = ModuleType("katas_of_a_test")
    module.__file__ = str(tmp_path / "module.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    installed = ModuleType("installed")
    installed.__file__ = str(tmp_path / "site-packages/installed.py")
    monkeypatch.setitem(sys.modules, installed.__name__, installed)
    Path(module.__file__).write_text("1")
    loaded = Loaded(tmp_path, [tmp_path / "more.toml"])
    own = Loaded(ROOT, [])

    assert loaded.outdated() is None
    assert Path(installed.__file__) not in loaded.stamps
    assert ROOT / "plugins/loop/warm.py" in loaded.stamps
    assert ROOT / "katas/__init__.py" in own.stamps
    Path(module.__file__).write_text("22")
    assert "module.py has changed" == loaded.outdated()
    loaded = Loaded(tmp_path / "elsewhere", [tmp_path / "more.toml"])
    (tmp_path / "more.toml").touch()
    assert f"{tmp_path / 'more.toml'} has changed" == loaded.outdated()


def test_a_module_in_a_wing_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the course is, and however deep in plugins/ the module lies."""
    folder = tmp_path / "plugins/wing"
    folder.mkdir(parents=True)
    module = ModuleType("plugins.wing.module")
    module.__file__ = str(folder / "module.py")
    (folder / "module.py").write_text("1")
    monkeypatch.setattr(warm, "HERE", tmp_path / "plugins")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    loaded = Loaded(tmp_path / "course", [])

    assert loaded.outdated() is None
    (folder / "module.py").write_text("22")
    assert f"{folder / 'module.py'} has changed" == loaded.outdated()


def test_there_need_be_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it cannot be replaced."""
    monkeypatch.setitem(sys.modules, "torch", None)

    assert Loaded(tmp_path, []).torch is None
