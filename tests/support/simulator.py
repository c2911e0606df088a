"""Builds ``tests/cuda/*.cu`` for the CPU and runs their functions on NumPy arrays."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from plugins.cuda.language import CUDA
from plugins.cuda.launches import find_addr2line
from plugins.cuda.launches import read_launches
from plugins.cuda.simt import CudaExtension
from plugins.native.builder import Builder
from plugins.native.sources import read_unit
from plugins.native.toolchain import Toolchain
from plugins.native.toolchain import find_torch
from plugins.native.toolchain import identify_compiler
from tests.support.builds import BUILDS


if TYPE_CHECKING:
    import numpy as np

    from plugins.cuda.launches import Launch


KERNELS = Path(__file__).parents[1] / "cuda"
MODES = {"in": 0, "out": 1, "inout": 2}


class Arguments(ctypes.Structure):
    """The struct that ``tests/cuda/call.cuh`` reads."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("n", ctypes.c_int),
        ("count", ctypes.c_int),
        ("arrays", ctypes.c_void_p * 3),
    )


@dataclass(frozen=True)
class Simulator:
    """The functions of one source, run by the simulator."""

    library: Path
    seconds: float = 0.5

    @property
    def extension(self) -> CudaExtension:
        """The same as the fixture of a kata's tests would be."""
        return CudaExtension(self.library, "tests", "tests", "", self.library)

    def run(
        self,
        function: str,
        n: int,
        seed: int = 0,
        *,
        strict: bool = False,
        **arrays: tuple[str, Any],
    ) -> str:
        """Call ``kata_<function>(n, *arrays)``; return the problem, empty if there is none.

        Each array comes with the access that kernels have: ``x=("in", values)``. `strict` is what
        `simulated` asks for.
        """
        library: Any = ctypes.CDLL(str(self.library))
        library.kata_simt_run.restype = ctypes.c_char_p
        seconds = ctypes.c_double(self.seconds)
        if strict:
            library.kata_simt_strict(3)
        library.kata_simt_begin(ctypes.c_uint64(seed), seconds, find_addr2line().encode())
        for name, (mode, array) in arrays.items():
            address, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
            library.kata_simt_buffer(address, size, array.itemsize, MODES[mode], name.encode())
        call = Arguments()
        call.function = ctypes.cast(getattr(library, f"kata_{function}"), ctypes.c_void_p)
        call.n, call.count = n, len(arrays)
        for i, (_, array) in enumerate(arrays.values()):
            call.arrays[i] = array.ctypes.data
        status = ctypes.c_int()
        run = library.kata_simt_run(library.kata_call, ctypes.byref(call), ctypes.byref(status))
        problem: str = run.decode()
        library.kata_simt_end()
        if strict:
            library.kata_simt_strict(-1)
        return problem or (f"status {status.value}" if status.value else "")

    def launches(self) -> list[Launch]:
        """Return the launches of the last run."""
        return read_launches(self.library)


def simulator(name: str, compiler: str) -> Simulator:
    """Build ``tests/cuda/<name>`` with a compiler that is on PATH."""
    found = identify_compiler(compiler)
    assert found is not None
    BUILDS.mkdir(parents=True, exist_ok=True)
    builder = Builder(Toolchain(found, find_torch()), BUILDS)
    unit = read_unit(Path(name).stem, [KERNELS / name], KERNELS, KERNELS, [CUDA])
    return Simulator(builder.build(unit))


def line_of(name: str, function: str) -> int:
    """Return the number of the line marked WRONG in a kernel of ``tests/cuda/<name>``."""
    lines = (KERNELS / name).read_text(encoding="utf-8").splitlines()
    first = next(
        number
        for number, line in enumerate(lines)
        if re.match(rf"(__global__|extern).* (kata_)?{function}\(", line)
    )
    return next(
        number for number, line in enumerate(lines, 1) if number > first and "WRONG" in line
    )


def floats(n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return floats of few bits, whose sums are exact in any order."""
    import numpy as np  # noqa: PLC0415 - imported only where it is used

    return np.random.default_rng(seed).integers(-8, 9, n).astype(np.float32)
