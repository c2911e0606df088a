"""The environment beside the domain libraries: the tests it keeps, and its stand-ins for CUDA."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.machine import builtin
from tests.domains import LIBRARIES
from tests.standins import Missing
from tests.standins import build
from tests.standins import read_missing


if TYPE_CHECKING:
    from pathlib import Path


LOADER = """\
\tlinux-vdso.so.1 (0x00007ffe)
\tlibc10.so => /torch/lib/libc10.so (0x00007f01)
\tlibgpu.so.13 => not found
\tlibgpu_helper.so => not found
undefined symbol: PyList_New\t(./lib.so)
undefined symbol: _Py_Dealloc\t(./lib.so)
undefined symbol: launch, version libgpu.so.13\t(./lib.so)
undefined symbol: _ZN3gpu4helpEv\t(./lib.so)
"""
SYMBOLS = """\
                 U launch@libgpu.so.13
                 U malloc@GLIBC_2.2.5
                 U _ZN3gpu4helpEv
"""


def test_what_is_missing() -> None:
    """Not the symbols of the interpreter, nor those that the loader finds."""
    expected = Missing(
        frozenset({"libgpu.so.13", "libgpu_helper.so"}),
        frozenset({("launch", "libgpu.so.13"), ("_ZN3gpu4helpEv", "")}),
    )

    assert expected == read_missing(LOADER, SYMBOLS)


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-ins are for Linux")
@pytest.mark.tool("g++")
def test_a_library_loads_beside_stand_ins(tmp_path: Path) -> None:
    """It calls what is missing, with a version and without, and gets 0."""
    source = "int launch(void); int help(void); int call(void) { return 5 + launch() + help(); }"
    (tmp_path / "lib.c").write_text(source)
    names = Missing(
        frozenset({"libgpu.so.13", "libgpu_helper.so"}),
        frozenset({("launch", "libgpu.so.13"), ("help", "")}),
    )
    for path in build(names, tmp_path / "linked"):
        assert path.is_file()
    linked = [f"{tmp_path}/linked/libgpu.so.13", f"{tmp_path}/linked/libgpu_helper.so"]
    command = ["gcc", "-shared", "-fPIC", "-o", "lib.so", "lib.c", *linked]
    subprocess.run(command, cwd=tmp_path, check=True)

    code = "import ctypes; print(ctypes.CDLL('./lib.so').call())"
    environment = {"LD_LIBRARY_PATH": str(tmp_path / "linked")}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=True
    )
    assert b"5\n" == run.stdout


def test_the_libraries_are_backends_and_come_with_the_environment() -> None:
    """Each is declared; the groups that pin it are those of `tox -e domains`."""
    assert {each.name for each in builtin.pytest_kata_backends()} >= LIBRARIES
    tox = (ROOT / "tox.ini").read_text("utf-8")
    section = tox.partition("[testenv:domains]")[2].partition("[testenv:")[0]
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    named = [pin for group in section.split() for pin in pins.get(group, ())]
    installed = {pin.partition("==")[0] for pin in named if isinstance(pin, str)}

    assert installed >= LIBRARIES


def test_a_skipped_test_fails_there(tmp_path: Path) -> None:
    """A library that does not import would leave nothing to compare with, and a green run."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n"
        '@pytest.mark.backend("torchvision")\ndef test_skipped(): pytest.skip("not here")\n\n'
        "def test_other(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "tests.domains", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, "-c", "/dev/null", "-q", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == run.returncode
    assert "skipped where nothing may be missing" in run.stdout
    assert "1 failed, 1 deselected" in run.stdout
