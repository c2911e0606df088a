"""What the probes of the built-in devices and backends look at, and what they advise."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from plugins import collectives
from plugins import compilers
from plugins import cpu
from plugins import cuda
from plugins import mps
from plugins import nvcc
from plugins import runtimes


if TYPE_CHECKING:
    from pathlib import Path


NVML = "PYTORCH_NVML_BASED_CUDA_CHECK"


def stand_in(
    monkeypatch: pytest.MonkeyPatch,
    *,
    gpu: bool = False,
    built: tuple[str | None, str | None] = (None, None),
    metal: tuple[bool, bool] = (False, False),
    distributed: bool = True,
    connected: bool = False,
) -> None:
    """Let a PyTorch be imported that claims to be so built and to find this."""
    monkeypatch.delenv(NVML, raising=False)
    torch = SimpleNamespace(
        __version__="9.9.9",
        version=SimpleNamespace(cuda=built[0], hip=built[1]),
        cuda=SimpleNamespace(is_available=lambda: gpu and os.environ[NVML] == "1"),
        backends=SimpleNamespace(
            mps=SimpleNamespace(is_built=lambda: metal[0], is_available=lambda: metal[1])
        ),
        # Without USE_DISTRIBUTED the module has is_available() and nothing else.
        distributed=SimpleNamespace(is_available=lambda: False),
    )
    if distributed:
        torch.distributed = SimpleNamespace(
            is_available=lambda: True,
            is_gloo_available=lambda: connected,
            is_nccl_available=lambda: connected,
        )
    monkeypatch.setitem(sys.modules, "torch", torch)


def an_executable(file: Path) -> Path:
    """Write a program and return its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file.parent


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the only place to import from."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in ("torch", "triton", "onnx", "onnxscript", "onnxruntime", "executorch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_cpu(modules: Path) -> None:
    """The CPU needs PyTorch to be installed, which is told without importing it."""
    assert "PyTorch is not installed; python -m pip install -r requirements.txt" == cpu.missing()
    (modules / "torch.py").write_text("raise AssertionError")
    assert cpu.missing() is None
    assert ["cpu"] == [device.name for device in cpu.pytest_kata_devices()]


def test_cuda_is_asked_through_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is set before PyTorch is asked, so that the process can still fork."""
    stand_in(monkeypatch, gpu=True, built=("13.0", None))

    assert cuda.missing() is None
    assert "1" == os.environ[NVML]


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        ((None, None), "this PyTorch (9.9.9) is built without CUDA; on a machine with a GPU"),
        (("13.0", None), "this PyTorch (9.9.9) finds no GPU; run on a machine that has one"),
        ((None, "7.2"), "this PyTorch (9.9.9) finds no GPU; run on a machine that has one"),
    ],
    ids=["cpu", "cuda", "rocm"],
)
def test_cuda_is_missing(
    monkeypatch: pytest.MonkeyPatch, built: tuple[str | None, str | None], expected: str
) -> None:
    """The advice depends on what this PyTorch was built for."""
    stand_in(monkeypatch, built=built)

    assert expected in str(cuda.missing())


@pytest.mark.parametrize(
    ("metal", "expected"),
    [
        ((True, True), "None"),
        ((True, False), "macOS offers no Metal device; "),
        ((False, False), "this PyTorch is built without MPS; "),
    ],
    ids=["here", "built", "elsewhere"],
)
def test_mps(monkeypatch: pytest.MonkeyPatch, metal: tuple[bool, bool], expected: str) -> None:
    """A wheel for macOS on a Mac that is too old differs from a wheel for Linux."""
    stand_in(monkeypatch, metal=metal)

    assert str(mps.missing()).startswith(expected)


def test_triton(modules: Path) -> None:
    """It needs the package."""
    assert str(compilers.no_triton()).startswith("Triton is not installed; ")
    (modules / "triton.py").touch()
    assert compilers.no_triton() is None


@pytest.mark.parametrize(("platform", "compiler"), [("linux", "g++"), ("darwin", "clang++")])
def test_inductor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, compiler: str
) -> None:
    """It needs the platform's compiler, or the one CXX names, and Python's headers."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))

    assert str(compilers.no_inductor()).startswith(f"Inductor compiles with {compiler}, ")
    monkeypatch.setenv("CXX", "c++-99")
    an_executable(tmp_path / compiler)
    assert str(compilers.no_inductor()).startswith("Inductor compiles with c++-99, ")
    monkeypatch.delenv("CXX")
    assert str(compilers.no_inductor()).startswith("Inductor needs Python.h; ")
    (tmp_path / "Python.h").touch()
    assert compilers.no_inductor() is None


def test_cmake_and_ninja(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are programs, and packages of the same names."""
    monkeypatch.setenv("PATH", str(tmp_path))
    *_, cmake, ninja = compilers.pytest_kata_backends()

    assert "cmake is not on PATH; python -m pip install cmake" == cmake.missing
    an_executable(tmp_path / "ninja")
    assert ninja.missing is None


def test_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a matter of how PyTorch was built."""
    stand_in(monkeypatch, connected=True)
    assert collectives.no_gloo() is None
    stand_in(monkeypatch, connected=False)
    assert str(collectives.no_gloo()).startswith("this PyTorch is built without gloo; ")
    stand_in(monkeypatch, distributed=False)
    assert str(collectives.no_gloo()).startswith("this PyTorch is built without gloo; ")


def test_nccl(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a GPU and a build with NCCL."""
    stand_in(monkeypatch, gpu=True, connected=True)
    assert collectives.no_nccl() is None
    stand_in(monkeypatch, gpu=True, connected=False)
    assert str(collectives.no_nccl()).startswith("this PyTorch is built without NCCL; ")
    stand_in(monkeypatch, gpu=True, distributed=False)
    assert str(collectives.no_nccl()).startswith("this PyTorch is built without NCCL; ")
    stand_in(monkeypatch, gpu=False, connected=True)
    assert "is built without CUDA" in str(collectives.no_nccl())


def test_runtimes(modules: Path) -> None:
    """What an export needs is missing too, and the command names what is not there."""
    onnx, executorch = runtimes.pytest_kata_backends()

    (modules / "onnx.py").touch()
    expected = "onnxscript, onnxruntime not installed; python -m pip install onnxscript onnxruntime"
    assert expected == onnx.missing
    assert "executorch not installed; python -m pip install executorch" == executorch.missing
    assert runtimes.lacking(("onnx",)) is None


def test_the_built_in_backends() -> None:
    """These are the names that katas may use, the one for C++ aside."""
    backends = [
        *compilers.pytest_kata_backends(),
        *nvcc.pytest_kata_backends(),
        *collectives.pytest_kata_backends(),
        *runtimes.pytest_kata_backends(),
    ]

    assert [
        *("triton", "inductor", "cmake", "ninja", "nvcc"),
        *("gloo", "nccl", "onnxruntime", "executorch"),
    ] == [backend.name for backend in backends]


@pytest.mark.torch
def test_every_probe_answers_here() -> None:
    """With the real PyTorch none of them raises, and gloo is in every wheel."""
    capabilities = [
        *cpu.pytest_kata_devices(),
        *cuda.pytest_kata_devices(),
        *mps.pytest_kata_devices(),
        *compilers.pytest_kata_backends(),
        *nvcc.pytest_kata_backends(),
        *collectives.pytest_kata_backends(),
        *runtimes.pytest_kata_backends(),
    ]

    reasons = {capability.name: capability.missing for capability in capabilities}

    assert not [reason for reason in reasons.values() if reason and "its probe failed" in reason]
    assert reasons["cpu"] is None
    assert reasons["gloo"] is None
