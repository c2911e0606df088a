"""``compiled``: kernels compiled for a GPU where there is none."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.ahead import in_child


if TYPE_CHECKING:
    from collections.abc import Callable


pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not find_spec("triton"), reason="Triton is not installed"),
]

ROOT = Path(__file__).parents[1]
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


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module with kernels."""
    (tmp_path / "sample_kernels.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    return "sample_kernels"


def test_each_call_is_compiled_as_it_would_be(sample: str) -> None:
    """With its arguments: 1024 floats are moved by fours, 1023 one by one."""
    calls = {
        "even": "kata.good(torch.empty(1024))",
        "odd": "kata.good(torch.empty(1023), times=2)",
        "wrong": "kata.bad(torch.empty(4))",
        "raises": "kata.good(None)",
        "nothing": "kata.good(torch.empty(3), times=0)",
    }
    found = in_child(sample, calls, ROOT)

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


def test_a_process_that_ends_is_an_assertion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash of the compiler fails the test, with what the process said last."""
    (tmp_path / "sample_crash.py").write_text("raise SystemExit('no more')")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(AssertionError, match=r"ended without an answer:\n(.|\n)*no more"):
        in_child("sample_crash", {}, ROOT)


def test_the_same_calls_are_compiled_once(
    compiled: Callable[..., object], sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all tests of a session."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    kata = importlib.import_module(sample)
    calls = {"even": "kata.good(torch.empty(1024))"}

    assert compiled(kata, calls) is compiled(kata, calls)
