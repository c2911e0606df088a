"""Whether CMake can build against the installed torch, of which there are different builds."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from plugins.toolchain import ToolchainError
from plugins.toolchain import find_torch


# The package of a CUDA build looks for the CUDA toolkit, whoever asks for it and whatever for.
PROJECT = """\
cmake_minimum_required(VERSION 3.18)
project(probe LANGUAGES CXX)
find_package(Torch REQUIRED)
"""
CUDA_BUILD = re.compile(r"^cuda\b.*= '", re.MULTILINE)
NO_TOOLKIT = (
    "CMake finds no CUDA toolkit, for which the package of this CUDA build of PyTorch asks;"
    " install the toolkit, or a PyTorch for the CPU, which pytorch.org's selector shows"
)


def no_cmake() -> str | None:
    """Return why CMake cannot be used, or finds no torch that it could link with."""
    if not shutil.which("cmake"):
        return "cmake is not on PATH; python -m pip install cmake"
    try:
        torch = find_torch().folder
    except ToolchainError as error:
        return str(error)
    about = (torch / "version.py").read_text(encoding="utf-8")
    # Whoever lacks Ninja is told so by the backend of that name.
    if not CUDA_BUILD.search(about) or not shutil.which("ninja"):
        return None
    return NO_TOOLKIT if "CUDA" in complaint(torch) else None


def complaint(torch: Path) -> str:
    """Return what CMake says of a project that does no more than ask for torch, if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
        where = f"-DCMAKE_PREFIX_PATH={torch / 'share/cmake'}"
        command = ["cmake", "-S", folder, "-B", f"{folder}/build", "-G", "Ninja", where]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own project
        return done.stderr if done.returncode else ""
