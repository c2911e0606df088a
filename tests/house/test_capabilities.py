"""The devices and backends that the plugins of all wings declare."""

from __future__ import annotations

import pytest

from plugins.cuda import nvcc
from plugins.cuda import triton
from plugins.machine import builtin
from plugins.native import backends as compilers
from plugins.ranks import backends as collectives


def test_the_built_in_backends() -> None:
    """These are the names that katas may use, beside `cxx` of the fixture ``extension``."""
    backends = [
        *compilers.pytest_kata_backends(),
        *triton.pytest_kata_backends(),
        *nvcc.pytest_kata_backends(),
        *collectives.pytest_kata_backends(),
        *builtin.pytest_kata_backends(),
    ]

    assert [
        *("inductor", "cmake", "ninja", "triton", "nvcc"),
        *("gloo", "nccl", "onnxruntime", "torchx", "captum", "mlflow"),
        *("tiktoken", "transformers", "pycocotools", "torchrl"),
        *("torchvision", "torchaudio", "torchrec", "executorch", "tlparse"),
    ] == [backend.name for backend in backends]


@pytest.mark.torch
def test_every_probe_answers_here() -> None:
    """With the real PyTorch none of them raises, and gloo is in every wheel."""
    capabilities = [
        *builtin.pytest_kata_devices(),
        *compilers.pytest_kata_backends(),
        *triton.pytest_kata_backends(),
        *nvcc.pytest_kata_backends(),
        *collectives.pytest_kata_backends(),
        *builtin.pytest_kata_backends(),
    ]

    reasons = {capability.name: capability.missing for capability in capabilities}

    assert not [reason for reason in reasons.values() if reason and "its probe failed" in reason]
    assert reasons["cpu"] is None
    assert reasons["gloo"] is None
