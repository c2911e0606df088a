"""The device ``cuda``: an NVIDIA GPU, or an AMD GPU with a ROCm build of PyTorch."""

from __future__ import annotations

import os

from plugins.capability import Capability


INSTALL = "https://pytorch.org/get-started/locally/"


def missing() -> str | None:
    """Return why no GPU can be used, or None.

    Asking the driver through NVML leaves CUDA uninitialised, so that this process can still
    fork: the crash guard and ``world`` do. Child processes inherit the variable.
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


def pytest_kata_devices() -> list[Capability]:
    """Declare the device."""
    return [Capability("cuda", missing)]
