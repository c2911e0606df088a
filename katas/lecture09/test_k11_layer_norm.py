"""Tests of k11_layer_norm: mean and variance of rows in one pass, in float32 and float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas import source
from plugins.kit import forbids_doubles


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Launch
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

EPS = 1e-5
DTYPES = [torch.float32, torch.float64]
BOTH = pytest.mark.parametrize("dtype", DTYPES, ids=["float", "double"])
LENGTHS = pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025])
# For ordinary rows, and for rows whose mean is large.
BOUNDS = {torch.float32: (1e-4, 1e-3), torch.float64: (1e-9, 1e-6)}
# Rows of several warps and of several blocks.
SHAPES = [(64, 512), (64, 992)]

Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def affine(n: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> list[torch.Tensor]:
    """Return a weight and a bias."""
    return [torch.randn(n, dtype=dtype, device=device) for _ in range(2)]


def compare(name: str, actual: torch.Tensor, expected: torch.Tensor, bound: float) -> None:
    """Compare with the float64 result; errors are relative to the largest element."""
    assert expected.shape == actual.shape, f"{name} has the shape {tuple(actual.shape)}"
    if not expected.numel():
        return
    finite = expected[expected.isfinite()].abs()
    most = bound * max(1.0, finite.max().item() if finite.numel() else 0.0)
    good = torch.isclose(expected, actual.double(), rtol=0.0, atol=most, equal_nan=True)
    wrong = (~good).nonzero().tolist()
    assert [] == wrong, (
        f"{name}: {len(wrong)} of {expected.numel()} elements are wrong, the first is"
        f" {name}{wrong[0]}: {actual[tuple(wrong[0])].item():.9g}, expected"
        f" {expected[tuple(wrong[0])].item():.9g}, give or take {most:.1g}"
    )


def forward(
    extension: CudaExtension,
    x: torch.Tensor,
    *,
    eps: float = EPS,
    large: bool = False,
    only_out: bool = False,
) -> Three:
    """Call forward and compare with PyTorch in float64; `only_out` leaves mean and rstd aside."""
    weight, bias = affine(x.shape[-1], x.dtype, str(x.device))
    wide = (tensor.double() for tensor in (weight, bias))
    expected = torch.ops.aten.native_layer_norm(x.double(), [x.shape[-1]], *wide, eps)
    actual: Three = extension.op("layer_norm_forward")(x, weight, bias, eps)
    bound = BOUNDS[x.dtype][large]
    # The statistics first: an error in them is an error in all the rest.
    for name, number in (("mean", 1), ("rstd", 2), ("out", 0)):
        if number == 0 or not only_out:
            compare(name, actual[number], expected[number], bound)
    return actual


def total(launches: list[Launch], *kinds: str) -> tuple[int, int, str]:
    """Return the accesses to global memory and their sectors, of all launches, and the tables."""
    counts = [launch.count("global", *kinds) for launch in launches]
    tables = "\n".join(launch.table() for launch in launches)
    return sum(c.accesses for c in counts), sum(c.sectors for c in counts), tables


def test_two_elements(extension: CudaExtension, device: str) -> None:
    """The variance of 1 and 3 is 1: divide by n, not by n - 1."""
    x = torch.tensor([[1.0, 3.0]], device=device)
    one, zero = torch.ones(2, device=device), torch.zeros(2, device=device)
    out, mean, rstd = extension.op("layer_norm_forward")(x, one, zero, 0.0)
    assert [[2.0]] == mean.tolist(), f"the mean is {mean.tolist()}, expected [[2.0]]"
    compare("rstd", rstd, torch.ones(1, 1, device=device).double(), 1e-6)
    compare("out", out, torch.tensor([[-1.0, 1.0]], device=device).double(), 1e-6)


@BOTH
def test_each_row_has_its_own_mean(
    extension: CudaExtension, device: str, dtype: torch.dtype
) -> None:
    """Rows are normalised separately, in any number of dims; weight and bias are per column."""
    for shape in ((7, 5), (2, 3, 2, 9), (4,)):
        forward(extension, torch.randn(shape, dtype=dtype, device=device), eps=0.0)


@pytest.mark.parametrize("eps", [0.5, 1e-3, 1e-12])
def test_eps_is_added_to_the_variance(extension: CudaExtension, device: str, eps: float) -> None:
    """Add eps under the root; neither a small nor a large eps is lost."""
    x = torch.tensor([1.0, 0.1, 0.01], device=device)[:, None] * torch.randn(3, 20, device=device)
    forward(extension, x, eps=eps)


@BOTH
@LENGTHS
def test_rows_of_any_length(
    extension: CudaExtension, device: str, n: int, dtype: torch.dtype
) -> None:
    """At sizes around a warp and a block, parts of a row differ in size, and may be empty."""
    x = torch.randn(3, n, dtype=dtype, device=device)
    # A part that is smaller than the others has a different mean.
    x[1, n // 2 :] += 5.0
    x[2, -1] -= 20.0
    forward(extension, x)


@BOTH
@pytest.mark.parametrize("n", [40, 300, 2000])
def test_a_large_mean(extension: CudaExtension, device: str, n: int, dtype: torch.dtype) -> None:
    """Squares of large numbers leave no digits for a small variance."""
    x = torch.randn(4, n, dtype=dtype, device=device)
    x += 1e3 if dtype == torch.float32 else 1e8
    forward(extension, x, large=True, only_out=True)


@BOTH
def test_equal_elements(extension: CudaExtension, device: str, dtype: torch.dtype) -> None:
    """Equal elements have variance 0: a little less makes rstd NaN, a little more too small."""
    values = torch.cat([torch.tensor([0.0, 1.0, 0.1, -7.3]), 300.0 * torch.randn(20)])
    x = values.to(dtype).to(device)[:, None].repeat(1, 600)
    one, zero = torch.ones(600, dtype=dtype, device=device), torch.zeros(600, device=device)
    _, mean, rstd = extension.op("layer_norm_forward")(x, one, zero.to(dtype), EPS)
    compare("mean", mean, x[:, :1].double(), 1e-6)
    compare("rstd", rstd, torch.full_like(mean, EPS**-0.5).double(), 1e-2)


@BOTH
def test_a_long_row(extension: CudaExtension, device: str, dtype: torch.dtype) -> None:
    """Test more elements than fit in the shared memory of a block; the last ones are different."""
    x = torch.randn(1, 30_003, dtype=dtype, device=device)
    x[0, 25_000:] += 8.0
    forward(extension, x)


@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan])
def test_infinity_and_nan_spread_over_the_row(
    extension: CudaExtension, device: str, special: float
) -> None:
    """A row with infinity or NaN has no variance: the whole row is NaN, and no other."""
    x = torch.randn(4, 300, device=device)
    x[0, 0] = x[1, 131] = x[3, -1] = special
    forward(extension, x, only_out=True)


@st.composite
def matrices(draw: st.DrawFn) -> torch.Tensor:
    """Draw a matrix: small or large numbers, around 0 or not, float or double."""
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 600))
    dtype = draw(st.sampled_from(DTYPES))
    scale, mean = draw(st.sampled_from([0.3, 1.0, 30.0])), draw(st.sampled_from([0.0, 1.0]))
    return scale * (torch.randn(shape, dtype=dtype) + mean)


@given(x=matrices(), eps=st.sampled_from([1e-2, 0.1, 1.0]))
def test_any_matrix(extension: CudaExtension, x: torch.Tensor, eps: float) -> None:
    """Test any shape, in any order of blocks and threads."""
    forward(extension, x, eps=eps)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_forward_reads_a_row_twice(extension: CudaExtension, shape: tuple[int, int]) -> None:
    """One pass computes mean and variance, one the results with weight and bias, along the row."""
    forward(extension, torch.randn(shape))
    pieces = math.prod(shape) // 8
    _, read, table = total(extension.launches(), "read")
    _, written, _ = total(extension.launches(), "write", "atomic")
    assert 2 * read <= 9 * pieces, (
        f"{read / pieces:.2f} sectors read for each 8 elements, expected at most 4.5: 2 of x, 1 of"
        f" weight, 1 of bias\n{table}"
    )
    assert written <= pieces + 2 * shape[0], (
        f"{written / pieces:.2f} sectors written for each 8 elements, expected 1, and 2 for each"
        f" row\n{table}"
    )


def test_nothing_of_t_is_double(extension: CudaExtension) -> None:
    """In the source above the given part, a kernel for float uses no double."""
    forward(extension, torch.randn(3, 100))
    forbids_doubles(source("katas.lecture09", "csrc/k11_layer_norm.cu"), given="// ---- given:")


@pytest.mark.backend("nvcc")
def test_nvcc_computes_in_t(ptx: Ptx) -> None:
    """Compiled for a GPU, a float kernel uses no double, and a double kernel no float."""
    assert ptx.count("*.f32*"), (
        f"no .f32 instruction, expected arithmetic in float32:\n{ptx.table()}"
    )
    assert ptx.count("*.f64*"), (
        f"no .f64 instruction, expected arithmetic in float64:\n{ptx.table()}"
    )
    both = [
        kernel
        for kernel, found in ptx.kernels.items()
        if any(".f32" in name for name in found) and any(".f64" in name for name in found)
    ]
    assert [] == both, f"float32 and float64 in one kernel: which number is not a T?\n{ptx.table()}"
