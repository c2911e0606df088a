"""nvcc: where it is found, how it is called, and how kernels for a GPU are built and bound."""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.cuda import nvcc
from plugins.cuda.nvcc import Nvcc
from plugins.cuda.nvcc import NvccError
from plugins.cuda.nvcc import build_kernels
from plugins.cuda.nvcc import find_nvcc
from plugins.cuda.nvcc import no_nvcc
from plugins.tools.terminal import install_group
from tests.support.builds import share_headers
from tests.support.cudakata import HEADER
from tests.support.cudakata import KERNEL
from tests.support.cudakata import OPERATOR
from tests.support.programs import write_program
from tests.support.warm import TORCH


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


# Notes each call; tells a version; makes a library, empty but for the source that it wants.
STAND_IN = """
echo "$*" >> {log}
if [ "$1" = --version ]; then cat {log}.version; exit; fi
while [ "$1" != -o ]; do shift; done
grep -q __global__ "$3" && exec g++ -shared -o "$2" -x c++ /dev/null
echo "$3(1): error: no kernel"
exit 1
"""
CONFTEST = """
import torch

from plugins.tools.capability import Capability

pytest_plugins = {plugins!r}

def pytest_kata_devices():
    return [Capability("cuda", lambda: None)]

torch.cuda.get_device_capability = lambda device=None: (9, 0)
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
    *("plugins.course.session", "plugins.course.solutions", "plugins.course.seeds"),
    *("plugins.machine.absent", "plugins.machine.devices", "plugins.machine.backends"),
    *("plugins.native.plugin", "plugins.cuda.simt", "plugins.cuda.nvcc"),
)


def test_where_nvcc_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA_HOME, CUDA_PATH and PATH, as in PyTorch; then the folders of toolkits and wheels."""
    monkeypatch.setattr(nvcc, "CUDA", str(tmp_path / "toolkit"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "cuda path"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda home"))
    places = ("site/nvidia/cu12/bin", "site/nvidia/cu13/bin", "toolkit/bin", "path")

    assert find_nvcc() is None
    assert str(no_nvcc()).startswith(f"nvcc is not installed; {install_group('nvcc')}")
    for place in (*places, "cuda path/bin", "cuda home/bin"):
        write_program(tmp_path / place, "nvcc")
        importlib.invalidate_caches()
        assert Nvcc(tmp_path / place / "nvcc") == find_nvcc()
    assert "nvcc compiles with g++, which is not on PATH; install it (on Debian: g++)" == no_nvcc()
    write_program(tmp_path / "path", "g++")
    assert no_nvcc() is None


def test_the_wheels_say_where_their_runtime_is(tmp_path: Path) -> None:
    """They have it in lib, where nvcc does not look; in a toolkit it finds it without an option."""
    found = Nvcc(write_program(tmp_path / "bin", "nvcc"))

    assert [] == found.libraries
    write_program(tmp_path / "lib", "libcudart_static.a")
    assert [f"-L{tmp_path / 'lib'}"] == found.libraries


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            'k01.cu(2): error: expected a ";"\n\n1 error detected',
            'nvcc: k01.cu:2: error: expected a ";"\n    y[i] = x[i]',
        ),
        ("other.cuh(7): error: what", "nvcc: other.cuh:7: error: what"),
        ("nvcc fatal   : Unsupported", "nvcc cannot compile k01.cu:\nnvcc fatal   : Unsupported"),
    ],
)
def test_a_learner_sees_the_first_error(tmp_path: Path, output: str, says: str) -> None:
    """With file and line, as compilers write them, and the line itself."""
    source = tmp_path / "k01.cu"
    source.write_text("{\n    y[i] = x[i]\n}\n")
    script = write_program(tmp_path, "nvcc", f"cat <<'END'\n{output}\nEND\nexit 2")

    with pytest.raises(NvccError) as caught:
        Nvcc(script).run(source, tmp_path / "out", ["-ptx"], tmp_path)

    assert says == str(caught.value)


def stand_in(folder: Path, version: str = "release 13.0") -> Nvcc:
    """Return an nvcc that notes its calls in ``log``."""
    log = folder / "log"
    Path(f"{log}.version").write_text(version)
    return Nvcc(write_program(folder, "nvcc", STAND_IN.format(log=log)))


def builds(folder: Path) -> int:
    """Return how many libraries the stand-in was asked for."""
    calls = (folder / "log").read_text().splitlines()
    return len([call for call in calls if call != "--version"])


