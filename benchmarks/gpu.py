"""Times the reference kernels of lecture 09 on an NVIDIA GPU.

    python -m benchmarks.gpu [POWER]

Each kernel runs on 2^POWER float32 elements per tensor, by default 2^26 (256 MiB); matrix
products on matrices of 2^(POWER / 2) rows and columns. A time is the median of several calls
between two events on the stream, after a warm-up; at that size the caches hold less than a fifth
of the data from the call before.

Columns: milliseconds; the bytes to move and the floating-point operations to do; the share of the
rate of a copy (for products, of torch.mm in float32 without TF32) measured in the same run; and
the time of PyTorch's own operator divided by the kernel's.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import torch

from plugins.cuda.language import CUDA
from plugins.cuda.nvcc import build_kernels
from plugins.cuda.nvcc import find_nvcc
from plugins.cuda.nvcc import no_nvcc
from plugins.machine.builtin import cuda_architecture
from plugins.native.builder import Builder
from plugins.native.folder import build_folder
from plugins.native.loader import load_library
from plugins.native.sources import read_unit
from plugins.native.toolchain import find_toolchain


if TYPE_CHECKING:
    from collections.abc import Callable


ROOT = Path(__file__).parents[1]
GIVEN = ROOT / "katas/lecture09/csrc"
SOLVED = ROOT / "katas/lecture09/solutions/csrc"
FLOAT = 4
BINS = 1024


@dataclass(frozen=True)
class Work:
    """A kernel at a size: a call of ours, a call of PyTorch's, and the work to do."""

    kata: str
    name: str
    ours: Callable[[], Any]
    torchs: Callable[[], Any]
    bytes: int
    flops: int
    # Compare with the rate of torch.mm, not with that of a copy.
    product: bool = False


def works(ops: Callable[[str], Any], power: int, device: str) -> list[Work]:
    """Return all kernels at 2^power elements; `ops` returns the operators of a kata."""
    n = 1 << power
    side = 1 << power // 2
    x, y = torch.rand(n, device=device), torch.rand(n, device=device)
    rows = torch.rand(n // 1024, 1024, device=device)
    square, other = (torch.rand(side, side, device=device) for _ in range(2))
    every = torch.rand(2 * n, device=device)[::2]
    values = torch.randint(BINS, (n,), dtype=torch.int32, device=device)
    small = side * side

    both = FLOAT * n
    return [
        Work("k03", "axpy", lambda: ops("k03").axpy(x, y, 2.0),
             lambda: torch.add(y, x, alpha=2.0), 3 * both, 2 * n),
        Work("k04", "sub, every other element", lambda: ops("k04").sub(every, y),
             lambda: every - y, 4 * both, n),
        Work("k05", "block_sum", lambda: ops("k05").block_sum(x), x.sum, both, n),
        Work("k06", "scan of rows of 1024", lambda: ops("k06").scan(rows),
             lambda: rows.cumsum(1), 2 * both, n),
        Work("k07", "transpose", lambda: ops("k07").transpose(square),
             lambda: square.t().contiguous(), 2 * FLOAT * small, 0),
        Work("k08", "matmul", lambda: ops("k08").matmul(square, other),
             lambda: square @ other, 3 * FLOAT * small, 2 * small * side, product=True),
        Work("k09", "softmax of rows of 1024", lambda: ops("k09").softmax(rows),
             lambda: rows.softmax(1), 2 * both, 4 * n),
        Work("k10", f"histogram of {BINS} bins", lambda: ops("k10").histogram(values, BINS),
             lambda: values.bincount(minlength=BINS), both, 0),
    ]  # fmt: skip


def built(kata: str, device: str) -> Any:
    """Build the reference solution of a kata for `device`, and return its operators."""
    folder = build_folder(ROOT)[0]
    builder = Builder(find_toolchain(), folder)
    stem = next(GIVEN.glob(f"{kata}_*.cu")).stem
    around = builder.build(read_unit(f"lecture09_{kata}", [GIVEN / f"{stem}.cpp"], ROOT, GIVEN))
    source = SOLVED / f"{stem}.cu"
    if device == "cuda":
        nvcc = find_nvcc()
        assert nvcc, no_nvcc()
        library = build_kernels(nvcc, source, GIVEN, folder, cuda_architecture())
    else:
        library = builder.build(read_unit(f"lecture09_{kata}_cuda", [source], ROOT, GIVEN, [CUDA]))
    if problem := load_library(around):
        raise RuntimeError(problem)
    bind = ctypes.CDLL(str(around)).kata_bind
    bind(device.encode(), bytes(library), b"", ctypes.c_uint64(0))
    return getattr(torch.ops, f"lecture09_{kata}")


def milliseconds(function: Callable[[], Any], runs: int = 20) -> float:
    """Return the median time of a call, measured on the stream."""
    for _ in range(3):
        function()
    found = []
    for _ in range(runs):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end))
    return statistics.median(found)


def main() -> None:
    """Measure everything and print the table."""
    if not torch.cuda.is_available():
        sys.exit(f"no GPU can be used by this PyTorch ({torch.__version__})")
    if reason := no_nvcc():
        sys.exit(reason)
    power = int(sys.argv[1]) if len(sys.argv) > 1 else 26
    torch.backends.cuda.matmul.allow_tf32 = False
    known: dict[str, Any] = {}
    todo = works(lambda kata: known[kata], power, "cuda")
    for work in todo:
        known[work.kata] = built(work.kata, "cuda")
    x = torch.rand(1 << power, device="cuda")
    to = torch.empty_like(x)
    copied = 2 * FLOAT * x.numel() / milliseconds(lambda: to.copy_(x))
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, 2^{power} elements")
    print(f"a copy moves {copied / 1e6:.0f} GB/s")
    print(f"{'kernel':34} {'ms':>8} {'MB':>7} {'MFLOP':>9} {'share':>6} {'torch/kernel':>12}")
    for work in todo:
        mine, theirs = milliseconds(work.ours), milliseconds(work.torchs)
        share = theirs / mine if work.product else work.bytes / mine / copied
        print(
            f"{f'{work.kata} {work.name}':34} {mine:8.3f} {work.bytes / 1e6:7.0f}"
            f" {work.flops / 1e6:9.0f} {share:6.1%} {theirs / mine:12.2f}"
        )


if __name__ == "__main__":
    main()
