"""Tests of k10_int8: against fake_quantize, and products against exact ones."""

from __future__ import annotations

from math import inf
from math import nan

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture15.k10_int8 import dequantize
from katas.lecture15.k10_int8 import linear_int8
from katas.lecture15.k10_int8 import qparams
from katas.lecture15.k10_int8 import quantize
from katas.lecture15.k10_int8 import quantize_weight
from plugins.kit import unchanged


def check_qparams(low: float, high: float, expected: tuple[float, int], why: str) -> None:
    """Compare scale and zero point."""
    yours = qparams(low, high)

    assert expected == yours, f"from {low} to {high}: yours {yours}, expected {expected}; {why}"


def test_a_range_around_zero() -> None:
    """The range has 255 steps, and the zero point stands for 0."""
    check_qparams(-64.0, 191.0, (1.0, -64), "-64 is -128, so 0 is -64")
    check_qparams(-51.0, 76.5, (0.5, -26), "-51 is 102 steps below 0")
    check_qparams(-64.25, 190.75, (1.0, -64), "-63.75 is rounded, not cut off")
    check_qparams(-64.75, 190.25, (1.0, -63), "-63.25 is rounded")
    check_qparams(-65.5, 189.5, (1.0, -62), "-62.5: Python rounds a tie to even")


def test_a_range_without_zero() -> None:
    """A range without 0 is widened: after a relu nothing is negative, and 0 has to be exact."""
    check_qparams(20.0, 127.5, (0.5, -128), "the range is 0 to 127.5")
    check_qparams(-255.0, -100.0, (1.0, 127), "the range is -255 to 0")
    check_qparams(0.0, 0.0, (1.0, 0), "nothing but 0")


@pytest.mark.parametrize("ends", [(nan, 1.0), (0.0, nan), (-inf, 1.0), (0.0, inf)])
def test_a_range_that_is_none(ends: tuple[float, float]) -> None:
    """A range with a NaN or infinite end is refused: it would spoil the scale."""
    with pytest.raises(ValueError, match=r"."):
        qparams(*ends)


