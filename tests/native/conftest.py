"""A lecture in C++ with a stand-in compiler."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from plugins import ROOT


COMPILER = Path(__file__).with_name("compiler.sh")


@pytest.fixture
def lecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a lecture with two sources, a stand-in compiler and a stand-in torch."""
    folder = tmp_path / "katas/lecture01"
    (folder / "csrc").mkdir(parents=True)
    (folder / "csrc/k01.cpp").write_text("// tier: small\n")
    (folder / "csrc/k02.cpp").write_text("// tier: small\nWRONG")
    shutil.copy(COMPILER, tmp_path / "clang++")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("")
    (tmp_path / "torch/version.py").write_text("")
    (tmp_path / "build").mkdir()
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("KATAS_CXX", str(tmp_path / "clang++"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(ROOT))))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for name in ("KATAS_SOLUTIONS", "KATAS_OVERLAY"):
        monkeypatch.delenv(name, raising=False)
    return folder
