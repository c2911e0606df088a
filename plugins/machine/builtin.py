"""Declares the devices that PyTorch supports, and the optional packages that tests need.

The devices are ``cpu`` (wherever PyTorch is installed), ``cuda`` (an NVIDIA GPU, or an AMD GPU
with a ROCm build of PyTorch) and ``mps`` (the GPU of a Mac with Apple silicon).
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING
from typing import Any

from plugins.tools.capability import Capability
from plugins.tools.terminal import install_command
from plugins.tools.terminal import install_group


if TYPE_CHECKING:
    import pytest


# PyTorch's name for a GPU of NVIDIA's, or of AMD's; also the mark of its tests.
CUDA_DEVICE = "cuda"
# PyTorch's exception for what a device reports.
FAULT = "AcceleratorError"
INSTALL = "https://pytorch.org/get-started/locally/"
# The modules that a test of each imports; PyPI has them under the same names.
PACKAGES = {
    "onnxruntime": ("onnx", "onnxscript", "onnxruntime"),
    "torchx": ("torchx",),
    "captum": ("captum",),
    "mlflow": ("mlflow", "sqlalchemy", "alembic"),
    "tiktoken": ("tiktoken",),
    "transformers": ("transformers",),
    "pycocotools": ("pycocotools",),
    "torchrl": ("torchrl", "tensordict", "gymnasium"),
    "torchvision": ("torchvision",),
    "torchaudio": ("torchaudio",),
    "torchrec": ("fbgemm_gpu", "torchrec"),
}
# The groups of pyproject.toml that pin them, with what they need.
GROUPS = {
    "onnxruntime": "onnx",
    "torchx": "cluster",
    "captum": "captum",
    "mlflow": "registry",
    "tiktoken": "nlp",
    "transformers": "nlp",
    "pycocotools": "coco",
    "torchvision": "vision",
    "torchaudio": "audio",
    "torchrec": "recommenders",
    "torchrl": "rl",
}
# What pip is told beside the group. Without dependencies where katas import no more than it names.
OPTIONS = {"vision": "-U", "audio": "-U", "rl": "--no-deps", "recommenders": "--no-deps"}
# These hold C++ that belongs to one build of torch, so being installed is not enough.
BINARIES = {"torchvision", "torchaudio", "torchrec"}
# PyPI's wheels of these for Linux go with CUDA builds; PyTorch's own index has them for CPU builds.
OF_CUDA_BUILDS = {"vision", "audio"}
CPU_INDEX = "--index-url https://download.pytorch.org/whl/cpu"
# ExecuTorch of the group `edge` exports beside other releases of torch, but does not run there.
EXECUTORCH = "executorch"
EDGE = "2.13"
# A package of this name on PyPI brings the program and no module.
TLPARSE = "tlparse"


def pytest_kata_devices() -> list[Capability]:
    """Declare PyTorch's devices."""
    return [
        Capability("cpu", no_cpu),
        Capability(CUDA_DEVICE, no_cuda),
        Capability("mps", no_mps),
    ]


def no_cpu() -> str | None:
    """Return why no tensor can be made on the CPU, or None."""
    if find_spec("torch") is None:
        return f"PyTorch is not installed; {install_command('-r requirements.txt')}"
    return None


def no_cuda() -> str | None:
    """Return why no GPU can be used, or None.

    The variable makes PyTorch ask NVML, which leaves CUDA uninitialised: the crash guard and
    ``world`` fork this process later. Child processes inherit the variable.
    """
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    import torch  # noqa: PLC0415 - importing a plugin imports no torch

    if torch.cuda.is_available():
        return None
    if torch.version.cuda is None and torch.version.hip is None:
        return (
            f"this PyTorch ({torch.__version__}) is built without CUDA; on a machine with a GPU, "
            f"install a CUDA build: {INSTALL}"
        )
    return (
        f"this PyTorch ({torch.__version__}) finds no GPU; run on a machine that has one and "
        f"its driver (nvidia-smi lists it)"
    )


