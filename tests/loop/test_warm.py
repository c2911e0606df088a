"""What the process that stays under ``--watch`` imports, and how it knows that it is old."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from plugins import warm
from plugins.warm import Late
from plugins.warm import Loaded
from plugins.warm import warm_up


if TYPE_CHECKING:
    import pytest


ROOT = Path(__file__).parents[1]


def test_what_is_missing_is_for_the_run_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """No import of a package, nor one that is broken, ends the process."""
    frozen: list[int] = []
    monkeypatch.setattr("gc.freeze", lambda: frozen.append(1))
    monkeypatch.setattr(warm, "MODULES", ("there_is_no_such_module", "string"))
    monkeypatch.setattr(warm, "draw", lambda: 1 // 0)
    monkeypatch.delitem(sys.modules, "string")

    warm_up()

    assert "string" in sys.modules
    assert [1] == frozen


def test_hypothesis_has_read_the_modules_before_the_runs() -> None:
    """What draws for the second time reads none of them again."""
    code = """
import sys
from hypothesis import given, strategies
from plugins import layout, warm

@given(strategies.lists(strategies.floats(), min_size=50))
def draw(numbers):
    pass

def note(event, arguments):
    if event == "open" and str(arguments[0]) == layout.__file__:
        print(when)

when = "before"
sys.addaudithook(note)
warm.draw()
when = "after"
draw()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)

    assert (0, ["before"]) == (done.returncode, done.stdout.decode().split())


def test_what_a_run_imports_late_is_there_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is known to take long, and if there was a run at all."""
    monkeypatch.setattr(warm, "LATE", ("string", "there_is_no_such_module"))
    late = Late()
    late.catch_up()
    late.pytest_sessionfinish()
    monkeypatch.setitem(sys.modules, "there_is_no_such_module", sys)
    late.pytest_sessionfinish()
    monkeypatch.delitem(sys.modules, "there_is_no_such_module")
    monkeypatch.delitem(sys.modules, "string")
    late.catch_up()

    assert "string" in sys.modules
    assert "there_is_no_such_module" not in sys.modules


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
    assert ROOT / "plugins/warm.py" in loaded.stamps
    assert ROOT / "katas/__init__.py" in own.stamps
    Path(module.__file__).write_text("22")
    assert "module.py has changed" == loaded.outdated()
    loaded = Loaded(tmp_path / "elsewhere", [tmp_path / "more.toml"])
    (tmp_path / "more.toml").touch()
    assert f"{tmp_path / 'more.toml'} has changed" == loaded.outdated()


def test_there_need_be_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it cannot be replaced."""
    monkeypatch.setitem(sys.modules, "torch", None)

    assert Loaded(tmp_path, []).torch is None
