"""Tests of k11_layer_norm: rows and columns, forward and backward, in float32 and float64."""

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
    from collections.abc import Callable

    from plugins.kit import CudaExtension
    from plugins.kit import Launch
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

EPS = 1e-5
DTYPES = [torch.float32, torch.float64]
BOTH = pytest.mark.parametrize("dtype", DTYPES, ids=["float", "double"])
LENGTHS = pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025])
# Of ordinary rows, and of rows whose mean is large.
BOUNDS = {torch.float32: (1e-4, 1e-3), torch.float64: (1e-9, 1e-6)}
# Rows of several numbers of warps, and of blocks.
SHAPES = [(64, 512), (64, 992)]

Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def affine(n: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> list[torch.Tensor]:
    """Return a weight and a bias."""
    return [torch.randn(n, dtype=dtype, device=device) for _ in range(2)]


def compare(name: str, actual: torch.Tensor, expected: torch.Tensor, bound: float) -> None:
    """Compare with what float64 gives; errors are measured by the largest element."""
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
        f" {expected[tuple(wrong[0])].item():.9g}, or up to {most:.1g} more or less"
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
    # The statistics first: what is wrong with them is wrong with all the rest.
    for name, number in (("mean", 1), ("rstd", 2), ("out", 0)):
        if number == 0 or not only_out:
            compare(name, actual[number], expected[number], bound)
    return actual


def backward(extension: CudaExtension, x: torch.Tensor, grad: torch.Tensor | None = None) -> Three:
    """Call backward and compare with PyTorch in float64."""
    n = x.shape[-1]
    weight, bias = affine(n, x.dtype, str(x.device))
    grad = torch.randn_like(x) if grad is None else grad
    wide = [tensor.double() for tensor in (grad, x, weight, bias)]
    # Two elements that are nearly equal are stretched by up to 1 / sqrt(eps), and with them what
    # float32 has rounded.
    _, mean, rstd = torch.ops.aten.native_layer_norm(wide[1], [n], *wide[2:], 1e-2)
    # They are taken as they are: a mean that was not made of x shows who makes it again.
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


def test_two_elements(extension: CudaExtension, device: str) -> None:
    """1 and 3 are 1 less and 1 more than 2; their variance is 1, for which n divides, not n - 1."""
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
    """Rows are normalised apart, in any number of dims; columns have their weight and bias."""
    for shape in ((7, 5), (2, 3, 2, 9), (4,)):
        forward(extension, torch.randn(shape, dtype=dtype, device=device), eps=0.0)


@pytest.mark.parametrize("eps", [0.5, 1e-3, 1e-12])
def test_eps_is_added_to_the_variance(extension: CudaExtension, device: str, eps: float) -> None:
    """Under the root, and not to the root; a small eps is not lost, and a large one counts."""
    x = torch.tensor([1.0, 0.1, 0.01], device=device)[:, None] * torch.randn(3, 20, device=device)
    forward(extension, x, eps=eps)


@BOTH
@LENGTHS
def test_rows_of_any_length(
    extension: CudaExtension, device: str, n: int, dtype: torch.dtype
) -> None:
    """Around a warp and a block: parts of a row are of different sizes, and may be empty."""
    x = torch.randn(3, n, dtype=dtype, device=device)
    # A part that is smaller than the others has another mean than they have.
    x[1, n // 2 :] += 5.0
    x[2, -1] -= 20.0
    forward(extension, x)


@pytest.mark.parametrize("shape", [(0, 5), (0, 300), (2, 0, 4)])
def test_no_rows(extension: CudaExtension, device: str, shape: tuple[int, ...]) -> None:
    """No rows, no launch: a grid of no blocks is an error."""
    forward(extension, torch.empty(shape, device=device))


@BOTH
@pytest.mark.parametrize("n", [40, 300, 2000])
def test_a_large_mean(extension: CudaExtension, device: str, n: int, dtype: torch.dtype) -> None:
    """Squares of large numbers have no digits left for a small variance."""
    x = torch.randn(4, n, dtype=dtype, device=device)
    x += 1e3 if dtype == torch.float32 else 1e8
    forward(extension, x, large=True, only_out=True)


@BOTH
def test_equal_elements(extension: CudaExtension, device: str, dtype: torch.dtype) -> None:
    """The variance is 0, and not a little less or more, by which rstd would be NaN or too small."""
    values = torch.cat([torch.tensor([0.0, 1.0, 0.1, -7.3]), 300.0 * torch.randn(20)])
    x = values.to(dtype).to(device)[:, None].repeat(1, 600)
    one, zero = torch.ones(600, dtype=dtype, device=device), torch.zeros(600, device=device)
    _, mean, rstd = extension.op("layer_norm_forward")(x, one, zero.to(dtype), EPS)
    compare("mean", mean, x[:, :1].double(), 1e-6)
    compare("rstd", rstd, torch.full_like(mean, EPS**-0.5).double(), 1e-2)


@BOTH
def test_a_long_row(extension: CudaExtension, device: str, dtype: torch.dtype) -> None:
    """More elements than fit the shared memory of a block; the last ones are other ones."""
    x = torch.randn(1, 30_003, dtype=dtype, device=device)
    x[0, 25_000:] += 8.0
    forward(extension, x)


@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan])
def test_infinity_and_nan_spread_over_the_row(
    extension: CudaExtension, device: str, special: float
) -> None:
    """No mean, no variance: the whole row is NaN, and no other."""
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
    """Any shape, in any order of blocks and threads."""
    forward(extension, x, eps=eps)


