"""The answers that a lecture package shows: the learner's, the solutions, or an overlay."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from katas import overlay
from katas import source


if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a lecture's folder with solutions, in an environment without our variables."""
    monkeypatch.delenv("KATAS_SOLUTIONS", raising=False)
    monkeypatch.delenv("KATAS_OVERLAY", raising=False)
    package = tmp_path / "lecture77"
    (package / "solutions/csrc").mkdir(parents=True)
    (package / "csrc").mkdir()
    for folder in (package, package / "solutions"):
        (folder / "k01_first.py").write_text(f"WHOSE = {folder.name!r}\n")
        (folder / "csrc/k02_later.cpp").write_text(f"// {folder.name}\n")
    return package


def test_the_learner_comes_first(package: Path) -> None:
    """Without any variable only the package's own folder is searched."""
    assert overlay([str(package)]) == [str(package)]


def test_solutions_stand_before_the_learner(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that has no solution is still the learner's."""
    monkeypatch.setenv("KATAS_SOLUTIONS", "1")

    assert overlay([str(package)]) == [str(package / "solutions"), str(package)]


def test_an_overlay_stands_before_all(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate's folder wins over the solutions, for the lectures that it has."""
    monkeypatch.setenv("KATAS_SOLUTIONS", "1")
    monkeypatch.setenv("KATAS_OVERLAY", str(tmp_path / "over"))
    without = overlay([str(package)])
    (tmp_path / "over/lecture77").mkdir(parents=True)

    assert without == [str(package / "solutions"), str(package)]
    assert overlay([str(package)]) == [str(tmp_path / "over/lecture77"), *without]


def test_a_spawned_process_sees_the_solutions(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The choice is inherited through the environment, not through pytest's options."""
    lines = "from katas import overlay\n__path__ = overlay(__path__)\n"
    (package / "__init__.py").write_text(lines)
    monkeypatch.setenv("KATAS_SOLUTIONS", "1")
    code = f"import sys; sys.path.insert(0, {str(package.parent)!r})\n"
    code += "from lecture77.k01_first import WHOSE; print(WHOSE)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "solutions\n"


def test_sources_follow_the_same_path(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A C++ source is taken from the first folder of the package that holds it."""
    module = ModuleType("lecture77")
    module.__path__ = [str(package / "solutions"), str(package)]
    monkeypatch.setitem(sys.modules, "lecture77", module)
    found = source("lecture77", "csrc/k02_later.cpp")
    found.unlink()

    assert found == package / "solutions/csrc/k02_later.cpp"
    assert source("lecture77", "csrc/k02_later.cpp") == package / "csrc/k02_later.cpp"


def test_a_missing_source_names_the_folders(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the folders that were searched."""
    module = ModuleType("lecture77")
    module.__path__ = [str(package)]
    monkeypatch.setitem(sys.modules, "lecture77", module)

    with pytest.raises(FileNotFoundError, match=r"lecture77 has no csrc/k09\.cpp; looked in /"):
        source("lecture77", "csrc/k09.cpp")
