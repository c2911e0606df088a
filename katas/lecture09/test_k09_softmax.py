"""Tests of k09_softmax: the maximum and the sum of a row in one pass."""

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

INF = math.inf
LOWEST = torch.finfo(torch.float32).min
# Rows of several warps and of several blocks; all are multiples of 8, as sectors are.
SHAPES = [(40, 32), (3, 1000), (6, 1024), (2, 20_000)]


def check(extension: CudaExtension, x: torch.Tensor) -> None:
    """Compare one call with the float64 result."""
    expected = torch.softmax(x.double(), -1)
    actual = extension.op("softmax")(x)
    good = torch.isclose(expected, actual.double(), rtol=1e-4, atol=1e-7, equal_nan=True)
    wrong = (~good).nonzero().tolist()
    place = tuple(wrong[0]) if wrong else ()
    why = ""
    if wrong and actual[place].isnan() and not expected[place].isnan():
        why = "; -inf - (-inf) is NaN: what does combined make of two Partials of no elements?"
    assert [] == wrong, (
        f"{len(wrong)} of {x.numel()} elements are wrong, the first is out{wrong[0]}:"
        f" {actual[place].item():.7g}, expected {expected[place].item():.7g};"
        f" its row sums to {actual[place[:-1]].sum().item():.7g}{why}"
    )
    masked = actual[(x == -INF) & (expected == 0)]
    assert not masked.any(), f"expected 0 for masked elements, found {masked.max().item():.3g}"


def one_launch(extension: CudaExtension) -> Launch:
    """Return the only launch of the last call."""
    launches = extension.launches()
    tables = "\n".join(launch.table() for launch in launches)
    assert 1 == len(launches), f"expected one launch, found {len(launches)}\n{tables}"
    return launches[0]


def test_two_elements(extension: CudaExtension, device: str) -> None:
    """exp(0) = 1 and exp(log(3)) = 3 give a quarter and three quarters; other threads are idle."""
    check(extension, torch.tensor([[0.0, math.log(3.0)]], device=device))


def test_each_row_has_its_own_sum(extension: CudaExtension, device: str) -> None:
    """Rows are normalised separately, in any number of dims."""
    check(extension, torch.randn(7, 5, device=device))
    check(extension, torch.randn(2, 3, 2, 9, device=device))
    check(extension, torch.randn(4, device=device))


@pytest.mark.parametrize("n", [1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025])
def test_rows_of_any_length(extension: CudaExtension, device: str, n: int) -> None:
    """At sizes around a warp and a block, no element is left out, and none is from the next row."""
    check(extension, 3.0 * torch.randn(3, n, device=device))


@pytest.mark.parametrize("offset", [1000.0, -1000.0])
def test_only_differences_count(extension: CudaExtension, device: str, offset: float) -> None:
    """exp(1000) is infinite and exp(-1000) is 0 in float32; the maximum is subtracted first."""
    check(extension, torch.randn(4, 300, device=device) + offset)


@pytest.mark.parametrize("n", [64, 1000, 5000])
def test_the_maximum_grows(extension: CudaExtension, device: str, n: int) -> None:
    """Each element is a little larger than all before it, so the running sum is corrected."""
    rising = torch.linspace(-4.0, 4.0, n, device=device)
    check(extension, torch.stack([rising, rising.flip(0)]))


def test_any_finite_numbers(extension: CudaExtension, device: str) -> None:
    """The lowest finite number is an element like any other; a difference may be infinite."""
    x = torch.full((4, 40), LOWEST, device=device)
    x[1, 7] = -LOWEST
    x[2, ::2] = -LOWEST
    x[3] = torch.linspace(-3e38, 3e38, 40, device=device)
    check(extension, x)


