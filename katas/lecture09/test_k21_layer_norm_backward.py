"""Tests of k21_layer_norm_backward: along rows and down columns, in float32 and float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F
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


def backward(extension: CudaExtension, x: torch.Tensor, grad: torch.Tensor | None = None) -> Three:
    """Call backward and compare with PyTorch in float64."""
    n = x.shape[-1]
    weight, bias = affine(n, x.dtype, str(x.device))
    grad = torch.randn_like(x) if grad is None else grad
    wide = [tensor.double() for tensor in (grad, x, weight, bias)]
    # Two elements that are nearly equal are stretched by up to 1 / sqrt(eps), and with them what
    # float32 has rounded.
    _, mean, rstd = torch.ops.aten.native_layer_norm(wide[1], [n], *wide[2:], 1e-2)
    # mean and rstd are used as given: a different mean reveals code that computes it again.
    mean += 0.125
    expected = torch.ops.aten.native_layer_norm_backward(
        *wide[:2], [n], mean, rstd, *wide[2:], [True] * 3
    )
    saved = mean.to(x.dtype), rstd.to(x.dtype)
    actual: Three = extension.op("layer_norm_backward")(grad, x, weight, *saved)
    for name, number in (("grad_bias", 2), ("grad_weight", 1), ("grad_x", 0)):
        compare(name, actual[number], expected[number], BOUNDS[x.dtype][0])
    return actual


def total(launches: list[Launch], *kinds: str) -> tuple[int, int, str]:
    """Return the accesses to global memory and their sectors, of all launches, and the tables."""
    counts = [launch.count("global", *kinds) for launch in launches]
    tables = "\n".join(launch.table() for launch in launches)
    return sum(c.accesses for c in counts), sum(c.sectors for c in counts), tables


@st.composite
def matrices(draw: st.DrawFn) -> torch.Tensor:
    """Draw a matrix: small or large numbers, around 0 or not, float or double."""
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 600))
    dtype = draw(st.sampled_from(DTYPES))
    scale, mean = draw(st.sampled_from([0.3, 1.0, 30.0])), draw(st.sampled_from([0.0, 1.0]))
    return scale * (torch.randn(shape, dtype=dtype) + mean)


@BOTH
def test_columns_add_up(extension: CudaExtension, device: str, dtype: torch.dtype) -> None:
    """Backward of weight and bias: column by column, over all rows."""
    for shape in ((3, 2), (2, 3, 2, 9), (4,)):
        backward(extension, torch.randn(shape, dtype=dtype, device=device))


@pytest.mark.parametrize("rows", [1, 7, 31, 32, 33, 65, 300])
def test_columns_of_any_length(extension: CudaExtension, device: str, rows: int) -> None:
    """Around multiples of a warp, no row is left out, and none is added twice."""
    backward(extension, torch.randn(rows, 20, device=device))


def test_what_rows_cannot_change(extension: CudaExtension, device: str) -> None:
    """Shifting or scaling a row does not change `out`, so the gradient in that direction is 0."""
    x = torch.randn(5, 30, device=device)
    out, mean = F.layer_norm(x, [30]), x.mean(1, keepdim=True)
    rstd = (x.var(1, correction=0, keepdim=True) + EPS).rsqrt()
    one = torch.ones(30, device=device)
    for grad in (torch.full_like(x, 3.0), out):
        grad_x, _, _ = extension.op("layer_norm_backward")(grad, x, one, mean, rstd)
        compare("grad_x", grad_x, torch.zeros_like(x).double(), 1e-4)


@BOTH
@LENGTHS
def test_backward_of_rows_of_any_length(
    extension: CudaExtension, device: str, n: int, dtype: torch.dtype
) -> None:
    """Every element contributes to the two sums of its row."""
    x = torch.randn(3, n, dtype=dtype, device=device)
    grad = torch.randn_like(x)
    grad[1, -1] += 10.0
    backward(extension, x, grad)


@pytest.mark.parametrize("shape", [(0, 5), (0, 300), (2, 0, 4)])
def test_backward_of_no_rows(extension: CudaExtension, device: str, shape: tuple[int, ...]) -> None:
    """A sum of no rows is 0, and must be written."""
    backward(extension, torch.empty(shape, device=device))


def test_nan_stays_in_its_row_and_column(extension: CudaExtension, device: str) -> None:
    """NaN spoils a row of grad_x and a column of grad_weight and grad_bias, and no others."""
    x = torch.randn(40, 50, device=device)
    grad = torch.randn_like(x)
    grad[17, 33] = math.nan
    backward(extension, x, grad)


@given(x=matrices())
def test_backward_of_any_matrix(extension: CudaExtension, x: torch.Tensor) -> None:
    """Test any shape, in any order of blocks and threads."""
    backward(extension, torch.cat([x, x + torch.randn_like(x)]))


def test_gradients_arrive(extension: CudaExtension, device: str) -> None:
    """Forward saves what backward needs, and the autograd function connects the two."""
    inputs = [torch.randn(6, 40, device=device), *affine(40, device=device)]
    ours = [tensor.clone().requires_grad_() for tensor in inputs]
    theirs = [tensor.double().requires_grad_() for tensor in inputs]
    grad = torch.randn(6, 40, device=device)
    extension.op("layer_norm")(*ours, EPS).backward(grad)
    F.layer_norm(theirs[0], [40], theirs[1], theirs[2], EPS).backward(grad.double())
    for name, actual, expected in zip(("x", "weight", "bias"), ours, theirs, strict=True):
        assert actual.grad is not None, f"no gradient arrives at {name}"
        assert expected.grad is not None
        compare(f"the gradient of {name}", actual.grad, expected.grad, 1e-4)


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (2, 33), (9, 2)], ids=str)
def test_gradcheck_agrees(extension: CudaExtension, device: str, shape: tuple[int, int]) -> None:
    """Compare with finite differences in float64: nothing may be rounded to float."""
    inputs = [torch.randn(shape, dtype=torch.float64, device=device)]
    inputs += affine(shape[1], torch.float64, device)
    layer_norm = extension.op("layer_norm")
    leaves = [tensor.requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(lambda *args: layer_norm(*args, 1e-2), leaves), (
        "backward and finite differences do not agree: in float64, round nothing to float"
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_many_threads_go_backward(extension: CudaExtension, shape: tuple[int, int]) -> None:
    """At most 3 launches; no thread has a whole row or a whole column for itself."""
    backward(extension, torch.randn(shape))
    launches = extension.launches()
    names = [launch.kernel for launch in launches]
    assert len(launches) <= 3, f"expected at most 3 launches, found {len(launches)}: {names}"
    least = min(32 * shape[0], 8 * shape[1])
    for launch in launches:
        assert max(launch.grid[1:]) < min(shape), (
            f"the grid of {launch.kernel} is {launch.grid} for {shape[0]} rows: along y and z a"
            " grid ends at 65535, but there may be more rows than that"
        )
        if launch.count("global", "read").accesses >= math.prod(shape):
            assert least <= launch.active_threads, (
                f"{launch.kernel} has {launch.active_threads} threads that load or store for"
                f" {shape[0]} rows and {shape[1]} columns, expected at least 32 for each row or 8"
                f" for each column"
            )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_backward_reads_what_lies_together(
    extension: CudaExtension, shape: tuple[int, int]
) -> None:
    """For rows and for columns, the lanes of a warp read neighbours in a row."""
    backward(extension, torch.randn(shape))
    pieces = math.prod(shape) // 8
    _, read, table = total(extension.launches(), "read")
    assert read <= 10 * pieces, (
        f"{read / pieces:.2f} sectors read for each 8 elements, expected at most 10\n{table}"
    )


def test_nothing_of_t_is_double(extension: CudaExtension) -> None:
    """In the source above the given part, a kernel for float uses no double."""
    backward(extension, torch.randn(3, 100))
    forbids_doubles(
        source("katas.lecture09", "csrc/k21_layer_norm_backward.cu"), given="// ---- given:"
    )


@pytest.mark.backend("nvcc")
def test_nvcc_computes_in_t(extension: CudaExtension, ptx: Ptx) -> None:
    """Compiled for a GPU, a float kernel uses no double, and a double kernel no float."""
    backward(extension, torch.randn(3, 40))
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