def compare(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare two int8 tensors."""
    assert torch.int8 == yours.dtype, f"yours has dtype {yours.dtype}, expected torch.int8"
    assert expected.tolist() == yours.tolist(), (
        f"yours {yours.tolist()}, expected {expected.tolist()}; {why}"
    )


def test_ties_go_to_even() -> None:
    """Ties go to even: always rounding them up would shift the mean."""
    x = torch.tensor([0.25, 0.75, 1.25, -0.25, -0.75, 1.2, -1.3])
    with unchanged(x=x):
        yours = quantize(x, 0.5, 3)

    compare(yours, torch.tensor([3, 5, 5, 3, 1, 5, 0]), "0.25 / 0.5 is 0.5: rounded, then plus 3")


def test_times_one_over_the_scale() -> None:
    """Near a tie x * (1 / scale) differs from x / scale, and PyTorch uses the first."""
    x = torch.tensor([-9.149999618530273, -3.250000238418579])
    theirs = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127).tolist()

    compare(quantize(x, 0.1, 0), torch.tensor([-92, -33]), f"fake_quantize returns {theirs}")


def test_what_does_not_fit() -> None:
    """A number beyond an end is clamped, and does not wrap around."""
    yours = quantize(torch.tensor([300.0, -300.0, inf, -inf, 1e30]), 1.0, 10)

    compare(yours, torch.tensor([127, -128, 127, -128, 127]), "an int8 has ends")


def test_a_nan_is_refused() -> None:
    """A NaN is refused; PyTorch's own functions return three different numbers for it."""
    with pytest.raises(ValueError, match=r"."):
        quantize(torch.tensor([1.0, nan]), 1.0, 0)


def test_what_a_number_stands_for() -> None:
    """A difference from the zero point may be 127 - (-128), which is 255."""
    q = torch.tensor([-128, -1, 0, 127], dtype=torch.int8)
    yours = dequantize(q, 0.5, -128)
    expected = torch.tensor([0.0, 63.5, 64.0, 127.5])

    assert torch.float32 == yours.dtype, f"yours has dtype {yours.dtype}, expected torch.float32"
    assert expected.tolist() == yours.tolist(), (
        f"yours {yours.tolist()}, expected {expected.tolist()}; int8 cannot hold q - zero_point"
    )


@given(st.integers(0, 2**31), st.floats(0.01, 1e4), st.floats(-3, 3))
@example(0, 1.0, 0.0)
def test_as_pytorch_quantizes(seed: int, width: float, shift: float) -> None:
    """Random values give the same bits as in fake_quantize, and 0 is exact."""
    x = (torch.randn(64, generator=torch.Generator().manual_seed(seed)) + shift) * width
    x[0] = 0.0
    scale, zero = qparams(x.min().item(), x.max().item())
    yours = dequantize(quantize(x, scale, zero), scale, zero)
    theirs = torch.fake_quantize_per_tensor_affine(x, scale, zero, -128, 127)
    worst = (yours - theirs).abs().argmax()

    assert torch.equal(theirs, yours), (
        f"scale {scale}, zero point {zero}: {x[worst]} becomes {yours[worst]}, expected"
        f" {theirs[worst]}, as in PyTorch"
    )
    assert 0.0 == yours[0].item(), f"0 becomes {yours[0]}, expected exactly 0, as in padding"


def test_a_scale_for_each_row() -> None:
    """A small row next to a large one keeps its digits; rows of zeros do not divide by 0."""
    weight = torch.tensor([[127.0, -63.5, 1.0], [0.0, 0.0, 0.0], [-0.127, 0.001, 0.064]])
    with unchanged(weight=weight):
        yours, scales = quantize_weight(weight)

    compare(yours, torch.tensor([[127, -64, 1], [0, 0, 0], [-127, 1, 64]]), "each row has 127")
    right = torch.allclose(torch.tensor([1.0, 1.0, 0.001]), scales)
    assert right, f"yours has scales {scales.tolist()}, expected [1, 1, 0.001]"
    assert torch.float32 == scales.dtype, f"scales: {scales.dtype}, expected torch.float32"


def test_a_product() -> None:
    """An input equal to the zero point stands for 0, and adds nothing."""
    q = torch.tensor([[5, 5], [7, 4]], dtype=torch.int8)
    weight = torch.tensor([[1, 2], [-3, 4], [0, 10]], dtype=torch.int8)
    yours = linear_int8(q, 0.5, 5, weight, torch.tensor([2.0, 1.0, 4.0]))
    expected = [[0.0, 0.0, 0.0], [0.0, -5.0, -20.0]]

    assert torch.float32 == yours.dtype, f"yours has dtype {yours.dtype}, expected torch.float32"
    assert expected == yours.tolist(), f"yours {yours.tolist()}, expected {expected}"


def test_a_sum_that_int8_cannot_hold() -> None:
    """A sum of a thousand products of 255 and 127 fits neither int8 nor int16."""
    q = torch.full((1, 2001), 127, dtype=torch.int8)
    weight = torch.full((1, 2001), 127, dtype=torch.int8)
    weight[0, ::2] = 1
    yours = linear_int8(q, 1.0, -128, weight, torch.ones(1)).item()
    expected = 255 * (127 * 1000 + 1001)

    assert float(torch.tensor(expected).float()) == yours, (
        f"yours {yours}, expected {expected}, rounded to float32 once, at the end"
    )


def test_a_sum_that_float32_cannot_hold() -> None:
    """Above 2**24 a float32 cannot hold every integer: a long sum in float32 differs."""
    generator = torch.Generator().manual_seed(0)
    q = torch.randint(0, 128, (4, 20_000), generator=generator, dtype=torch.int8)
    weight = torch.randint(64, 128, (16, 20_000), generator=generator, dtype=torch.int8)
    yours = linear_int8(q, 1.0, -128, weight, torch.ones(16))
    expected = (q.long() + 128) @ weight.long().t()
    wrong = int((expected.float() != yours).sum())

    assert not wrong, (
        f"{wrong} of 64 sums are not the integer, rounded to float32 once: your first row begins"
        f" {yours[0, :3].tolist()}, expected {expected[0, :3].tolist()}"
    )


@given(st.integers(0, 2**31))
def test_close_to_the_float_layer(seed: int) -> None:
    """The error is within half a step of each factor, and the weight is a quarter as large."""
    g = torch.Generator().manual_seed(seed)
    x, weight = torch.randn(5, 16, generator=g).relu(), torch.randn(3, 16, generator=g)
    scale, zero = qparams(x.min().item(), x.max().item())
    small, scales = quantize_weight(weight)
    yours = linear_int8(quantize(x, scale, zero), scale, zero, small, scales)
    error = (yours.double() - x.double() @ weight.double().t()).abs()
    steps = scale / 2 * weight.abs().sum(1) + scales / 2 * (x + scale / 2).sum(1, keepdim=True)

    assert bool((error <= steps * 1.001 + 1e-6).all()), (
        f"the largest error is {error.max():.4f}, but half steps allow {steps.max():.4f}"
    )
    assert 4 * small.nbytes == weight.nbytes, (
        f"yours has {small.nbytes} bytes, expected a quarter of {weight.nbytes}"
    )
