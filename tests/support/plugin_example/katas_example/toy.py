"""Registers the device ``toy``, which toy.cpp implements on PyTorch's key PrivateUse1."""

from __future__ import annotations

import types
from pathlib import Path

import torch
from torch.utils.backend_registration import rename_privateuse1_backend


def register() -> None:
    """Load the library, name the device and add ``torch.toy``, which PyTorch asks about it."""
    (library,) = Path(__file__).parent.glob("libtoy*.so")
    torch.ops.load_library(library)
    rename_privateuse1_backend("toy")
    module = types.ModuleType("torch.toy")
    vars(module).update(
        is_available=lambda: True,
        device_count=lambda: 1,
        current_device=lambda: 0,
        manual_seed_all=lambda _seed: None,
        _is_in_bad_fork=lambda: False,
        # What has broken the device until the process ends; a GPU's driver would know.
        fault=None,
    )
    torch._register_device_module("toy", module)  # noqa: SLF001 - there is no other way
