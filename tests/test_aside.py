"""Where the crash guard steps aside."""

from __future__ import annotations

import bdb
import os
import sys
from typing import TYPE_CHECKING

from plugins.aside import debugged
from plugins.aside import is_program
from plugins.aside import names_katas
from plugins.aside import why_aside


if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_pytest_may_be_two_processes_where_it_is_the_program() -> None:
    """The script or the module, and with the arguments that it was started with."""
    assert is_program(["/venv/bin/pytest", "-x"], ["-x"])
    assert is_program(["/venv/lib/pytest/__main__.py", "-x"], ("-x",))
    assert not is_program(["/venv/bin/pytest", "-x"], ["inner.py"])
    assert not is_program(["program.py", "-x"], ["-x"])
    assert not is_program(["-c"], [])
    assert not is_program(["/tests/gate/__main__.py"], [])


def test_which_paths_are_katas(tmp_path: Path) -> None:
    """A lecture, a part of one, or a folder that holds all."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/lecture.toml").touch()
    katas = ("katas", "katas/lecture04/test_k01_schema.py", "mine", "mine/test_k01_x.py", ".")

    for path in katas:
        assert names_katas((tmp_path / path).resolve(), tmp_path), path
    assert not names_katas(tmp_path / "tests", tmp_path)


def test_a_debugger_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own, and that of editors; a tool that measures coverage is none."""
    monkeypatch.delitem(sys.modules, "pydevd", raising=False)
    assert not debugged()

    monkeypatch.setattr(sys, "gettrace", lambda: bdb.Bdb().trace_dispatch)
    assert debugged()

    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "pydevd", sys)
    assert debugged()


def test_without_fork_there_is_no_guard(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.delattr(os, "fork")

    assert "this system cannot fork" == why_aside(pytestconfig)
