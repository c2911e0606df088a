"""A CUDA kata on the CPU: what the learner sees of a kernel that is wrong, and what tests count."""

from __future__ import annotations

import shutil
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins import launches
from plugins.launches import Count
from plugins.simt import cut
from plugins.simt import with_sources


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = ("course", "solutions", "randomness", "absent", "backends", "simt", "native", "unbuilt")
HEADER = Path(__file__).parents[1] / "katas/lecture09/csrc/launch.h"
OPERATOR = """// tier: small
#include "launch.h"

static at::Tensor twice(const at::Tensor& x) {
    const at::Tensor y = at::empty(x.sizes(), x.options());
    Launch launch("kata_twice", x);
    launch.in(x, "x").out(y, "y");
    launch(static_cast<int>(x.numel()), pointer<const float>(x), pointer<float>(y));
    return y;
}
TORCH_LIBRARY(lecture01_k01, m) { m.def("twice(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture01_k01, CPU, m) { m.impl("twice", twice); }
"""
KERNEL = """
__global__ void twice(int n, const float* x, float* y) {
    const int i = threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
extern "C" cudaError_t kata_twice(int n, const float* x, float* y, cudaStream_t stream) {
    twice<<<1, 64, 0, stream>>>(n, x, y);
    return cudaGetLastError();
}
"""
TEST = """
import pytest
import torch

pytestmark = pytest.mark.backend("cxx")

def test_twice(extension):
    assert [2, 4] == extension.op("twice")(torch.tensor([1.0, 2.0])).tolist()

def test_counts(extension):
    extension.op("twice")(torch.ones(40))
    (launch,) = extension.launches()
    assert ("twice", 64) == (launch.kernel, launch.threads)
    assert (80, 40) == tuple(launch.count("global", kind).accesses for kind in ("read", "write"))
    assert "k01_cuda.cu:4  global read" in launch.table(), launch.table()
"""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all tests here build, so that headers are compiled once."""
    return tmp_path_factory.mktemp("builds")


@pytest.fixture
def course(course: MiniCourse, builds: Path) -> MiniCourse:
    """A course with the plugins that CUDA katas need."""
    course.plugins(*(f"plugins.{name}" for name in PLUGINS))
    course.monkeypatch.setenv("KATAS_BUILD", str(builds))
    return course


def add(course: MiniCourse, kernel: str, test: str = TEST) -> None:
    """Add the kata whose exercise is `kernel`."""
    csrc = ("csrc/k01_cuda.cu", "csrc/k01_cuda.cpp")
    course.kata("k01_cuda", test, kind="cuda", csrc=csrc, stub=kernel, solution=KERNEL)
    course.write("katas/lecture01/csrc/k01_cuda.cpp", OPERATOR)
    shutil.copy(HEADER, course.katas / "lecture01/csrc/launch.h")


@pytest.mark.torch
def test_a_right_kernel_runs_and_is_counted(course: MiniCourse) -> None:
    """The operator takes tensors of the CPU; a wrong index in the stub is named with its line."""
    add(course, KERNEL.replace("if (i < n) ", ""))

    course.run("--solutions").assert_outcomes(passed=2)
    result = course.run()

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*extension.op(*",
            "E *KernelFault: out of bounds in kernel twice, block (0,0,0)",
            "E *  katas/lecture01/csrc/k01_cuda.cu:4  thread (2,0,0) reads x[[]2]",
            "E *      y[[]i] = x[[]i] + x[[]i];",
            "E *x has 2 elements of 4 bytes.",
        ]
    )
    # The learner's frames are shown, not how PyTorch calls an operator.
    assert "_ops.py" not in result.stdout.str()


@pytest.mark.torch
def test_what_else_can_be_wrong_with_a_kernel(course: MiniCourse) -> None:
    """It is not written, it does not compile, its function is missing, it returns an error."""
    unwritten = "return cudaErrorNotYetImplemented;"
    add(course, KERNEL.replace("return cudaGetLastError();", unwritten))
    course.run().stdout.fnmatch_lines(["E *NotImplementedError: kata_twice is yet to be written*"])

    stub = course.katas / "lecture01/csrc/k01_cuda.cu"
    stub.write_text(KERNEL.replace("threadIdx.x", "threadIdx.w"))
    course.run().stdout.fnmatch_lines(
        ["katas/lecture01/csrc/k01_cuda.cu:3:*: error: *no member named 'w'*"]
    )
    stub.write_text(KERNEL.replace("twice<<<1, 64, 0, stream>>>(n, x, y);", "twice<<<1, 64(n);"))
    course.run().stdout.fnmatch_lines(["katas/lecture01/csrc/k01_cuda.cu:7: <<< has no >>>"])

    stub.write_text(KERNEL.replace("kata_twice", "kata_thrice"))
    course.run().stdout.fnmatch_lines(
        ['E *KernelFault: the .cu file defines no extern "C" function kata_twice*']
    )

    stub.write_text(KERNEL.replace("<<<1, 64", "<<<1, 2048"))
    course.run().stdout.fnmatch_lines(
        ["E *KernelFault: launch refused: twice<<<(1,1,1), (2048,1,1)>>>"]
    )


@pytest.mark.torch
def test_other_errors_stay_as_they_are(course: MiniCourse) -> None:
    """A RuntimeError of PyTorch's; what hypothesis adds to a fault is kept."""
    add(
        course,
        KERNEL.replace("if (i < n) ", "if (i < 3) "),
        TEST.partition("def test_twice")[0] + "from hypothesis import given, strategies as st\n"
        "def test_it(extension):\n    torch.ones(2) + torch.ones(3)\n"
        "@given(n=st.integers(1, 9))\n"
        "def test_sizes(extension, n):\n    extension.op('twice')(torch.ones(n))\n",
    )

    result = course.run()

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["E *RuntimeError: The size of tensor a*", "E *KernelFault: *", "E *n=1,"]
    )


def test_a_traceback_without_frames_of_the_kata_stays(tmp_path: Path) -> None:
    """As that of a hook of somebody else's."""
    with pytest.raises(RuntimeError) as caught:
        int_of_nothing()
    frames = len(caught.traceback)

    cut(caught.value.__traceback__, tmp_path)
    assert frames == len(traceback.extract_tb(caught.value.__traceback__))

    cut(caught.value.__traceback__, Path(__file__).parent)
    assert frames == len(traceback.extract_tb(caught.value.__traceback__))


def int_of_nothing() -> None:
    """Raise an error one frame below the test."""
    raise RuntimeError


def test_a_source_line_is_shown_below_its_place(tmp_path: Path) -> None:
    """If there is such a file and such a line."""
    (tmp_path / "k.cu").write_text("one\n    two\n")
    message = "race\n  k.cu:2  thread 1\n  k.cu:3  thread 2\n  other.cu:1  thread 3"

    shown = "race\n  k.cu:2  thread 1\n      two\n  k.cu:3  thread 2\n  other.cu:1  thread 3"
    assert shown == with_sources(message, tmp_path)


def test_counts_add_up() -> None:
    """Number by number."""
    assert Count(11, 22, 33, 44, 55, 66) == Count(1, 2, 3, 4, 5, 6) + Count(10, 20, 30, 40, 50, 60)


def test_lines_need_a_program_that_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one, counts are still shown."""
    monkeypatch.setenv("PATH", "")

    assert "" == launches.addr2line()
    assert ["line unknown"] * 2 == launches.located(Path("library.so"), [1, 2])
