"""``compiled``: kernels compiled for a GPU where there is none."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.cuda.triton_compiled import compile_in_child


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType
    from typing import Any

    Compile = Callable[[ModuleType, Mapping[str, str]], Any]


pytestmark = [pytest.mark.torch, pytest.mark.tool("triton")]

SOURCE = """
import os

import torch
import triton
import triton.language as tl

@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

def good(x, times=1):
    assert "TRITON_INTERPRET" not in os.environ
    out = torch.empty_like(x)
    for _ in range(times):
        copy[(1,)](x, out, x.numel(), BLOCK=1024, num_warps=8)

def bad(x):
    copy[(1,)](x, x, x.numel(), BLOCK=1000)
"""
CALLS = {
    "even": "kata.good(torch.empty(1024))",
    "odd": "kata.good(torch.empty(1023), times=2)",
    "wrong": "kata.bad(torch.empty(4))",
    "raises": "kata.good(None)",
    "nothing": "kata.good(torch.empty(3), times=0)",
}


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a module with kernels, which this process would interpret."""
    (tmp_path / "sample_kernels.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    return importlib.import_module("sample_kernels")


def test_each_call_is_compiled_as_it_would_be(compiled: Compile, sample: ModuleType) -> None:
    """For its arguments: 1024 floats are moved in fours, 1023 one by one."""
    found = compiled(sample, CALLS)

    assert ("copy", 1, 8, 0) == (
        found["even"].kernel,
        found["even"].launches,
        found["even"].warps,
        found["even"].shared,
    )
    assert ["ld.global.v4.b32"] == found["even"].instructions("ld.global")
    assert ["ld.global.b32"] * 4 == found["odd"].instructions("ld.global")
    assert found["odd"].lines("st.global")[0].startswith("@%p")
    assert 2 == found["odd"].launches
    assert "arange's range must be a power of 2" in found["wrong"].error
    assert "TypeError: " in found["raises"].error
    assert "no kernel was launched" == found["nothing"].error


def test_a_process_that_ends_without_a_result_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash of the compiler fails the test, with the end of the process's output."""
    # Instead of those that take seconds to import.
    (tmp_path / "torch.py").write_text("")
    runtime = tmp_path / "triton/runtime"
    runtime.mkdir(parents=True)
    (runtime / "driver.py").write_text("class driver: set_active = print")
    (runtime / "jit.py").write_text("class JITFunction: run = None")
    (tmp_path / "sample_crash.py").write_text("raise SystemExit('no more')")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(AssertionError, match=r"ended without an answer:\n(.|\n)*no more"):
        compile_in_child("sample_crash", {}, ROOT)


def test_the_same_calls_are_compiled_once(compiled: Compile, sample: ModuleType) -> None:
    """In a session, however many tests ask for them."""
    assert compiled(sample, CALLS) is compiled(sample, {**CALLS})
