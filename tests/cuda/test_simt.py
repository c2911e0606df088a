"""A CUDA kata on the CPU: the message of a kernel's fault, and the counts that tests read."""

from __future__ import annotations

import shutil
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.cuda.simt import add_source_lines
from plugins.cuda.simt import drop_inner_frames
from plugins.cuda.simt import pytest_kata_extension
from plugins.native.extension import Extension
from tests.support.builds import share_headers
from tests.support.cudakata import HEADER
from tests.support.cudakata import KERNEL
from tests.support.cudakata import OPERATOR
from tests.support.native import native_kata
from tests.support.warm import TORCH


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.course.solutions",
    "plugins.course.seeds",
    "plugins.machine.absent",
    "plugins.machine.backends",
    "plugins.cuda.simt",
    "plugins.native.plugin",
)
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
    # A statement reads an address once.
    assert (40, 40) == tuple(launch.count("global", kind).accesses for kind in ("read", "write"))
    assert "k01_cuda.cu:4  global read" in launch.table(), launch.table()
"""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where all tests here build."""
    return share_headers(tmp_path_factory.mktemp("kernels") / "builds", "small", "simt")


@pytest.fixture
def course(course: MiniCourse, builds: Path) -> MiniCourse:
    """Return a course with the plugins that CUDA katas need."""
    course.plugins(*PLUGINS)
    course.imported = TORCH
    course.monkeypatch.setenv("KATAS_BUILD", str(builds))
    return course


def add(course: MiniCourse, kernel: str, test: str = TEST) -> None:
    """Add the kata whose exercise is `kernel`."""
    csrc = ("csrc/k01_cuda.cu", "csrc/k01_cuda.cpp")
    course.kata("k01_cuda", test, kind="cuda", csrc=csrc, stub=kernel, solution=KERNEL)
    course.write("katas/lecture01/csrc/k01_cuda.cpp", OPERATOR)
    shutil.copy(HEADER, course.katas / "lecture01/csrc/launch.h")


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.torch
def test_other_faults_of_a_kernel_have_their_messages(course: MiniCourse) -> None:
    """It is unwritten, does not compile, lacks its function, or is launched with too much."""
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


@pytest.mark.slow
@pytest.mark.torch
def test_other_errors_stay(course: MiniCourse) -> None:
    """A RuntimeError of PyTorch's is no fault; a fault keeps the example that hypothesis adds."""
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
    """The error of another plugin's hook has none."""
    with pytest.raises(RuntimeError) as caught:
        int_of_nothing()
    frames = len(caught.traceback)

    drop_inner_frames(caught.value.__traceback__, tmp_path)
    assert frames == len(traceback.extract_tb(caught.value.__traceback__))

    drop_inner_frames(caught.value.__traceback__, Path(__file__).parent)
    assert frames == len(traceback.extract_tb(caught.value.__traceback__))


def int_of_nothing() -> None:
    """Raise an error one frame below the test."""
    raise RuntimeError


def test_a_source_line_is_shown_below_its_place(tmp_path: Path) -> None:
    """If the file and the line exist."""
    (tmp_path / "k.cu").write_text("one\n    two\n")
    message = "race\n  k.cu:2  thread 1\n  k.cu:3  thread 2\n  other.cu:1  thread 3"

    shown = "race\n  k.cu:2  thread 1\n      two\n  k.cu:3  thread 2\n  other.cu:1  thread 3"
    assert shown == add_source_lines(message, tmp_path)


def test_the_lectures_have_the_same_header() -> None:
    """Each has its own, to stand alone: what is mended in one is mended in all."""
    texts = {file.read_text(encoding="utf-8") for file in ROOT.glob("katas/*/csrc/launch.h")}

    assert 1 == len(texts)


def test_a_kata_without_cuda_keeps_its_extension(pytestconfig: pytest.Config) -> None:
    """There are no kernels to add."""
    kata = native_kata(Path("lecture01"), "k01_cpp", "csrc/k01.cpp")
    plain = Extension(Path("k.so"), "lecture01_k01", "k01.cpp")

    found = pytest_kata_extension(
        plain, {"lecture01_k01": plain.path}, kata, pytestconfig, loaded=True
    )

    assert found is None
