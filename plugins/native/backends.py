"""The backends ``inductor``, ``cmake`` and ``ninja``: what katas that build C++ themselves need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_torch
from plugins.tools.capability import Capability
from plugins.tools.terminal import install_command


# `find_package(Torch)` of a CUDA build requires the CUDA toolkit, even for code without CUDA.
PROJECT = """\
cmake_minimum_required(VERSION 3.18)
project(probe LANGUAGES CXX)
find_package(Torch REQUIRED)
"""
CUDA_BUILD = re.compile(r"^cuda\b.*= '", re.MULTILINE)
NO_TOOLKIT = (
    "CMake finds no CUDA toolkit, which the package of this CUDA build of PyTorch requires;"
    " install the toolkit, or a PyTorch for the CPU, which pytorch.org's selector shows"
)


def pytest_kata_backends() -> list[Capability]:
    """Declare the backends."""
    return [
        Capability("inductor", no_inductor),
        Capability("cmake", no_cmake),
        Capability("ninja", no_ninja),
    ]


def no_inductor() -> str | None:
    """Return why ``torch.compile`` cannot compile for the CPU.

    It needs a compiler and Python.h, and it knows a header again by ``openssl sha512``
    (torch/_inductor/codecache.py: _precompile_header).
    """
    default = "clang++" if sys.platform == "darwin" else "g++"
    compiler = os.environ.get("CXX", default)
    if not shutil.which(compiler):
        return f"Inductor compiles with {compiler}, which is not on PATH; install it or set CXX"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Inductor needs Python.h; install Python's headers (on Debian: python3-dev)"
    if not shutil.which("openssl"):
        return "Inductor needs openssl, which is not on PATH; install it (on Debian: openssl)"
    return None


def no_ninja() -> str | None:
    """Return that Ninja is missing; PyPI has it for every platform."""
    return None if shutil.which("ninja") else f"ninja is not on PATH; {install_command('ninja')}"


def no_cmake() -> str | None:
    """Return why CMake is missing, or cannot build against the installed torch."""
    if not shutil.which("cmake"):
        return f"cmake is not on PATH; {install_command('cmake')}"
    try:
        torch = find_torch().folder
    except ToolchainError as error:
        return str(error)
    about = (torch / "version.py").read_text(encoding="utf-8")
    # The backend ninja reports a missing Ninja.
    if not CUDA_BUILD.search(about) or not shutil.which("ninja"):
        return None
    return NO_TOOLKIT if "CUDA" in find_package_errors(torch) else None


def find_package_errors(torch: Path) -> str:
    """Return what CMake prints when it cannot find the package `torch`; empty if it can."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
        where = f"-DCMAKE_PREFIX_PATH={torch / 'share/cmake'}"
        command = ["cmake", "-S", folder, "-B", f"{folder}/build", "-G", "Ninja", where]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own project
        return done.stderr if done.returncode else ""
