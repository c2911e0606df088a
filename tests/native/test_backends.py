"""Whether CMake, Ninja and Inductor can build; the programs are stand-ins."""

from __future__ import annotations

import sys
import sysconfig
from typing import TYPE_CHECKING

import pytest

from plugins.native.backends import NO_TOOLKIT
from plugins.native.backends import no_cmake
from plugins.native.backends import no_inductor
from plugins.native.backends import no_ninja
from plugins.native.backends import pytest_kata_backends
from plugins.tools.terminal import install_command
from tests.support.programs import write_program


if TYPE_CHECKING:
    from pathlib import Path


FAILS = "echo 'CMake Error: {why}' >&2; exit 1"
CUDA_IS_MISSING = FAILS.format(why="Your installed Caffe2 version uses CUDA but I cannot find it")


class Machine:
    """A machine with programs and a torch that a test chooses."""

    def __init__(self, path: Path) -> None:
        self.bin = path / "bin"
        self.bin.mkdir()
        self.torch = path / "site/torch"

    def program(self, name: str, script: str = "") -> None:
        """Put a program on PATH."""
        write_program(self.bin, name, script)

    def installed(self, cuda: str) -> None:
        """Install a torch with this version of CUDA in its ``version.py``."""
        self.torch.mkdir(parents=True)
        (self.torch / "__init__.py").write_text("raise AssertionError")
        (self.torch / "version.py").write_text(
            f"from typing import Optional\n\ncuda: Optional[str] = {cuda}\nhip = 'no'\n"
        )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine with Ninja, and nothing else."""
    machine = Machine(tmp_path)
    machine.program("ninja")
    monkeypatch.setenv("PATH", str(machine.bin))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    return machine


def test_a_cuda_build_needs_the_toolkit(machine: Machine) -> None:
    """The message says what CMake misses, which package requires it, and the two ways out."""
    machine.program("cmake", CUDA_IS_MISSING)
    machine.installed("'13.2'")

    assert NO_TOOLKIT == no_cmake()


@pytest.mark.parametrize(
    "script",
    ["exit 0", FAILS.format(why="no C++ compiler")],
    ids=["the toolkit is there", "something else is wrong"],
)
def test_a_cuda_build_with_the_toolkit_is_enough(machine: Machine, script: str) -> None:
    """Other errors of CMake are left to the test."""
    machine.program("cmake", script)
    machine.installed("'13.2'")

    assert no_cmake() is None


def test_a_build_for_the_cpu_needs_no_toolkit(machine: Machine) -> None:
    """CMake is not even run."""
    machine.program("cmake", CUDA_IS_MISSING)
    machine.installed("None")

    assert no_cmake() is None


def test_a_missing_ninja_is_left_to_its_backend(machine: Machine) -> None:
    """Without it CMake cannot be run as the katas run it."""
    machine.program("cmake", CUDA_IS_MISSING)
    machine.installed("'13.2'")
    (machine.bin / "ninja").unlink()

    assert no_cmake() is None


def test_cmake_and_torch_may_be_missing(machine: Machine) -> None:
    """The message says how to install them."""
    assert f"cmake is not on PATH; {install_command('cmake')}" == no_cmake()

    machine.program("cmake")
    assert str(no_cmake()).startswith("torch is not installed; ")


@pytest.mark.parametrize(("platform", "compiler"), [("linux", "g++"), ("darwin", "clang++")])
def test_inductor_needs_a_compiler_and_headers(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, platform: str, compiler: str
) -> None:
    """The platform's compiler, or the one that CXX names, and Python.h."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(machine.bin))

    assert str(no_inductor()).startswith(f"Inductor compiles with {compiler}, ")
    monkeypatch.setenv("CXX", "c++-99")
    machine.program(compiler)
    assert str(no_inductor()).startswith("Inductor compiles with c++-99, ")
    monkeypatch.delenv("CXX")
    assert str(no_inductor()).startswith("Inductor needs Python.h; ")
    (machine.bin / "Python.h").touch()
    assert str(no_inductor()).startswith("Inductor needs openssl, ")
    machine.program("openssl")
    assert no_inductor() is None


def test_cmake_and_ninja_are_programs(machine: Machine) -> None:
    """And packages of the same names; each backend has its own probe."""
    inductor, cmake, ninja = pytest_kata_backends()

    assert ["inductor", "cmake", "ninja"] == [each.name for each in (inductor, cmake, ninja)]
    assert f"cmake is not on PATH; {install_command('cmake')}" == cmake.missing
    assert ninja.missing is None
    (machine.bin / "ninja").unlink()
    assert f"ninja is not on PATH; {install_command('ninja')}" == no_ninja()
