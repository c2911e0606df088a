"""The probes of PyTorch's devices and of the runtimes, and the advice they give."""

from __future__ import annotations

import ast
import importlib
import os
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import HERE
from plugins.machine import builtin
from plugins.tools.terminal import install_command
from plugins.tools.terminal import install_group
from tests.support.fake_torch import NVML
from tests.support.fake_torch import install_fake_torch


if TYPE_CHECKING:
    from pathlib import Path


RL = ("torchrl", "tensordict", "gymnasium")


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the only place to import from."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    optional = ("onnx", "onnxscript", "onnxruntime", "executorch", "torchx", "captum", "mlflow")
    for name in ("torch", *optional, "tiktoken", "transformers", "torchvision", *RL):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_the_devices() -> None:
    """These are the names that katas may use, in the order of the ids."""
    assert ["cpu", "cuda", "mps"] == [device.name for device in builtin.pytest_kata_devices()]


def test_cpu(modules: Path) -> None:
    """The CPU needs PyTorch to be installed; the probe does not import it."""
    how = install_command("-r requirements.txt")
    assert f"PyTorch is not installed; {how}" == builtin.no_cpu()
    (modules / "torch.py").write_text("raise AssertionError")
    assert builtin.no_cpu() is None


def test_cuda_is_asked_through_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is set before PyTorch is asked, so the process can still fork."""
    install_fake_torch(monkeypatch, gpu=True, built=("13.0", None))

    assert builtin.no_cuda() is None
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
    install_fake_torch(monkeypatch, built=built)

    assert expected in str(builtin.no_cuda())


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
    install_fake_torch(monkeypatch, metal=metal)

    assert str(builtin.no_mps()).startswith(expected)


def test_packages(modules: Path) -> None:
    """An export's own modules are needed too; the command names their group."""
    backends = {each.name: each for each in builtin.pytest_kata_backends()}
    onnx, torchx, captum, mlflow, transformers, torchrl = (
        backends[name]
        for name in ("onnxruntime", "torchx", "captum", "mlflow", "transformers", "torchrl")
    )

    (modules / "onnx.py").touch()
    how = install_group("onnx")
    assert f"onnxscript, onnxruntime not installed; {how}" == onnx.missing
    assert f"torchx not installed; {install_group('cluster')}" == torchx.missing
    assert f"captum not installed; {install_group('captum')}" == captum.missing
    how = install_group("registry")
    assert f"mlflow, sqlalchemy, alembic not installed; {how}" == mlflow.missing
    assert f"transformers not installed; {install_group('nlp')}" == transformers.missing
    how = install_group("rl", "--no-deps")
    assert f"torchrl, tensordict, gymnasium not installed; {how}" == torchrl.missing
    assert builtin.explain_missing_modules(("onnx",), "onnx") is None


def test_a_package_that_belongs_to_another_torch(modules: Path) -> None:
    """It is installed, and its library asks for symbols that this torch lacks."""
    how = f"{install_group('vision', '-U')}; beside a CPU build of torch on Linux add --index-url"
    vision = next(each for each in builtin.pytest_kata_backends() if each.name == "torchvision")
    again = replace(vision)
    solved = replace(vision)

    assert str(vision.missing).startswith(f"torchvision not installed; {how}")
    (modules / "torchvision.py").write_text("raise RuntimeError('no such\\noperator')")
    expected = f"torchvision does not import beside this torch (no such operator); {how}"
    assert str(again.missing).startswith(expected)
    (modules / "torchvision.py").write_text("")
    importlib.invalidate_caches()
    assert solved.missing is None


