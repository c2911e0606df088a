"""The backends ``gloo`` and ``nccl``, which connect the ranks of ``torch.distributed``."""

from __future__ import annotations

from plugins.machine import builtin
from plugins.tools.capability import Capability


BUILD = "install a wheel from https://pytorch.org/get-started/locally/"


def no_gloo() -> str | None:
    """Return why ranks cannot talk on the CPU, or None if they can."""
    from torch import distributed  # noqa: PLC0415 - importing a plugin imports no torch

    if distributed.is_available() and distributed.is_gloo_available():
        return None
    return f"this PyTorch is built without gloo; {BUILD}"


def no_nccl() -> str | None:
    """Return why ranks cannot talk between GPUs: no GPU, or a build without NCCL."""
    if reason := builtin.no_cuda():
        return reason
    from torch import distributed  # noqa: PLC0415 - importing a plugin imports no torch

    if distributed.is_available() and distributed.is_nccl_available():
        return None
    return f"this PyTorch is built without NCCL; on Linux, {BUILD}"


def pytest_kata_backends() -> list[Capability]:
    """Declare the backends."""
    return [Capability("gloo", no_gloo), Capability("nccl", no_nccl)]
