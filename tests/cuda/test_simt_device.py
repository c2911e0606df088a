"""The names of CUDA's variables, in host code and hidden in kernels, and what the device is."""

from __future__ import annotations

import ctypes
import re
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from plugins import HERE
from plugins.cuda.language import CUDA
from plugins.cuda.nvcc import find_nvcc
from plugins.native.builder import Builder
from plugins.native.builder import BuildError
from plugins.native.sources import read_unit
from plugins.native.toolchain import Toolchain
from plugins.native.toolchain import find_torch
from plugins.native.toolchain import identify_compiler
from tests.support.builds import BUILDS
from tests.support.simulator import KERNELS
from tests.support.simulator import Simulator
from tests.support.simulator import floats
from tests.support.simulator import simulator


if TYPE_CHECKING:
    from collections.abc import Callable


pytestmark = pytest.mark.torch
N = 64
OURS = HERE / "cuda/csrc/simt_device.h"
# The packages of CUDA's compiler have its headers.
CUDAS = Path(sysconfig.get_path("purelib")) / "nvidia/cu13/include/driver_types.h"


@pytest.fixture(scope="module")
def built(compiler: str) -> Simulator:
    """Return the functions of ``device.cu``."""
    return simulator("device.cu", compiler)


@pytest.mark.parametrize(
    "name",
    ["variables", "parameters", "members", "lambda", "namespace", "loops", "objects", "older"],
)
def test_host_code_may_use_the_names_of_what_kernels_know(built: Simulator, name: str) -> None:
    """No other names are as common as ``dim3 gridDim(…), blockDim(…)`` for the size of a launch."""
    x, y = floats(N), np.zeros(N, np.float32)

    assert "" == built.run(f"host_{name}", N, x=("in", x), y=("out", y))
    np.testing.assert_array_equal(x + np.arange(N), y)


def test_a_name_that_hides_one_in_a_kernel_is_another_variable(built: Simulator) -> None:
    """Of a parameter, a block, a lambda, a template, a member or a namespace, as to nvcc."""
    x, y = floats(N), np.zeros(N, np.float32)

    assert "" == built.run("hidden", N, x=("in", x), y=("out", y))
    np.testing.assert_array_equal(7 + 6 + 4 + 100 + 3 + 5 + 16 + 32 + np.arange(N), y)


def test_the_variables_have_types_and_values(built: Simulator) -> None:
    """They can be copied, bound to references, and deduced."""
    x, y = floats(N), np.zeros(N, np.float32)

    assert "" == built.run("used", N, x=("in", x), y=("out", y))
    np.testing.assert_array_equal(np.full(N, 2), y)


