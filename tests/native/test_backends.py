"""Whether CMake can build against the installed torch; CMake itself is a script here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from plugins.cmake import NO_TOOLKIT
from plugins.cmake import no_cmake


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
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def installed(self, cuda: str) -> None:
        """Install a torch that says so of its build, as its wheels do."""
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


def test_a_cuda_build_without_the_toolkit_is_of_no_use(machine: Machine) -> None:
    """The sentence says what CMake looks for, for whom, and the two ways out."""
    machine.program("cmake", CUDA_IS_MISSING)
    machine.installed("'13.2'")

    assert NO_TOOLKIT == no_cmake()


@pytest.mark.parametrize(
    "script",
    ["exit 0", FAILS.format(why="no C++ compiler")],
    ids=["the toolkit is there", "something else is wrong"],
)
def test_a_cuda_build_with_the_toolkit_will_do(machine: Machine, script: str) -> None:
    """What else may be wrong is the test's to say."""
    machine.program("cmake", script)
    machine.installed("'13.2'")

    assert no_cmake() is None


def test_a_build_for_the_cpu_asks_for_nothing(machine: Machine) -> None:
    """CMake is not even run."""
    machine.program("cmake", CUDA_IS_MISSING)
    machine.installed("None")

    assert no_cmake() is None


def test_the_backend_ninja_tells_of_ninja(machine: Machine) -> None:
    """Without it CMake could not be asked as the katas ask it."""
    machine.program("cmake", CUDA_IS_MISSING)
    machine.installed("'13.2'")
    (machine.bin / "ninja").unlink()

    assert no_cmake() is None


def test_what_is_not_installed_is_said(machine: Machine) -> None:
    """CMake, and torch."""
    assert "cmake is not on PATH; python -m pip install cmake" == no_cmake()

    machine.program("cmake")
    assert str(no_cmake()).startswith("torch is not installed; ")
