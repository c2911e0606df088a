"""What `tensors` draws: every layout, special values, shapes of any rank."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import find
from hypothesis import settings

from plugins.checks import tensors


torch = pytest.importorskip("torch", reason="these tests need torch")
pytestmark = pytest.mark.torch


def dice(seed: int) -> Random:
    """Return a source of random numbers."""
    return Random(seed)  # noqa: S311 - no secret


@pytest.mark.parametrize("layout", tensors.LAYOUTS)
@pytest.mark.parametrize("size", [(), (0,), (3,), (2, 0, 3), (2, 3), (2, 3, 4)])
def test_a_layout_has_the_size_that_was_asked_for(layout: str, size: tuple[int, ...]) -> None:
    """Whatever the storage looks like."""
    x = tensors.laid_out(size, layout, torch.float64, dice(1), ())

    assert size == tuple(x.shape)
    assert x.numel() == x.clone().numel()


def test_layouts_differ_in_strides_and_offset() -> None:
    """A contiguous tensor is one of five."""

    def drawn(layout: str) -> Any:
        return tensors.laid_out((2, 3, 4), layout, torch.float64, dice(3), ())

    assert (12, 4, 1) == drawn("contiguous").stride()
    assert not drawn("permuted").is_contiguous()
    assert 0 in drawn("expanded").stride()
    assert drawn("offset").storage_offset()
    assert 2 == drawn("stepped").stride()[-1]


def test_floats_are_irrational_beside_special_values() -> None:
    """Zeros of both signs, infinities, NaN and a denormal turn up, and nothing whole."""
    x = tensors.filled((4000,), torch.float32, dice(1), tensors.SPECIAL)
    finite = x[x.isfinite()]
    tiny = finite[(finite != 0) & (finite.abs() < torch.finfo(torch.float32).smallest_normal)]
    common = finite[finite.abs() > 1e-6]

    assert x.isnan().any()
    assert {math.inf, -math.inf} <= set(x.tolist())
    assert {1.0, -1.0} == {math.copysign(1, zero) for zero in x[x == 0].tolist()}
    assert tiny.numel()
    assert not (common == common.round()).any()


def test_other_dtypes_have_ends_of_their_own() -> None:
    """The largest int8 and the smallest; both bools; complex numbers with two parts."""
    drawn = dice(1)
    small = tensors.filled((400,), torch.int8, drawn, tensors.SPECIAL)
    unsigned = tensors.filled((400,), torch.uint8, drawn, ())
    pairs = tensors.filled((400,), torch.complex128, drawn, tensors.FINITE)

    assert {-128, 127} <= set(small.tolist())
    assert (unsigned <= 9).all()
    assert {True, False} == set(tensors.filled((40,), torch.bool, drawn, ()).tolist())
    assert (pairs.imag != 0).any()
    assert pairs.isfinite().all()


def test_hypothesis_finds_what_bites() -> None:
    """An empty tensor of rank 3, a NaN in a permuted float32, a given shape."""
    few = settings(max_examples=2000, database=None)
    every = tensors.tensors()

    assert find(every, lambda x: x.dim() == 3 and not x.numel(), settings=few).numel() == 0
    found = find(
        every,
        lambda x: x.dtype is torch.float32 and x.isnan().any() and not x.is_contiguous(),
        settings=few,
    )
    assert found.isnan().any()
    assert find(every, lambda x: 0 in x.stride() and x.numel() > 1, settings=few).numel()
    given = tensors.tensors((torch.int64,), shape=(2, 2), special=(), layouts=("offset",))
    assert (2, 2) == find(given, lambda _: True).shape