def test_executorch(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes by a group, without its dependencies, and runs beside one release of torch."""
    *_, executorch, _ = builtin.pytest_kata_backends()
    how = install_group("edge", "--no-deps")
    expected = f"ExecuTorch is not installed; {how} (36 MB to download, 250 MB on disk)"
    assert "executorch" == executorch.name
    assert expected == executorch.missing

    (modules / "executorch.py").touch()
    monkeypatch.setattr(builtin, "version", lambda _: "2.11.0+cpu")
    expected = "this ExecuTorch runs beside torch 2.13, and torch 2.11.0+cpu is installed"
    assert expected == builtin.no_executorch()
    monkeypatch.setattr(builtin, "version", lambda _: "2.13.0")
    assert builtin.no_executorch() is None


def test_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts on PATH, and beside the running Python: not every venv is activated."""
    *_, tlparse = builtin.pytest_kata_backends()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    assert "tlparse" == tlparse.name
    assert f"tlparse not installed; {install_command('tlparse')}" == tlparse.missing

    for folder in ("path", "venv"):
        program = tmp_path / folder / "tlparse"
        program.parent.mkdir()
        program.touch(mode=0o755)
        assert str(program) == builtin.find_program("tlparse")
        assert builtin.explain_missing_program("tlparse") is None
        program.unlink()


@pytest.mark.torch
def test_the_architecture_is_that_of_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its compute capability, as nvcc's -arch takes it."""
    for capability, architecture in (((9, 0), "sm_90"), ((12, 1), "sm_121")):
        monkeypatch.setattr("torch.cuda.get_device_capability", lambda found=capability: found)

        assert architecture == builtin.cuda_architecture()


def test_a_context_is_one_of_an_imported_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch there is none, and the question imports none."""
    monkeypatch.setitem(sys.modules, "torch", None)
    assert not builtin.has_cuda_context()

    for used in (False, True):
        cuda = SimpleNamespace(is_initialized=lambda used=used: used)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        assert used == builtin.has_cuda_context()


class AcceleratorError(RuntimeError):
    """As torch's, which stands in for it."""


CUDA_ERROR = """CUDA error: an illegal memory access was encountered
Search for `cudaErrorIllegalAddress' in https://docs.nvidia.com for more information.
"""


@pytest.mark.parametrize(
    ("errors", "why"),
    [
        ([], None),
        ([AcceleratorError(CUDA_ERROR)] * 2, CUDA_ERROR.splitlines()[0]),
        # The fault of one call: the device goes on.
        ([AcceleratorError("CUDA error: invalid argument")], None),
        # What a test has put in place of the function.
        ([AssertionError("Torch not compiled with CUDA enabled")], None),
        ([RuntimeError("Found no NVIDIA driver on your system")], None),
    ],
    ids=["none", "sticky", "once", "fake", "driver"],
)
@pytest.mark.parametrize("backend", ["cuda", "mps"])
def test_a_fault_that_comes_back_breaks_the_device(
    monkeypatch: pytest.MonkeyPatch, backend: str, errors: list[Exception], why: str | None
) -> None:
    """PyTorch's GPUs are waited for twice, since only some errors last as long as the process."""
    left = errors.copy()

    def synchronize() -> None:
        if left:
            raise left.pop(0)

    device = SimpleNamespace(is_initialized=lambda: True, synchronize=synchronize)
    torch = SimpleNamespace(**{backend: device})
    monkeypatch.setitem(sys.modules, "torch", torch)
    item: Any = SimpleNamespace(get_closest_marker=lambda name: name == "mps")

    assert why == builtin.pytest_kata_device_poisoned(item, backend)
    assert [] == left


def test_a_device_that_was_not_used_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before torch is imported, CUDA is initialised, or a test is marked with Metal."""
    item: Any = SimpleNamespace(get_closest_marker=lambda _: True)
    other: Any = SimpleNamespace(get_closest_marker=lambda _: None)
    ask = builtin.pytest_kata_device_poisoned

    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert [None] * 3 == [ask(item, name) for name in ("cpu", "cuda", "mps")]

    unused = SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", unused)
    assert [None] * 3 == [ask(other, name) for name in ("cpu", "cuda", "mps")]


# Other things that are called so: the kind of a kata, and Triton's compiler for these GPUs.
SAME_WORD = {"course/model.py", "cuda/triton_compiled.py"}


def names_cuda(file: Path) -> bool:
    """Whether a module names the device, or asks torch about it."""
    return any(
        (isinstance(node, ast.Constant) and node.value == builtin.CUDA_DEVICE)
        or (
            isinstance(node, ast.Attribute)
            and node.attr == "cuda"
            and isinstance(node.value, ast.Name)
            and node.value.id == "torch"
        )
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    )


def test_cuda_is_named_by_its_device_alone() -> None:
    """Whatever else needs to know asks this module, so that a device is added in one place."""
    files = [file for file in HERE.rglob("*.py") if names_cuda(file)]

    assert {"machine/builtin.py", *SAME_WORD} == {
        file.relative_to(HERE).as_posix() for file in files
    }