@BOTH
def test_columns_add_up(extension: CudaExtension, device: str, dtype: torch.dtype) -> None:
    """Backward of weight and bias: column by column, over all rows."""
    for shape in ((3, 2), (2, 3, 2, 9), (4,)):
        backward(extension, torch.randn(shape, dtype=dtype, device=device))


@pytest.mark.parametrize("rows", [1, 7, 31, 32, 33, 65, 300])
def test_columns_of_any_length(extension: CudaExtension, device: str, rows: int) -> None:
    """Around a warp and its multiples, no row is left out, and none is added twice."""
    backward(extension, torch.randn(rows, 20, device=device))


def test_what_rows_cannot_change(extension: CudaExtension, device: str) -> None:
    """Shift or stretch a row: out stays, so its gradient has no part in these directions."""
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
    """Every element has a part in the two sums of its row."""
    x = torch.randn(3, n, dtype=dtype, device=device)
    grad = torch.randn_like(x)
    grad[1, -1] += 10.0
    backward(extension, x, grad)


@pytest.mark.parametrize("shape", [(0, 5), (0, 300), (2, 0, 4)])
def test_backward_of_no_rows(extension: CudaExtension, device: str, shape: tuple[int, ...]) -> None:
    """A sum of nothing is 0, and somebody has to write it."""
    backward(extension, torch.empty(shape, device=device))


def test_nan_stays_in_its_row_and_column(extension: CudaExtension, device: str) -> None:
    """A row is NaN in grad_x, a column in grad_weight and grad_bias; the others do not notice."""
    x = torch.randn(40, 50, device=device)
    grad = torch.randn_like(x)
    grad[17, 33] = math.nan
    backward(extension, x, grad)


@given(x=matrices())
def test_backward_of_any_matrix(extension: CudaExtension, x: torch.Tensor) -> None:
    """Any shape, in any order of blocks and threads."""
    backward(extension, torch.cat([x, x + torch.randn_like(x)]))