@pytest.mark.parametrize("n", [2, 64, 700])
@pytest.mark.parametrize("where", ["first", "last", "all but one"])
def test_minus_infinity_is_left_out(
    extension: CudaExtension, device: str, n: int, where: str
) -> None:
    """Masked elements become 0 and change nothing, even if a thread or a warp sees no others."""
    x = torch.randn(3, n, device=device)
    masked = {
        "first": slice(0, n // 2),
        "last": slice(n // 2, n),
        "all but one": slice(1, n),
    }[where]
    x[1:, masked] = -INF
    check(extension, x)


def test_a_causal_mask(extension: CudaExtension, device: str) -> None:
    """As in attention, row i sees the elements up to i."""
    x = torch.randn(90, 90, device=device)
    check(extension, x.masked_fill(torch.ones_like(x).triu(1).bool(), -INF))


def test_a_row_of_minus_infinity_is_nan(extension: CudaExtension, device: str) -> None:
    """A row of only -inf is 0 / 0, NaN; the rows around it are unaffected."""
    x = torch.randn(3, 50, device=device)
    x[1] = -INF
    check(extension, x)


@pytest.mark.parametrize("special", [INF, math.nan])
@pytest.mark.parametrize("others", ["finite", "masked"])
def test_infinity_and_nan_spread_over_the_row(
    extension: CudaExtension, device: str, special: float, others: str
) -> None:
    """An infinity minus itself is NaN, so the whole row is NaN, and no other row."""
    x = torch.randn(4, 300, device=device)
    if others == "masked":
        x[:, ::2] = -INF
    x[0, 0] = x[1, 131] = x[3, -1] = special
    check(extension, x)


def test_a_long_row(extension: CudaExtension, device: str) -> None:
    """Test more elements than fit in the shared memory of a block; the largest come late."""
    x = torch.randn(2, 100_003, device=device)
    x[0, 90_000:] += 8.0
    check(extension, x)


@st.composite
def matrices(draw: st.DrawFn) -> torch.Tensor:
    """Draw a matrix: small or large numbers, some of them masked."""
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 600))
    x = draw(st.sampled_from([0.1, 3.0, 50.0, 1e4])) * torch.randn(shape)
    masked = draw(st.sampled_from([0.0, 0.5, 0.98]))
    return x.masked_fill(torch.rand(shape) < masked, -INF)


@given(x=matrices())
def test_any_matrix(extension: CudaExtension, x: torch.Tensor) -> None:
    """Test any shape, in any order of blocks and threads; a row may be masked as a whole."""
    check(extension, x)


@pytest.mark.parametrize("shape", SHAPES)
def test_each_element_is_read_twice_and_written_once(
    extension: CudaExtension, shape: tuple[int, int]
) -> None:
    """One pass for maximum and sum, one for the results: a third would load half as much again."""
    check(extension, torch.randn(shape))
    launch, elements = one_launch(extension), math.prod(shape)
    loads = launch.count("global", "read", "atomic").accesses
    stores = launch.count("global", "write", "atomic").accesses
    assert loads <= 2 * elements, (
        f"{loads / elements:.2f} loads per element, expected at most 2: compute the maximum"
        f" and the sum in one pass, and the results in one more\n{launch.table()}"
    )
    assert stores <= elements, (
        f"{stores / elements:.2f} stores per element, expected 1: store only the"
        f" result\n{launch.table()}"
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_neighbouring_threads_touch_neighbouring_elements(
    extension: CudaExtension, shape: tuple[int, int]
) -> None:
    """8 elements are a sector of 32 bytes, and a sector that is moved is used entirely."""
    check(extension, torch.randn(shape))
    launch, pieces = one_launch(extension), math.prod(shape) // 8
    read = launch.count("global", "read").sectors
    written = launch.count("global", "write", "atomic").sectors
    assert read <= 2 * pieces, (
        f"{read / pieces:.2f} sectors read for each 8 elements, expected at most 2: which elements"
        f" do threads 0 to 31 touch at the same time?\n{launch.table()}"
    )
    assert written <= pieces, (
        f"{written / pieces:.2f} sectors written for each 8 elements, expected 1\n{launch.table()}"
    )


def test_nothing_is_in_float64(extension: CudaExtension) -> None:
    """The source has no double, and no literal without an f in float arithmetic."""
    check(extension, torch.randn(3, 100))
    forbids_doubles(source("katas.lecture09", "csrc/k09_softmax.cu"))


@pytest.mark.backend("nvcc")
def test_nvcc_uses_the_exponential_of_the_hardware(ptx: Ptx) -> None:
    """Compiled for a GPU: 2 to the power of a float32, nothing in float64, no local memory."""
    assert ptx.count("ex2.approx*"), (
        f"no ex2.approx, expected the hardware's exponential:\n{ptx.table()}"
    )
    assert 0 == ptx.count("*.f64*"), f"your kernel uses double: is an f missing?\n{ptx.table()}"
    assert 0 == ptx.count("ld.local*", "st.local*"), (
        f"your kernel uses local memory:\n{ptx.table()}"
    )
