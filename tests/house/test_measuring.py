"""Coverage counts the lines that the tests of wings run, and no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from tests.measured import main
from tests.measured import unmeasured


if TYPE_CHECKING:
    from pathlib import Path


SETTINGS = """
[tool.coverage.run]
include = ["*/plugins/*"]
patch = ["subprocess", "fork", "_exit"]
parallel = true
"""
CONFTEST = "from tests.measuring import Measuring\n\n"
CONFTEST += "def pytest_configure(config): config.pluginmanager.register(Measuring())\n"
FUNCTIONS = "def {0}_itself():\n    return 1\n\ndef {0}_child():\n    return 2\n\n"
# Each calls a function itself, and another in a process.
TEST = """
import subprocess
import sys

from plugins import lines

def test_it():
    lines.{0}_itself()
    subprocess.run([sys.executable, "-c", "from plugins import lines; lines.{0}_child()"])
"""
# In this order: what was paused goes on, and is paused again.
FOLDERS = ("gate", "feed", "house", "loop")


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_lines_count_where_a_wing_runs_them(tmp_path: Path, workers: str) -> None:
    """Also in the processes that a test starts."""
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/__init__.py").touch()
    (tmp_path / "plugins/lines.py").write_text("".join(map(FUNCTIONS.format, FOLDERS)))
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}.py").write_text(TEST.format(name))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    environment |= {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}

    def coverage(*arguments: str) -> None:
        command = [sys.executable, "-m", "coverage", *arguments]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)

    coverage("run", "-m", "pytest", "-p", "no:cacheprovider", workers, *FOLDERS)
    coverage("combine", "--quiet")
    coverage("json", "--quiet")

    report = json.loads((tmp_path / "coverage.json").read_text())
    functions = report["files"]["plugins/lines.py"]["functions"]
    found = {name for name, each in functions.items() if name and each["executed_lines"]}
    assert {"feed_itself", "feed_child", "loop_itself", "loop_child"} == found


def test_a_module_that_no_test_imports_is_named(tmp_path: Path) -> None:
    """Coverage itself would not miss it."""
    for name in ("plugins/loop/watch.py", "plugins/loop/new.py", "tests/other.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    measured = [str(tmp_path / "plugins/loop/watch.py"), "/elsewhere/plugins/loop/new.py"]

    assert ["plugins/loop/new.py"] == unmeasured(measured, tmp_path)


@pytest.mark.parametrize("lacks", ["", "plugins/loop/watch.py"])
def test_the_command_reads_the_measurement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lacks: str
) -> None:
    """It fails if a module is missing, and so does tox."""
    files = {str(file) for file in (ROOT / "plugins").rglob("*.py") if file != ROOT / lacks}
    data = SimpleNamespace(read=lambda: None, measured_files=lambda: files)
    monkeypatch.setitem(sys.modules, "coverage", SimpleNamespace(CoverageData=lambda: data))

    assert bool(lacks) == main()
    assert capsys.readouterr().out == (f"{lacks}: imported by no test\n" if lacks else "")
