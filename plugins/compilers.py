"""The backends ``triton``, ``inductor``, ``cmake`` and ``ninja``: what builds kernels."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from plugins.capability import Capability
from plugins.cmake import no_cmake


def no_triton() -> str | None:
    """Return why there is no Triton."""
    if find_spec("triton"):
        return None
    return (
        "Triton is not installed; python -m pip install --group triton, with pip 25.1 or newer "
        "(Linux; 200 MB to download, 700 MB on disk; CUDA builds of PyTorch bring it along)"
    )


def no_inductor() -> str | None:
    """Return why ``torch.compile`` cannot compile for the CPU: it needs a compiler and Python.h."""
    default = "clang++" if sys.platform == "darwin" else "g++"
    compiler = os.environ.get("CXX", default)
    if not shutil.which(compiler):
        return f"Inductor compiles with {compiler}, which is not on PATH; install it or set CXX"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Inductor needs Python.h; install Python's headers (on Debian: python3-dev)"
    return None


def no_ninja() -> str | None:
    """Return that there is no Ninja, which PyPI has for every platform."""
    return None if shutil.which("ninja") else "ninja is not on PATH; python -m pip install ninja"


def pytest_kata_backends() -> list[Capability]:
    """Declare the backends."""
    return [
        Capability("triton", no_triton),
        Capability("inductor", no_inductor),
        Capability("cmake", no_cmake),
        Capability("ninja", no_ninja),
    ]
