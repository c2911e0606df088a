"""Times a CUDA kata on the CPU: against a plain C++ kata, and against Numba's simulator.

    python benchmarks/simt.py [RUNS]

Every measurement is a new process; compared ones run in turn. Numba's rows need
``python -m pip install numba``: its simulator also runs CUDA Python thread by thread.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from time import time

from native import CLOCK
from native import ROOT
from native import TABLE
from native import TEST
from native import WHOLE
from native import course
from native import run
from native import times


LECTURE = ROOT / "katas/lecture09"
FACTORS = count(int(time()))
KERNEL = """
#include <cuda_runtime.h>

__global__ void twice(int n, const float* x, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}

extern "C" cudaError_t kata_twice(int n, const float* x, float* out, cudaStream_t stream) {
    twice<<<(n + 255) / 256, 256, 0, stream>>>(n, x, out);
    return cudaGetLastError();
}
"""
AROUND = """// tier: small
#include "launch.h"

static at::Tensor twice(const at::Tensor& x) {
    const at::Tensor out = at::empty(x.sizes(), x.options());
    Launch launch("kata_twice", x);
    launch.in(x, "x").out(out, "out");
    launch(static_cast<int>(x.numel()), pointer<const float>(x), pointer<float>(out));
    return out;
}

TORCH_LIBRARY(lecture01_k02, m) { m.def("twice(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture01_k02, CPU, m) { m.impl("twice", twice); }
"""
OURS = f"""{CLOCK}
import ctypes, sys
from pathlib import Path
import torch
from plugins.cuda.language import CUDA
from plugins.native.builder import Builder
from plugins.native.folder import build_folder
from plugins.native.loader import load_library
from plugins.native.sources import read_unit
from plugins.native.toolchain import find_toolchain

root, name, what, n = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
given = root / "katas/lecture09/csrc"
builder = Builder(find_toolchain(), build_folder(root)[0])
stem = next(given.glob(f"{{name}}_*.cu")).stem
kernels = [root / "katas/lecture09/solutions/csrc" / f"{{stem}}.cu"]
kernels = read_unit(f"lecture09_{{name}}_cuda", kernels, root, given, [CUDA])
kernels = builder.build(kernels)
around = [given / f"{{stem}}.cpp"]
around = builder.build(read_unit(f"lecture09_{{name}}", around, root, given))
assert load_library(kernels) is None and load_library(around) is None
ctypes.CDLL(str(around)).kata_bind(b"cpu", bytes(kernels), b"", ctypes.c_uint64(0))
operators = getattr(torch.ops, f"lecture09_{{name}}")
shape = (n, n) if what == "matmul" else (n,)
x, y = torch.rand(shape), torch.rand(shape)
start = clock()
out = operators.matmul(x, y) if what == "matmul" else operators.axpy(x, y, 2.0)
end = clock()
torch.testing.assert_close(out, x @ y if what == "matmul" else 2 * x + y)
print(end[0] - start[0], end[1] - start[1])
"""
NUMBA = f"""{CLOCK}
import os, sys
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import numpy as np
from numba import cuda, float32

what, n = sys.argv[1], int(sys.argv[2])
TILE = 16

@cuda.jit
def axpy(a, x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = a * x[i] + y[i]

@cuda.jit
def matmul(a, b, out):
    rows = cuda.shared.array((TILE, TILE), float32)
    columns = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = 0.0
    for tile in range(a.shape[1] // TILE):
        rows[ty, tx] = a[i, tile * TILE + tx]
        columns[ty, tx] = b[tile * TILE + ty, j]
        cuda.syncthreads()
        for k in range(TILE):
            total += rows[ty, k] * columns[k, tx]
        cuda.syncthreads()
    out[i, j] = total

shape = (n, n) if what == "matmul" else (n,)
x, y = (np.random.rand(*shape).astype(np.float32) for _ in range(2))
out = np.zeros(shape, np.float32)
start = clock()
if what == "matmul":
    matmul[(n // TILE, n // TILE), (TILE, TILE)](x, y, out)
else:
    axpy[-(-n // 256), 256](2.0, x, y, out)
end = clock()
np.testing.assert_allclose(out, x @ y if what == "matmul" else 2 * x + y, rtol=1e-4)
print(end[0] - start[0], end[1] - start[1])
"""


def two_katas(folder: Path) -> Path:
    """Write a course with a C++ kata and a CUDA kata of the same operator."""
    lecture = course(folder) / "katas/lecture01"
    second = TABLE.partition("[[kata]]")[2].replace("k01_twice", "k02_twice")
    second = second.replace(
        'csrc = ["csrc/k02_twice.cpp"]', 'csrc = ["csrc/k02_twice.cu", "csrc/k02_twice.cpp"]'
    )
    (lecture / "lecture.toml").write_text(f"{TABLE}[[kata]]{second}")
    (lecture / "test_k02_twice.py").write_text(TEST)
    (lecture / "csrc/k02_twice.cpp").write_text(AROUND)
    shutil.copy(LECTURE / "csrc/launch.h", lecture / "csrc")
    return folder


def verdict(folder: Path, name: str) -> tuple[float, float]:
    """Change a line of a kata, and return the times of the whole command for it."""
    csrc, factor = folder / "katas/lecture01/csrc", next(FACTORS)
    if name == "k01":
        text = (ROOT / "tests/native/small.cpp").read_text(encoding="utf-8")
        text = text.replace("2 * from[i]", f"{factor} * from[i]")
        (csrc / "k01_twice.cpp").write_text(text)
    else:
        (csrc / "k02_twice.cu").write_text(KERNEL.replace("2 * x[i]", f"{factor} * x[i]"))
    test = f"katas/lecture01/test_{name}_twice.py"
    return times(run([sys.executable, "-c", WHOLE, sys.executable, "-m", "pytest", test], folder))


def simulated(name: str, what: str, n: int) -> float:
    """Return the seconds that a kernel takes on the CPU, with all checks."""
    return times(run([sys.executable, "-c", OURS, str(ROOT), name, what, str(n)], ROOT))[0]


def numba(what: str, n: int) -> float:
    """Return the seconds that the same kernel takes in Numba's simulator."""
    return times(run([sys.executable, "-c", NUMBA, what, str(n)], ROOT))[0]


def main() -> None:
    """Measure in turn and print one row for each pair."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = two_katas(Path(name) / "course")
        verdict(folder, "k01"), verdict(folder, "k02")
        pairs = [(verdict(folder, "k02"), verdict(folder, "k01")) for _ in range(3 * runs)]
    cuda, plain = (
        statistics.median(wall for wall, _ in column) for column in zip(*pairs, strict=True)
    )
    print(
        f"{'edit to verdict, CUDA kata, C++ kata':42} {cuda:6.2f} s {plain:6.2f} s"
        f" {cuda / plain:6.3f} (goal: at most 1.0)"
    )
    for kata, what, n in (("k03", "axpy", 1_000_000), ("k08", "matmul", 256)):
        seconds = statistics.median(simulated(kata, what, n) for _ in range(runs))
        print(f"{f'{what} of {n}, with all checks':42} {seconds:6.2f} s")
    if not find_spec("numba"):
        print("Numba is not installed: python -m pip install numba")
        return
    for kata, what, n in (("k03", "axpy", 16384), ("k08", "matmul", 32)):
        both = [(simulated(kata, what, n), numba(what, n)) for _ in range(runs)]
        mine, other = (statistics.median(column) for column in zip(*both, strict=True))
        shown = f"{what} of {n}, Numba's simulator"
        print(f"{shown:42} {mine:6.3f} s {other:6.3f} s {mine / other:6.4f}")


if __name__ == "__main__":
    main()