REFUSED = {
    "threadIdx.x = 1;": r"read-only|const",
    "blockDim = dim3(3);": r"discards qualifiers|no viable|passing 'const dim3'|const",
    "y[0] = threadIdx.w;": "no member named 'w'",
    "int *p = threadIdx;": "cannot convert|no viable conversion",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_nvcc_refuses_is_refused(tmp_path: Path, compiler: str, line: str) -> None:
    """The variables are constants, with three members."""
    source = tmp_path / "k.cu"
    source.write_text(f"#include <cuda_runtime.h>\n__global__ void k(float* y) {{\n{line}\n}}\n")

    with pytest.raises(BuildError, match=REFUSED[line]) as caught:
        build(source, compiler)
    assert str(caught.value).startswith("k.cu:3:")


def test_a_variable_of_the_source_outside_functions_is_refused(
    tmp_path: Path, compiler: str
) -> None:
    """As nvcc refuses it: it is declared already."""
    source = tmp_path / "k.cu"
    source.write_text("#include <cuda_runtime.h>\ndim3 gridDim(3);\n")

    with pytest.raises(BuildError, match=r"^k.cu:2:.*gridDim"):
        build(source, compiler)


@pytest.mark.tool("nvcc")
def test_nvcc_takes_the_same_names(tmp_path: Path) -> None:
    """What hides them is what CUDA's compiler takes."""
    removed = "clockRate|memoryClockRate|deviceOverlap|computeMode|kernelExecTimeoutEnabled"
    text = (KERNELS / "device.cu").read_text(encoding="utf-8")
    text = re.sub(r".*// CUDA 12\n", "", text)
    text = re.sub(rf" *FIELD\((?:{removed})\);\n", "", text)
    (tmp_path / "device.cu").write_text(text.replace("call.cuh", f"{KERNELS}/call.cuh"))

    nvcc = find_nvcc()
    assert nvcc
    nvcc.run(tmp_path / "device.cu", tmp_path / "device.o", ["-c"], tmp_path)

    assert (tmp_path / "device.o").is_file()


def build(source: Path, compiler: str) -> Path:
    """Build a source as a kata's is."""
    found = identify_compiler(compiler)
    assert found
    unit = read_unit("k", [source], source.parent, source.parent, [CUDA])
    return Builder(Toolchain(found, find_torch()), BUILDS).build(unit)


# ---- The device


def library(built: Simulator) -> ctypes.CDLL:
    """Return the library, whose functions of the host are called as they are."""
    loaded = ctypes.CDLL(str(built.library))
    loaded.kata_property.restype = ctypes.c_longlong
    return loaded


def field(built: Simulator) -> Callable[[str], int]:
    """Return a function that returns a property by the name of its field."""
    loaded = library(built)
    return lambda name: int(loaded.kata_property(name.encode()))


def test_the_properties_are_those_of_the_simulated_device(built: Simulator) -> None:
    """Eight multiprocessors, 48 KB of shared memory for a block, 2048 threads each."""
    of = field(built)

    names = ["multiProcessorCount", "sharedMemPerBlock", "maxThreadsPerMultiProcessor"]
    assert [8, 48 << 10, 2048] == [of(name) for name in names]
    assert (8, 0) == (of("major"), of("minor"))
    assert [1024, 64, 2**31 - 1, 65535] == [
        of(name)
        for name in ("maxThreadsDim[0]", "maxThreadsDim[2]", "maxGridSize[0]", "maxGridSize[2]")
    ]
    rest = of("sharedMemPerMultiprocessor") - of("reservedSharedMemPerBlock")
    assert of("sharedMemPerBlockOptin") == rest
    with built.extension.simulated(processors=3, most_threads=256):
        assert [3, 256, 256] == [
            of(name) for name in ("multiProcessorCount", "maxThreadsPerBlock", "maxThreadsDim[0]")
        ]


ATTRIBUTES = {
    1: "maxThreadsPerBlock",
    2: "maxThreadsDim[0]",
    4: "maxThreadsDim[2]",
    5: "maxGridSize[0]",
    7: "maxGridSize[2]",
    8: "sharedMemPerBlock",
    9: "totalConstMem",
    10: "warpSize",
    11: "memPitch",
    12: "regsPerBlock",
    13: "clockRate",
    14: "textureAlignment",
    15: "deviceOverlap",
    16: "multiProcessorCount",
    17: "kernelExecTimeoutEnabled",
    18: "integrated",
    19: "canMapHostMemory",
    20: "computeMode",
    31: "concurrentKernels",
    32: "ECCEnabled",
    33: "pciBusID",
    36: "memoryClockRate",
    37: "memoryBusWidth",
    38: "l2CacheSize",
    39: "maxThreadsPerMultiProcessor",
    40: "asyncEngineCount",
    41: "unifiedAddressing",
    75: "major",
    76: "minor",
    81: "sharedMemPerMultiprocessor",
    82: "regsPerMultiprocessor",
    83: "managedMemory",
    95: "cooperativeLaunch",
    97: "sharedMemPerBlockOptin",
    106: "maxBlocksPerMultiProcessor",
    111: "reservedSharedMemPerBlock",
}


def test_an_attribute_is_the_property(built: Simulator) -> None:
    """By the number that CUDA gives it; another device and another number are errors."""
    of, loaded = field(built), library(built)

    assert [of(name) for name in ATTRIBUTES.values()] == [
        loaded.kata_attribute(number, 0) for number in ATTRIBUTES
    ]
    assert -101 == loaded.kata_attribute(1, 1)
    assert [-1, -1, 0] == [loaded.kata_attribute(number, 0) for number in (0, 200, 120)]


def test_another_device_has_no_properties(built: Simulator) -> None:
    """The error is the one that CUDA has for it."""
    loaded = library(built)
    room = ctypes.create_string_buffer(loaded.kata_size_of_properties())

    assert 101 == loaded.kata_properties(1, room)
    assert 0 == loaded.kata_properties(0, room)
    assert b"simulated" == room.value


@pytest.mark.skipif(not CUDAS.is_file(), reason="nvidia-cuda-runtime is not installed")
def test_every_field_and_attribute_of_cuda_is_there() -> None:
    """With its type, its place and its number."""
    ours, cudas = (path.read_text(encoding="utf-8") for path in (OURS, CUDAS))
    numbers = re.compile(r"\b(cudaDevAttr\w+)\s*=\s*(\d+)")

    reserved = {name for name, _ in numbers.findall(cudas) if re.search(r"Reserved\d", name)}
    assert dict(numbers.findall(ours)) == {
        name: number for name, number in numbers.findall(cudas) if name not in reserved
    }
    assert fields(cudas) == fields(ours)[: len(fields(cudas))]


def fields(text: str) -> list[tuple[str, str]]:
    """Return type and name of the fields of cudaDeviceProp."""
    body = re.split(r"\n};", re.split(r"struct (?:\w+ )?cudaDeviceProp\s*{", text)[1])[0]
    body = re.sub(r"/\*.*?\*/|//[^\n]*", "", body, flags=re.DOTALL)
    found = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        kind, _, names = declaration.replace("unsigned int", "unsigned").partition(" ")
        found += [(kind, name.strip()) for name in names.split(",")]
    return found