def test_a_library_is_named_by_what_went_into_it(tmp_path: Path) -> None:
    """Another source, header, architecture or nvcc makes another library."""
    headers, folder = tmp_path / "csrc", tmp_path / "build"
    headers.mkdir()
    folder.mkdir()
    source = tmp_path / "k01.cu"
    source.write_text(KERNEL)
    nvcc = stand_in(tmp_path)

    first = build_kernels(nvcc, source, headers, folder, "sm_90")
    assert first == build_kernels(nvcc, source, headers, folder, "sm_90")
    assert 1 == builds(tmp_path)

    found = {first, build_kernels(nvcc, source, headers, folder, "sm_80")}
    (headers / "more.cuh").write_text("// a header")
    found.add(build_kernels(nvcc, source, headers, folder, "sm_90"))
    (headers / "more.h").write_text("// a header of C's")
    found.add(build_kernels(nvcc, source, headers, folder, "sm_90"))
    source.write_text(f"{KERNEL}// edited")
    found.add(build_kernels(nvcc, source, headers, folder, "sm_90"))
    updated = stand_in(tmp_path, "release 13.1")
    found.add(build_kernels(updated, source, headers, folder, "sm_90"))

    assert 6 == len(found) == builds(tmp_path)
    assert found == set(folder.glob("*.so"))


def test_the_version_of_an_nvcc_is_read_once(tmp_path: Path) -> None:
    """However many libraries it builds in a session."""
    source = tmp_path / "k01.cu"
    source.write_text(KERNEL)
    nvcc = stand_in(tmp_path)
    for architecture in ("sm_80", "sm_90"):
        build_kernels(nvcc, source, tmp_path, tmp_path, architecture)

    assert "release 13.0" == nvcc.version
    assert 1 == (tmp_path / "log").read_text().splitlines().count("--version")


@pytest.fixture(scope="module")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the courses build."""
    return share_headers(tmp_path_factory.mktemp("nvcc") / "builds", "small", "simt")


@pytest.fixture
def log(course: MiniCourse, build_folder: Path) -> Path:
    """Return the file in which the stand-in for nvcc notes its calls, on a machine with a GPU."""
    text = CONFTEST.format(plugins=NAMES)
    course.imported = TORCH
    course.write("conftest.py", text)
    log = course.path / "log"
    course.write("log.version", "release 13.0")
    folder = write_program(course.path / "bin", "nvcc", STAND_IN.format(log=log)).parent
    course.monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    course.monkeypatch.delenv("CUDA_HOME", raising=False)
    course.monkeypatch.delenv("CUDA_PATH", raising=False)
    course.monkeypatch.setenv("KATAS_BUILD", str(build_folder))
    return log


def written(course: MiniCourse, kernel: str) -> Path:
    """Write the kata and return its test module."""
    csrc = ("csrc/k01_first.cu", "csrc/k01_first.cpp")
    test = course.kata(csrc=csrc, test=TEST, stub=kernel)
    course.write("katas/lecture01/csrc/k01_first.cpp", OPERATOR + BOUND)
    shutil.copy(HEADER, course.katas / "lecture01/csrc")
    return test


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.backend("cxx")
def test_kernels_are_built_and_bound_for_the_first_test_on_a_gpu(
    course: MiniCourse, log: Path
) -> None:
    """Once for all tests of the module, and not at all where no test is for a GPU."""
    test = written(course, KERNEL)

    course.run(test).assert_outcomes(passed=4)
    version, call = log.read_text().splitlines()
    assert "--version" == version
    assert "-arch=sm_90" in call.split()
    log.unlink()
    course.run(test).assert_outcomes(passed=4)
    assert ["--version"] == log.read_text().splitlines(), "it was built again"
    log.unlink()
    course.run(f"{test}::test_before").assert_outcomes(passed=1)
    assert not log.exists()


@pytest.mark.torch
@pytest.mark.backend("cxx")
def test_a_source_that_nvcc_refuses(course: MiniCourse, log: Path) -> None:
    """It fails the tests that need it, in nvcc's words; the others pass."""
    script = log.parent / "bin/nvcc"
    script.write_text(script.read_text().replace("__global__", "__never__"))
    result = course.run(written(course, KERNEL))

    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["nvcc: k01_first.cu:1: error: no kernel"])


@pytest.mark.torch
def test_without_nvcc_a_gpu_cannot_run_the_kernels(course: MiniCourse, log: Path) -> None:
    """The tests are skipped with the reason; those on the CPU are not."""
    (log.parent / "bin/nvcc").unlink()
    course.monkeypatch.setenv("PATH", str(log.parent / "bin"))
    result = course.run(written(course, KERNEL))

    result.stdout.fnmatch_lines(["nvcc (3 tests): nvcc *"])


@pytest.mark.torch
@pytest.mark.tool("nvcc")
def test_the_real_one_makes_a_library_that_loads(tmp_path: Path) -> None:
    """It defines the function that the operator calls, and needs nothing but a driver to run."""
    found = find_nvcc()
    assert found
    source = tmp_path / "k01.cu"
    source.write_text(KERNEL)
    library = build_kernels(found, source, tmp_path, tmp_path, "sm_90")
    launch = ctypes.CDLL(str(library)).kata_twice
    launch.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 3]
    data = (ctypes.c_float * 4)()

    # Without a driver, or with host memory, a cudaError_t; never 31, which the stubs return.
    assert launch(2, data, data, None) != 31
