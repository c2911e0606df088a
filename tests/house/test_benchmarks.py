"""The benchmark for GPUs, as far as a machine without one can tell: it calls what it says."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[1]


@pytest.mark.torch
@pytest.mark.backend("cxx")
def test_every_kernel_computes_what_it_is_compared_with() -> None:
    """At a small size, by the same operators on the CPU."""
    import torch  # noqa: PLC0415 - the harness has tests without torch

    gpu = import_module("benchmarks.gpu")
    works = gpu.works(lambda kata: gpu.built(kata, "cpu"), 12, "cpu")

    assert ["k03", "k04", "k05", "k06", "k07", "k08", "k09", "k10"] == [w.kata for w in works]
    for work in works:
        expected, actual = work.torchs(), work.ours()
        # A transpose may come as a view, a sum of ints as int64.
        actual = actual.reshape(expected.shape).to(expected.dtype)
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.torch
def test_without_a_gpu_it_says_so() -> None:
    """In one line, with an exit code that is not 0."""
    import torch  # noqa: PLC0415 - the harness has tests without torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    command = [sys.executable, "-m", "benchmarks.gpu"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert 1 == done.returncode
    assert done.stderr.startswith("no GPU can be used by this PyTorch")


def test_the_katas_of_the_benchmark_of_watch_exist() -> None:
    """An exercise of each kind, with its tests and its solution."""
    watch = import_module("benchmarks.watch")

    assert {".py", ".cpp", ".cu"} == {Path(name).suffix for name in watch.KATAS.values()}
    for name in watch.KATAS.values():
        lecture, _, file = name.partition("/")
        assert (ROOT / "katas" / name).is_file()
        assert (ROOT / watch.test_of(name)).is_file()
        assert (ROOT / "katas" / lecture / "solutions" / file).is_file()
