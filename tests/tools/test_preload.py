"""A run tells the process that forked it which modules it had to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from plugins import ROOT
from plugins.tools import preload as module
from plugins.tools.preload import Preload


# What the process that stays imports for a kata of lecture 10: no thread, and no device.
COUNT = """
import os
import sys
import torch

from plugins.tools.preload import Preload

def tasks():
    return len(os.listdir("/proc/self/task"))

before, late = tasks(), Preload()
os.write(late._writer, "".join(f"{name}\\n" for name in sys.argv[1:]).encode())
late.catch_up()
print(tasks() - before, all(name in sys.modules for name in sys.argv[1:]))
print("initialized" if torch.cuda.is_initialized() else "")
"""
# Those that import the most of torch, and what an export to ONNX imports.
MANY = (
    *("torch._dynamo", "torch._inductor.compile_fx", "torch._inductor.select_algorithm"),
    *("torch._dynamo.repro.after_dynamo", "torch.utils.cpp_extension"),
    *("torch.testing._internal.common_methods_invocations", "torch.fx.experimental.validator"),
)
EXPORTER = (
    "torch.onnx._internal.exporter._core",
    "onnxscript.function_libs.torch_lib.ops",
    "onnx_ir.passes.common",
)


def forget(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make modules ones that are not imported."""
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_what_a_run_imports_is_there_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only modules of the packages listed; not those that were imported when it began."""
    monkeypatch.setattr(module, "PACKAGES", {"string", "made_up"})
    forget(monkeypatch, "string", "colorsys")
    late = Preload()
    late.catch_up()
    for name in ("made_up.by_a_test", "string", "colorsys"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    late.pytest_sessionfinish()
    forget(monkeypatch, "made_up.by_a_test", "string", "colorsys")

    assert late.catch_up()
    assert "string" in sys.modules
    assert not {"made_up.by_a_test", "colorsys"} & {*sys.modules}
    # What could not be imported is not tried again.
    monkeypatch.setitem(sys.modules, "made_up.by_a_test", ModuleType("made_up"))
    late.pytest_sessionfinish()
    assert not late.catch_up()


def test_more_names_than_the_pipe_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run does not wait, and no name is cut: the rest comes with the next run."""
    names = [f"made_up.of_a_test_{number:04}" for number in range(4000)]
    asked: list[str] = []
    monkeypatch.setattr(module, "PACKAGES", {"made_up"})
    late = Preload()
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr("importlib.import_module", asked.append)
    late.pytest_sessionfinish()
    late.pytest_sessionfinish()
    # The second text finds no room in the pipe.
    forget(monkeypatch, *names)

    late.catch_up()
    assert names[: len(asked)] == asked
    assert len(asked) in range(2000, 3000)


@pytest.mark.torch
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="Linux alone has /proc/self/task")
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(MANY, id="torch"),
        pytest.param(EXPORTER, id="onnx", marks=pytest.mark.tool("onnx")),
    ],
)
def test_no_import_starts_a_thread_or_a_device(names: tuple[str, ...]) -> None:
    """A fork has one thread: another would be missing, with the locks that it holds."""
    command = [sys.executable, "-W", "ignore", "-c", COUNT, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ["0", "True"] == done.stdout.split(), done.stderr
