"""Tests of k03_axpy: indices, bounds, a grid-stride loop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas import source
from plugins.kit import forbids_doubles
from plugins.kit import forbids_tokens


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Launch
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

THREADS = 256
MOST_BLOCKS = 64


def arrays(n: int, device: str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
    """Return x and y, whose products and sums are exact."""
    x = torch.randint(-8, 9, (n,), dtype=torch.float32, device=device)
    return x, torch.randint(-8, 9, (n,), dtype=torch.float32, device=device)


def check(extension: CudaExtension, n: int, device: str = "cpu") -> None:
    """Compare one call with a * x + y."""
    x, y = arrays(n, device)
    expected = 2.5 * x + y
    actual = extension.op("axpy")(x, y, 2.5)
    wrong = (expected != actual).nonzero().flatten().tolist()
    assert [] == wrong, (
        f"{len(wrong)} of {n} elements are wrong, the first is out[{wrong[0]}]:"
        f" {actual[wrong[0]].item()}, expected {expected[wrong[0]].item()}"
    )


def launched(extension: CudaExtension, n: int) -> Launch:
    """Check one call, and return its only launch."""
    check(extension, n)
    launches = extension.launches()
    assert 1 == len(launches), f"n = {n}: expected one launch, found {len(launches)}"
    return launches[0]


def test_one_element(extension: CudaExtension, device: str) -> None:
    """With one element, the other 255 threads of the block must not touch it."""
    check(extension, 1, device)


@pytest.mark.parametrize("n", [255, 256, 257, 1000])
def test_blocks_begin_where_others_end(extension: CudaExtension, device: str, n: int) -> None:
    """Around a multiple of the block size, each thread finds its element, and none past the end."""
    check(extension, n, device)


@pytest.mark.parametrize("n", [64 * 256, 64 * 256 + 1, 5 * 64 * 256 - 3])
def test_a_thread_goes_on_to_further_elements(
    extension: CudaExtension, device: str, n: int
) -> None:
    """If there are more elements than threads, the loop goes on in steps of the whole grid."""
    check(extension, n, device)


def test_no_elements(extension: CudaExtension, device: str) -> None:
    """No elements, no launch: a grid of no blocks is an error."""
    actual = extension.op("axpy")(torch.empty(0, device=device), torch.empty(0, device=device), 3.0)
    assert (0,) == tuple(actual.shape), f"expected shape (0,), yours is {tuple(actual.shape)}"
    if device == "cpu":
        assert [] == extension.launches(), "expected no launch, not even of one idle block"


def test_special_values_are_computed_like_others(extension: CudaExtension, device: str) -> None:
    """No element is skipped: 3 * 0 + y, infinities, NaN, -0.0 and denormals, to the bit.

    Do not skip a = 0 either: 0 * x is NaN where x is infinite or NaN, though BLAS ignores x then.
    """
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**-149, -(2.0**-140), 1.0]
    x = torch.tensor(special, device=device).repeat_interleave(len(special))
    y = torch.tensor(special, device=device).repeat(len(special))
    # Both products are exact for denormals too: a fused multiply-add rounds as two operations do.
    for a in (3.0, 0.0):
        actual, expected = extension.op("axpy")(x, y, a), a * x + y
        for one, other in ((actual, expected), (1 / actual, 1 / expected)):  # 1 / -0.0 is -inf
            wrong = ((one != other) & ~(one.isnan() & other.isnan())).nonzero().flatten().tolist()
            assert [] == wrong, (
                f"yours differs from PyTorch's {a:g} * x + y on special values: x is"
                f" {x[wrong[0]].item()}, y {y[wrong[0]].item()}; yours {actual[wrong[0]].item()},"
                f" PyTorch's {expected[wrong[0]].item()}"
            )


@given(n=st.integers(1, 40_000))
def test_any_number_of_elements(extension: CudaExtension, n: int) -> None:
    """Test any n, in any order of blocks and threads."""
    check(extension, n)


@pytest.mark.parametrize(
    ("n", "blocks"), [(1, 1), (256, 1), (257, 2), (63 * 256, 63), (63 * 256 + 1, 64), (10**5, 64)]
)
def test_blocks_are_as_many_as_needed_but_never_more_than_64(
    extension: CudaExtension, n: int, blocks: int
) -> None:
    """Blocks of 256 threads; beyond 64 of them each thread takes more elements."""
    launch = launched(extension, n)
    assert (THREADS, 1, 1) == launch.block, "expected blocks of 256 threads along x"
    assert (blocks, 1, 1) == launch.grid, (
        f"n = {n}: expected {blocks} blocks, your code launches {launch.grid}"
    )


def test_each_element_is_read_and_written_once(extension: CudaExtension) -> None:
    """The kernel makes 2 n loads and n stores: nothing is computed twice, or copied before."""
    n = 3 * MOST_BLOCKS * THREADS
    launch = launched(extension, n)
    for kind, expected in (("read", 2 * n), ("write", n)):
        found = launch.count("global", kind).accesses
        assert expected == found, (
            f"{found} accesses of the kind {kind!r} for {n} elements, expected"
            f" {expected}\n{launch.table()}"
        )
    forbids_tokens(source("katas.lecture09", "csrc/k03_axpy.cu"), "cudaMemcpy", "cudaMemcpyAsync")


def test_a_warp_touches_neighbouring_elements(extension: CudaExtension) -> None:
    """32 floats of a warp are 4 sectors of 32 bytes; a chunk per thread would touch 32."""
    n = 3 * MOST_BLOCKS * THREADS
    launch = launched(extension, n)
    moved = launch.count("global")
    assert 4 * moved.requests == moved.sectors, (
        f"{moved.sectors / moved.requests:.1f} sectors per request of a warp, 4 would do: which"
        f" elements do threads 0 to 31 touch at the same time?\n{launch.table()}"
    )


def test_all_of_it_is_on_the_stream_of_the_caller(extension: CudaExtension) -> None:
    """In `with torch.cuda.stream(s)` the launch goes to s, not to the default stream."""
    with extension.simulated(stream=11):
        check(extension, 300)


def test_a_launch_that_fails_is_reported(extension: CudaExtension) -> None:
    """A launch does not raise; return the error that cudaGetLastError() reports."""
    with extension.refused():
        check(extension, 300)


@pytest.mark.parametrize(("grid", "block"), [(1, 32), (3, 96), (5, 1), (70, 512)])
def test_the_kernel_is_right_for_any_launch(
    extension: CudaExtension, grid: int, block: int
) -> None:
    """With other launches, use gridDim and blockDim, not constants."""
    with extension.simulated(grid=grid, block=block):
        check(extension, 1000)


@pytest.mark.parametrize("processors", [1, 3, 132])
def test_a_grid_is_as_large_as_the_device(extension: CudaExtension, processors: int) -> None:
    """64 blocks are the limit for 8 multiprocessors, and not for other devices."""
    n = 20 * THREADS
    with extension.simulated(processors=processors):
        launch = launched(extension, n)
    blocks = min(20, 8 * processors)
    assert (blocks, 1, 1) == launch.grid, (
        f"{processors} multiprocessors, n = {n}: expected {blocks} blocks, yours {launch.grid}:"
        " use most_blocks(), which asks the device"
    )


def test_nothing_is_in_float64(extension: CudaExtension) -> None:
    """The source has no double, and no literal without an f in float arithmetic."""
    check(extension, 100)
    forbids_doubles(source("katas.lecture09", "csrc/k03_axpy.cu"))


@pytest.mark.backend("nvcc")
def test_nvcc_makes_one_instruction_of_product_and_sum(ptx: Ptx) -> None:
    """Compiled for a GPU: a fused multiply-add, and nothing in float64."""
    assert ptx.count("fma.rn.f32"), f"no fma.rn.f32 for a * x[i] + y[i]:\n{ptx.table()}"
    assert 0 == ptx.count("mul.f32", "add.f32"), (
        f"the multiply and the add are separate instructions:\n{ptx.table()}"
    )
    assert 0 == ptx.count("*.f64*"), f"your kernel uses double: is an f missing?\n{ptx.table()}"
