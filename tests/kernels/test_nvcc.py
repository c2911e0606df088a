"""CUDA katas on a GPU, as far as a machine without one can tell: a stand-in for nvcc builds."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from plugins.gpu import kernels
from plugins.nvcc import Nvcc
from plugins.nvcc import find_nvcc
from tests.test_kernelfault import HEADER
from tests.test_kernelfault import KERNEL
from tests.test_kernelfault import OPERATOR
from tests.test_nvcc import program


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


# Notes each call; makes a library, empty but for the source being asked for.
BUILD = """
echo "$*" >> {log}
while [ "$1" != -o ]; do shift; done
grep -q __global__ "$3" && exec g++ -shared -o "$2" -x c++ /dev/null
echo "$3(1): error: no kernel"
exit 1
"""
CONFTEST = """
from plugins.capability import Capability

pytest_plugins = {plugins!r}

def pytest_kata_devices():
    return [Capability("cuda", lambda: None)]
"""
BOUND = 'extern "C" int kata_bound() { return kata::libraries().count(c10::DeviceType::CUDA); }\n'
TEST = """
import ctypes
import pytest

pytestmark = pytest.mark.backend("cxx")

def bound(extension):
    return ctypes.CDLL(str(extension.path)).kata_bound()

def test_before(extension):
    assert 0 == bound(extension)

def test_on_a_gpu(extension, device):
    assert 1 == bound(extension)

def test_again(extension, device):
    assert 1 == bound(extension)

def test_without_the_library(device):
    assert "cuda" == device
"""
NAMES = (
    *("course", "solutions", "randomness", "absent", "devices", "backends"),
    *("simt", "nvcc", "native", "gpu", "unbuilt"),
)


@pytest.fixture
def log(course: MiniCourse) -> Path:
    """Return the file in which the stand-in notes what it was asked for."""
    text = CONFTEST.format(plugins=tuple(f"plugins.{name}" for name in NAMES))
    course.write("conftest.py", text)
    log = course.path / "log"
    folder = program(course.path / "bin", "nvcc", BUILD.format(log=log)).parent
    course.monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    course.monkeypatch.delenv("CUDA_HOME", raising=False)
    course.monkeypatch.delenv("CUDA_PATH", raising=False)
    course.monkeypatch.setenv("KATAS_BUILD", str(course.path / "build"))
    return log


def written(course: MiniCourse, kernel: str) -> Path:
    """Write the kata and return its test module."""
    csrc = ("csrc/k01_first.cu", "csrc/k01_first.cpp")
    test = course.kata(csrc=csrc, test=TEST, stub=kernel)
    course.write("katas/lecture01/csrc/k01_first.cpp", OPERATOR + BOUND)
    shutil.copy(HEADER, course.katas / "lecture01/csrc")
    return test


@pytest.mark.torch
@pytest.mark.backend("cxx")
def test_kernels_are_built_and_bound_for_the_first_test_on_a_gpu(
    course: MiniCourse, log: Path
) -> None:
    """Once for all tests of the module, and not at all where no test is for a GPU."""
    test = written(course, KERNEL)

    course.run(test).assert_outcomes(passed=4)
    (call,) = log.read_text().splitlines()
    assert "-arch=native" in call.split()
    course.run(test).assert_outcomes(passed=4)
    assert 1 == len(log.read_text().splitlines()), "it was built again"
    log.unlink()
    course.run(f"{test}::test_before").assert_outcomes(passed=1)
    assert not log.exists()


@pytest.mark.torch
@pytest.mark.backend("cxx")
def test_a_source_that_nvcc_refuses(course: MiniCourse, log: Path) -> None:
    """It fails the tests that need it, in nvcc's words; the others know nothing of it."""
    script = log.parent / "bin/nvcc"
    script.write_text(script.read_text().replace("__global__", "__never__"))
    result = course.run(written(course, KERNEL))

    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["nvcc: k01_first.cu:1: error: no kernel"])


def test_without_nvcc_a_gpu_cannot_run_the_kernels(course: MiniCourse, log: Path) -> None:
    """The tests are skipped with the reason; those on the CPU are not."""
    (log.parent / "bin/nvcc").unlink()
    course.monkeypatch.setenv("PATH", str(log.parent / "bin"))
    result = course.run(written(course, KERNEL))

    result.stdout.fnmatch_lines(["nvcc (3 tests): nvcc *"])


def test_a_library_is_named_by_what_went_into_it(tmp_path: Path) -> None:
    """Another source, header or architecture is another library."""
    log, headers, folder = tmp_path / "log", tmp_path / "csrc", tmp_path / "build"
    headers.mkdir()
    folder.mkdir()
    nvcc = Nvcc(program(tmp_path, "nvcc", BUILD.format(log=log)))
    source = tmp_path / "k01.cu"
    source.write_text(KERNEL)

    first = kernels(nvcc, source, headers, folder)
    assert first == kernels(nvcc, source, headers, folder)
    found = {first, kernels(nvcc, source, headers, folder, "sm_80")}
    (headers / "more.cuh").write_text("// a header")
    found.add(kernels(nvcc, source, headers, folder))
    source.write_text(f"{KERNEL}// edited")
    found.add(kernels(nvcc, source, headers, folder))

    assert 4 == len(found) == len(log.read_text().splitlines())
    assert found == set(folder.glob("*.so"))


@pytest.mark.torch
@pytest.mark.backend("nvcc")
def test_the_real_one_makes_a_library_that_loads(tmp_path: Path) -> None:
    """It defines the function that the operator calls, and needs nothing but a driver to run."""
    import ctypes  # noqa: PLC0415 - for this test alone

    found = find_nvcc()
    assert found
    source = tmp_path / "k01.cu"
    source.write_text(KERNEL)
    library = kernels(found, source, tmp_path, tmp_path, "sm_90")
    launch = ctypes.CDLL(str(library)).kata_twice
    launch.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 3]
    data = (ctypes.c_float * 4)()

    # Without a driver, or with host memory, a cudaError_t; never 31, which the stubs return.
    assert launch(2, data, data, None) != 31
