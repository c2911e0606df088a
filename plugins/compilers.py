"""The backends ``nvcc``, ``triton``, ``inductor``, ``cmake`` and ``ninja``: what builds kernels."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from plugins.capability import Capability


CUDA = "/usr/local/cuda"


def no_nvcc() -> str | None:
    """Return why CUDA sources cannot be compiled; the places are those PyTorch looks in."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), CUDA]
    folders = [str(Path(home, "bin")) for home in homes if home]
    if shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(folders)):
        return None
    return (
        "nvcc is not on PATH; install the CUDA toolkit: https://developer.nvidia.com/cuda-toolkit"
    )


def no_triton() -> str | None:
    """Return why there is no Triton."""
    if find_spec("triton"):
        return None
    return "Triton is not installed; python -m pip install triton (Linux; comes with CUDA builds)"


def no_inductor() -> str | None:
    """Return why ``torch.compile`` cannot compile for the CPU: it needs a compiler and Python.h."""
    default = "clang++" if sys.platform == "darwin" else "g++"
    compiler = os.environ.get("CXX", default)
    if not shutil.which(compiler):
        return f"Inductor compiles with {compiler}, which is not on PATH; install it or set CXX"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Inductor needs Python.h; install Python's headers (on Debian: python3-dev)"
    return None


def no_program(name: str) -> str | None:
    """Return that a program is missing which PyPI has too, for every platform."""
    if shutil.which(name):
        return None
    return f"{name} is not on PATH; python -m pip install {name}"


def pytest_kata_backends() -> list[Capability]:
    """Declare the backends."""
    return [
        Capability("nvcc", no_nvcc),
        Capability("triton", no_triton),
        Capability("inductor", no_inductor),
        Capability("cmake", partial(no_program, "cmake")),
        Capability("ninja", partial(no_program, "ninja")),
    ]
