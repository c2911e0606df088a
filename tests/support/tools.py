"""The programs that some tests need: ``@pytest.mark.tool("chromium")`` skips without it."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.cuda.nvcc import no_nvcc
from plugins.cuda.triton import no_triton
from plugins.machine.builtin import GROUPS
from plugins.machine.builtin import PACKAGES
from plugins.machine.builtin import explain_missing_modules
from plugins.native.backends import no_inductor
from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_compiler
from plugins.tools.terminal import install_group
from tests.support import browser
from tests.support import slurm


if TYPE_CHECKING:
    from collections.abc import Callable


def no_clang() -> str | None:
    """Return why C++ katas are not built by clang."""
    with suppress(ToolchainError):
        if find_compiler().clang:
            return None
    return "clang++ is not on PATH: apt install clang"


def no_gxx() -> str | None:
    """Return why there is no g++."""
    return None if shutil.which("g++") else "g++ is not on PATH: apt install g++"


def no_uv() -> str | None:
    """Return why there is no uv."""
    return None if shutil.which("uv") else f"uv is not on PATH: {install_group('lowest')}"


def no_onnx() -> str | None:
    """Return why no model can be exported to ONNX and run."""
    return explain_missing_modules(PACKAGES["onnxruntime"], GROUPS["onnxruntime"])


def no_kubernetes() -> str | None:
    """Return why TorchX cannot write a job for Kubernetes."""
    if find_spec("kubernetes"):
        return None
    return f"the client of Kubernetes is not installed: {install_group('kubernetes')}"


# Names the folder with the plugins of pytest that learners have most.
NEIGHBOURS = "KATAS_NEIGHBOURS"


def no_neighbours() -> str | None:
    """Return why other plugins of pytest cannot be tried."""
    folder = os.environ.get(NEIGHBOURS, "")
    if folder and Path(folder).is_dir():
        return None
    return (
        f"other plugins are not installed: {install_group('neighbours', '--no-deps --target DIR')},"
        f" and {NEIGHBOURS}=DIR"
    )


# By name: why it cannot be used here, or None.
TOOLS: dict[str, Callable[[], str | None]] = {
    "chromium": browser.missing,
    "clang++": no_clang,
    "g++": no_gxx,
    "inductor": no_inductor,
    "kubernetes": no_kubernetes,
    "neighbours": no_neighbours,
    "nvcc": no_nvcc,
    "onnx": no_onnx,
    "slurm": slurm.missing,
    "triton": no_triton,
    "uv": no_uv,
}
