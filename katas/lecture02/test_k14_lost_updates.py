"""Tests of k14_lost_updates: ``torch.bincount`` and sums in float64 are the oracle."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02.k14_lost_updates import histogram
from katas.lecture02.k14_lost_updates import totals
from plugins.kit import unchanged


def counts_agree(values: torch.Tensor, bins: int, why: str) -> None:
    """Compare the counts with those of ``torch.bincount``."""
    with unchanged(values=values):
        yours = histogram(values, bins)
    theirs = torch.bincount(values, minlength=bins)

    assert theirs.tolist() == yours.tolist(), (
        f"{values.tolist()} in {bins} bins: yours {yours.tolist()}, PyTorch's bincount "
        f"{theirs.tolist()}.\n{why}"
    )
    assert yours.dtype == torch.int64, f"your counts are {yours.dtype}, expected int64"


def totals_agree(values: torch.Tensor, groups: torch.Tensor, count: int, why: str) -> None:
    """Compare the sums with those of float64, rounded to the values' dtype."""
    with unchanged(values=values, groups=groups):
        yours = totals(values, groups, count)
    exact = torch.zeros(count, dtype=torch.float64, device=values.device)
    exact = exact.index_add_(0, groups, values.double())
    # The last bit may differ: a sum in float32 is rounded there.
    bits = max(torch.finfo(values.dtype).eps, 1e-12)
    torch.testing.assert_close(
        yours,
        exact.to(values.dtype),
        rtol=bits,
        atol=bits,
        msg=lambda text: (
            f"{values.dtype}: yours (actual) differs from the sum (expected).\n{why}\n{text}"
        ),
    )


@pytest.mark.given
def test_values_that_differ_are_counted(device: str) -> None:
    """No index occurs twice, so nothing is lost."""
    counts_agree(torch.tensor([2, 0], device=device), 3, "Each bin is written once.")


def test_values_that_occur_twice_are_counted_twice(device: str) -> None:
    """x[i] += 1 reads x[i], adds, and writes x[i]: the second write of 1 changes nothing."""
    why = "Reading comes before all writing: two writes of 0 + 1. What accumulates?"
    counts_agree(torch.tensor([0, 0, 2], device=device), 3, why)


@given(values=st.lists(st.integers(0, 4), max_size=9))
@example(values=[])
@example(values=[3] * 9)
def test_any_values_are_counted(values: list[int]) -> None:
    """No values at all, equal values, and empty bins."""
    counts_agree(torch.tensor(values, dtype=torch.int64), 5, "Every occurrence counts.")


def test_a_large_count_is_exact() -> None:
    """A float32 counter stops at 2**24, a half precision counter much earlier."""
    values = torch.zeros(1, dtype=torch.int64).expand(2**24 + 3)
    yours = histogram(values, 2).tolist()

    assert yours == [2**24 + 3, 0], f"2**24 + 3 zeros in 2 bins: yours {yours}; count in int64"


@pytest.mark.given
def test_a_few_values_are_added(device: str) -> None:
    """Small sums are exact in half precision."""
    values = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float16, device=device)
    totals_agree(values, torch.tensor([1, 0, 1], device=device), 2, "1 + 3, and 2.")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_many_ones_are_added(dtype: torch.dtype) -> None:
    """Beyond 2048 (256 in bfloat16) the spacing is 2, and 2048 + 1 is 2048."""
    values, groups = torch.ones(9000, dtype=dtype), torch.arange(9000) % 2
    why = "Each addition is written to an element, and rounded. Which dtype has room for it?"
    totals_agree(values, groups, 2, why)
    values = torch.arange(9000, dtype=torch.float64).sqrt().frac().to(dtype)
    why = "Sums of parts are sums, too: the only rounding is that of the result."
    totals_agree(values, groups, 2, why)


@pytest.mark.given
def test_a_group_is_no_matter_of_the_others() -> None:
    """Infinity stays in its group: 0 times inf is NaN, and so is inf - inf."""
    values = torch.tensor([torch.inf, 1.0, -torch.inf, 2.0, 3.0])
    totals_agree(values, torch.tensor([0, 1, 2, 1, 3]), 4, "inf, 1 + 2, -inf, and 3.")


def test_what_a_sum_leaves_out_comes_back() -> None:
    """Half precision is rounded only at the end; wider dtypes keep their precision."""
    halves = torch.tensor([60000.0, 60000.0, -60000.0, 0.5], dtype=torch.float16)
    groups = torch.zeros(4, dtype=torch.int64)
    totals_agree(halves, groups, 1, "60000 + 60000 is infinite in float16; the sum is not.")
    doubles = torch.tensor([1.0, 2.0**-40, 1e300], dtype=torch.float64)
    totals_agree(doubles, torch.tensor([0, 0, 1]), 3, "float64 in, float64 within.")
    yours = totals(halves, groups, 1).dtype
    assert yours == torch.float16, f"your result is {yours}, expected the values' dtype, float16"