def has_cuda_context() -> bool:
    """Whether this process has used CUDA, which does not survive a fork; import no torch for it."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return bool(getattr(cuda, "is_initialized", bool)())


def pytest_kata_device_poisoned(item: pytest.Item | pytest.Collector, device: str) -> str | None:
    """Wait for a GPU that this process has used, and return its error if that does not go away.

    Metal does not say whether the process has used it: tests that are marked with it wait for it.
    """
    if device == CUDA_DEVICE and has_cuda_context():
        return error_that_stays(sys.modules["torch"], "cuda")
    if device == "mps" and item.get_closest_marker(device) and "torch" in sys.modules:
        return error_that_stays(sys.modules["torch"], "mps")
    return None


def error_that_stays(torch: Any, backend: str) -> str | None:
    """Return what waiting for a device raises, if it does so twice.

    CUDA documents which errors leave the process in an inconsistent state, so that any further
    work returns the same: an illegal or misaligned address, an illegal instruction, a stack
    overflow, a failed assert, a launch that takes too long or fails, and others of hardware. Any
    error but these is told once.
    """
    text = None
    for _ in range(2):
        try:
            getattr(torch, backend).synchronize()
        except Exception as error:  # noqa: BLE001 - a test may have put anything in place of torch
            if type(error).__name__ != FAULT:
                return None
            text = str(error).strip().partition("\n")[0]
        else:
            return None
    return text


def cuda_architecture() -> str:
    """Return ``sm_90`` for a GPU of compute capability 9.0."""
    import torch  # noqa: PLC0415 - importing a plugin imports no torch

    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def no_mps() -> str | None:
    """Return why Metal cannot be used, or None."""
    import torch  # noqa: PLC0415 - importing a plugin imports no torch

    if torch.backends.mps.is_available():
        return None
    if torch.backends.mps.is_built():
        return "macOS offers no Metal device; use a Mac with Apple silicon and macOS 14 or newer"
    return "this PyTorch is built without MPS; on a Mac with Apple silicon, every wheel contains it"


def pytest_kata_backends() -> list[Capability]:
    """Declare what packages bring."""
    return [
        *(
            Capability(
                name,
                partial(
                    explain_failed_import if name in BINARIES else explain_missing_modules,
                    modules,
                    GROUPS[name],
                ),
            )
            for name, modules in PACKAGES.items()
        ),
        Capability(EXECUTORCH, no_executorch),
        Capability(TLPARSE, partial(explain_missing_program, TLPARSE)),
    ]


def explain_missing_modules(modules: tuple[str, ...], group: str) -> str | None:
    """Return which of `modules` are not installed and how to install their group, or None."""
    absent = [name for name in modules if find_spec(name) is None]
    if not absent:
        return None
    return f"{', '.join(absent)} not installed; {explain_install(group)}"


def explain_failed_import(modules: tuple[str, ...], group: str) -> str | None:
    """Return which of `modules` cannot be imported beside this torch, and how to, or None."""
    if reason := explain_missing_modules(modules, group):
        return reason
    for module in modules:
        try:
            # What it warns of when imported is not ours to mend, whatever `-W` says here.
            with warnings.catch_warnings(action="ignore"):
                import_module(module)
        except (ImportError, OSError, RuntimeError) as error:
            why = f"{module} does not import beside this torch ({error})"
            return f"{why}; {explain_install(group)}"
    return None


def explain_install(group: str) -> str:
    """Return the command that installs a group of pyproject.toml, and what it may lack."""
    command = install_group(group, OPTIONS.get(group, ""))
    if group in OF_CUDA_BUILDS:
        return f"{command}; beside a CPU build of torch on Linux add {CPU_INDEX}"
    return command


def no_executorch() -> str | None:
    """Return why no program for ExecuTorch can be made and run, or None.

    Without dependencies: most of them serve phones of one maker, and no kata imports them.
    """
    if find_spec(EXECUTORCH) is None:
        how = install_group("edge", "--no-deps")
        return f"ExecuTorch is not installed; {how} (36 MB to download, 250 MB on disk)"
    installed = version("torch")
    if not installed.startswith(f"{EDGE}."):
        return f"this ExecuTorch runs beside torch {EDGE}, and torch {installed} is installed"
    return None


def explain_missing_program(name: str) -> str | None:
    """Return how to install the program, or None."""
    if find_program(name):
        return None
    return f"{name} not installed; {install_command(name)}"


def find_program(name: str) -> str | None:
    """Return where the program is: on PATH, or beside a Python whose venv is not activated."""
    return which(name) or which(name, path=Path(sys.executable).parent)
