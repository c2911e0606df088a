"""Tests of k19_half2: three sums of a row of products, each bit for bit."""

from __future__ import annotations

import math
import re
import struct
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas import source


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

STEP = 2.0**-10
BITS = {torch.float16: torch.int16, torch.float32: torch.int32}
Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
ROUNDED = {
    "twice": "a product that is rounded, then a sum that is, as float16 tensors round",
    "fused": "the exact product and the sum so far, rounded together",
    "wide": "float32 products, which are exact, and float32 sums",
}


def to_half(value: float) -> float:
    """Round a double once, which x.half() does not: that goes through float32."""
    try:
        rounded: float = struct.unpack("e", struct.pack("e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def expected(a: torch.Tensor, b: torch.Tensor) -> Three:
    """Return the three sums of each row, step by step on the CPU."""
    pairs = a.unflatten(1, (-1, 2)), b.unflatten(1, (-1, 2))
    twice = torch.zeros(len(a), 2, dtype=torch.float16)
    fused = torch.zeros(len(a), 2, dtype=torch.float16)
    wide = torch.zeros(len(a), 2)
    for x, y in zip(pairs[0].unbind(1), pairs[1].unbind(1), strict=True):
        twice = twice + x * y
        wide = wide + x.float() * y.float()
        exact = (fused.double() + x.double() * y.double()).tolist()
        fused = torch.tensor([[to_half(v) for v in row] for row in exact], dtype=torch.float16)
    return twice[:, 0] + twice[:, 1], fused[:, 0] + fused[:, 1], wide[:, 0] + wide[:, 1]


def check(extension: CudaExtension, a: torch.Tensor, b: torch.Tensor, device: str = "cpu") -> Three:
    """Compare the three sums of each row bit for bit, and return them."""
    __tracebackhide__ = True
    found: Three = extension.op("dots")(a.to(device), b.to(device))
    yours: Three = (found[0].cpu(), found[1].cpu(), found[2].cpu())
    for name, mine, right in zip(ROUNDED, yours, expected(a, b), strict=True):
        kind = BITS[right.dtype]
        wrong = (mine.view(kind) != right.view(kind)) & ~(mine.isnan() & right.isnan())
        if wrong.any():
            row = int(wrong.int().argmax())
            raise AssertionError(
                f"{name}, row {row}: yours {mine[row].item()!r}, expected {right[row].item()!r}:"
                f" {ROUNDED[name]}.\n  a {a[row, :8].tolist()}\n  b {b[row, :8].tolist()}"
            )
    return yours


def halves(*rows: list[float]) -> torch.Tensor:
    """Return a matrix of float16."""
    return torch.tensor(rows, dtype=torch.float16)


def test_small_whole_numbers(extension: CudaExtension, device: str) -> None:
    """Nothing is rounded, so the three sums are equal: 1*5 + 2*6 + 3*7 + 4*8, and a second row."""
    a, b = halves([1, 2, 3, 4], [0, 7, 0, 9]), halves([5, 6, 7, 8], [1, 1, 2, 2])
    check(extension, a, b, device)


def test_ones_stop_at_2048(extension: CudaExtension, device: str) -> None:
    """Of 8192 ones, each half of a half2 gets 4096, and its sum stops at 2048."""
    ones = torch.ones(1, 8192, dtype=torch.float16)
    found = [sums.item() for sums in check(extension, ones, ones, device)]
    assert found == [4096, 4096, 8192], f"yours {found}, expected [4096, 4096, 8192]"


def test_a_product_that_is_not_rounded(extension: CudaExtension, device: str) -> None:
    """(1 + s) squared is 1 + 2s + s squared, and rounding removes the last term."""
    a = halves([1.0, 1.0, 1 + STEP, 1 - STEP])
    b = halves([-1 - 2 * STEP, 2 * STEP - 1, 1 + STEP, 1 - STEP])
    check(extension, a, b, device)


def test_a_product_that_is_too_large(extension: CudaExtension, device: str) -> None:
    """256 squared is 65536, above the largest half, 65504: inf, unless only the sum is rounded."""
    a, b = halves([1, 1, 256, -256]), halves([-65504, 65504, 256, 256])
    check(extension, a, b, device)


def test_a_sum_that_does_not_stop_in_float(extension: CudaExtension, device: str) -> None:
    """The sum is slightly less than halfway between two halves; float32 rounds it to a tie."""
    a, b = halves([1 + STEP, 0, 1023 * STEP / 2048, 0]), halves([1, 0, 1 + STEP, 0])
    check(extension, a, b, device)


@given(seed=st.integers(0, 10_000), rows=st.integers(1, 5), pairs=st.integers(0, 9))
@example(seed=0, rows=129, pairs=2)
def test_any_numbers(extension: CudaExtension, seed: int, rows: int, pairs: int) -> None:
    """Test rows of any size, with infinities, NaN and the smallest numbers among them."""
    generator = torch.Generator().manual_seed(seed)
    shape = (2, rows, 2 * pairs)
    x = torch.randn(shape, generator=generator) * 2.0 ** torch.randint(
        -12, 9, shape, generator=generator
    )
    rare = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**-24, 65504.0])
    chosen = rare[torch.randint(0, len(rare), shape, generator=generator)]
    x = torch.where(torch.rand(shape, generator=generator) < 0.05, chosen, x).half()
    check(extension, x[0], x[1])


def test_names_that_keep_their_rounding(extension: CudaExtension) -> None:
    """The CPU rounds each operation; nvcc may fuse __hmul2 and __hadd2, or * and +."""
    check(extension, halves([1, 2]), halves([3, 4]))
    text = source("katas.lecture09", "csrc/k19_half2.cu").read_text("utf-8")
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    rounds = re.search(r"\b__hmul2_rn\s*\(", code) is not None
    assert rounds, (
        "your kernel has no __hmul2_rn, expected it for twice: product and sum may be fused"
    )


@pytest.mark.backend("nvcc")
def test_nvcc_needs_no_double(ptx: Ptx) -> None:
    """Compiled for a GPU: the products of wide are float32 as well."""
    products = ptx.count("fma*.f32", "mul*.f32")
    assert products, f"no product in float32, expected two:\n{ptx.table()}"
    double = ptx.count("*.f64*")
    assert double == 0, (
        f"your kernel has {double} float64 instructions, expected none:\n{ptx.table()}"
    )
