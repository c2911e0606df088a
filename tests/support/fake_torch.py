"""A module that stands in for PyTorch: a test chooses how it was built and what it finds."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import pytest


NVML = "PYTORCH_NVML_BASED_CUDA_CHECK"


def install_fake_torch(
    monkeypatch: pytest.MonkeyPatch,
    *,
    gpu: bool = False,
    built: tuple[str | None, str | None] = (None, None),
    metal: tuple[bool, bool] = (False, False),
    distributed: bool = True,
    connected: bool = False,
) -> None:
    """Make ``import torch`` return a PyTorch built like this, which finds a GPU or none.

    `built` has the versions of CUDA and HIP; `metal`, whether MPS is built and available;
    `connected`, whether gloo and NCCL are built.
    """
    monkeypatch.delenv(NVML, raising=False)
    torch = SimpleNamespace(
        __version__="9.9.9",
        version=SimpleNamespace(cuda=built[0], hip=built[1]),
        cuda=SimpleNamespace(is_available=lambda: gpu and os.environ[NVML] == "1"),
        backends=SimpleNamespace(
            mps=SimpleNamespace(is_built=lambda: metal[0], is_available=lambda: metal[1])
        ),
        # Built without USE_DISTRIBUTED, the module has is_available() and nothing else.
        distributed=SimpleNamespace(is_available=lambda: False),
    )
    if distributed:
        torch.distributed = SimpleNamespace(
            is_available=lambda: True,
            is_gloo_available=lambda: connected,
            is_nccl_available=lambda: connected,
        )
    monkeypatch.setitem(sys.modules, "torch", torch)