def test_gradients_arrive(extension: CudaExtension, device: str) -> None:
    """Forward saves what backward needs, and the autograd function joins the two."""
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
    """Finite differences in float64, in which nothing may be rounded to float on the way."""
    inputs = [torch.randn(shape, dtype=torch.float64, device=device)]
    inputs += affine(shape[1], torch.float64, device)
    layer_norm = extension.op("layer_norm")
    leaves = [tensor.requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(lambda *args: layer_norm(*args, 1e-2), leaves)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_forward_is_one_launch(extension: CudaExtension, shape: tuple[int, int]) -> None:
    """Fused: statistics and results by one kernel, and a warp or more for each row."""
    forward(extension, torch.randn(shape))
    launches = extension.launches()
    names = [launch.kernel for launch in launches]
    assert 1 == len(launches), f"expected one launch, found {len(launches)}: {names}"
    assert 32 * shape[0] <= launches[0].active_threads, (
        f"expected at least {32 * shape[0]} threads for {shape[0]} rows, found"
        f" {launches[0].active_threads} that load or store"
    )
    grid = launches[0].grid
    assert max(grid[1:]) < shape[0], (
        f"the grid of {shape[0]} rows is {grid}: along y and z a grid ends at 65535, and there may"
        " be more rows than that"
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_forward_reads_a_row_twice(extension: CudaExtension, shape: tuple[int, int]) -> None:
    """One pass for mean and variance, one for the results: along the row, with weight and bias."""
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
            " grid ends at 65535, and there may be more rows than that"
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
    """Rows and columns: in both directions the lanes of a warp stand side by side in a row."""
    backward(extension, torch.randn(shape))
    pieces = math.prod(shape) // 8
    _, read, table = total(extension.launches(), "read")
    assert read <= 10 * pieces, (
        f"{read / pieces:.2f} sectors read for each 8 elements, expected at most 10\n{table}"
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_backward_writes_sums_and_not_terms(
    extension: CudaExtension, shape: tuple[int, int]
) -> None:
    """Beside grad_x only sums go to memory, and they are not made there, one term at a time."""
    backward(extension, torch.randn(shape))
    pieces = math.prod(shape) // 8
    _, written, table = total(extension.launches(), "write")
    atomics, _, _ = total(extension.launches(), "atomic")
    assert atomics <= math.prod(shape) // 16, (
        f"{atomics} atomic operations for {math.prod(shape)} elements, expected at most one per"
        f" 16 elements: add up in registers and shared memory first\n{table}"
    )
    assert 2 * written <= 3 * pieces, (
        f"{written / pieces:.2f} sectors written for each 8 elements, expected at most 1.5\n{table}"
    )


def test_all_of_it_is_on_the_stream_of_the_caller(extension: CudaExtension) -> None:
    """In `with torch.cuda.stream(s)` that is s, and nothing orders s and the default stream."""
    with extension.simulated(stream=11):
        forward(extension, torch.randn(3, 40))
        backward(extension, torch.randn(3, 40))


@pytest.mark.parametrize("direction", [forward, backward])
def test_any_launch_that_fails_is_reported(
    extension: CudaExtension, direction: Callable[..., Three]
) -> None:
    """One after the other is made to fail; cudaGetLastError() has the error."""
    x = torch.randn(3, 40)
    direction(extension, x)
    for number in range(1, len(extension.launches()) + 1):
        with extension.refused(number):
            direction(extension, x)


def test_nothing_of_t_is_double(extension: CudaExtension) -> None:
    """By the text above the given part: a kernel for float has nothing of double in it."""
    forward(extension, torch.randn(3, 100))
    forbids_doubles(source("katas.lecture09", "csrc/k11_layer_norm.cu"), given="// ---- given:")


@pytest.mark.backend("nvcc")
def test_nvcc_computes_in_t(ptx: Ptx) -> None:
    """Compiled for a GPU: a kernel for float has nothing of double in it, nor the other way."""
    assert ptx.count("*.f32*"), f"nothing is computed in float32:\n{ptx.table()}"
    assert ptx.count("*.f64*"), f"nothing is computed in float64:\n{ptx.table()}"
    both = [
        kernel
        for kernel, found in ptx.kernels.items()
        if any(".f32" in name for name in found) and any(".f64" in name for name in found)
    ]
    assert [] == both, f"float32 and float64 in one kernel: which number is no T?\n{ptx.table()}"


def test_the_operators_pass_opcheck(extension: CudaExtension, device: str) -> None:
    """Schemas, Meta kernels and kernels agree: nothing is mutated, no storage is shared."""
    x = torch.randn(7, 40, device=device).t()
    _, mean, rstd = forward(extension, x)
    grad, (weight, bias) = torch.randn_like(x), affine(7, device=device)
    extension.op("layer_norm_backward")(grad, x, weight, mean, rstd)
    ops = {
        name: extension.op(name).default for name in ("layer_norm_forward", "layer_norm_backward")
    }
    torch.library.opcheck(ops["layer_norm_forward"], (x, weight, bias, EPS))
    torch.library.opcheck(ops["layer_norm_backward"], (grad, x, weight, mean, rstd))
    leaves = [tensor.requires_grad_() for tensor in (x, weight, bias)]
    torch.library.opcheck(extension.op("layer_norm").default, (*leaves, EPS))
