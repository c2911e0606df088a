"""The probes of gloo and NCCL look at how PyTorch was built, and at the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.ranks.backends import no_gloo
from plugins.ranks.backends import no_nccl
from plugins.ranks.backends import pytest_kata_backends
from tests.support.fake_torch import install_fake_torch


if TYPE_CHECKING:
    import pytest


def test_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs a PyTorch built with it."""
    install_fake_torch(monkeypatch, connected=True)
    assert no_gloo() is None
    install_fake_torch(monkeypatch, connected=False)
    assert str(no_gloo()).startswith("this PyTorch is built without gloo; ")
    install_fake_torch(monkeypatch, distributed=False)
    assert str(no_gloo()).startswith("this PyTorch is built without gloo; ")


def test_nccl(monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs a GPU and a PyTorch built with NCCL."""
    install_fake_torch(monkeypatch, gpu=True, connected=True)
    assert no_nccl() is None
    install_fake_torch(monkeypatch, gpu=True, connected=False)
    assert str(no_nccl()).startswith("this PyTorch is built without NCCL; ")
    install_fake_torch(monkeypatch, gpu=True, distributed=False)
    assert str(no_nccl()).startswith("this PyTorch is built without NCCL; ")
    install_fake_torch(monkeypatch, gpu=False, connected=True)
    assert "is built without CUDA" in str(no_nccl())


def test_each_backend_has_its_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without a GPU gloo is available and NCCL is not."""
    install_fake_torch(monkeypatch, connected=True)
    gloo, nccl = pytest_kata_backends()

    assert ("gloo", None) == (gloo.name, gloo.missing)
    assert "nccl" == nccl.name
    assert "is built without CUDA" in str(nccl.missing)
