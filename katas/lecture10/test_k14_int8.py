"""Tests of k14_int8: scales, integers, and a gradient that goes straight through."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture10 import k14_int8 as kata
from katas.lecture10.k14_int8 import LEAST_SCALE
from katas.lecture10.k14_int8 import affine
from katas.lecture10.k14_int8 import fake_quantize
from katas.lecture10.k14_int8 import quantize
from katas.lecture10.k14_int8 import symmetric
from plugins.kit import forbids
from plugins.kit import unchanged


try:
    from torch.ao.quantization.observer import MinMaxObserver
except ImportError:  # it is deprecated
    MinMaxObserver = None


NUMBERS = st.floats(-1000, 1000, allow_nan=False, width=32)


def test_the_range_falls_on_255_steps() -> None:
    """The smallest value is -128, the largest 127, and 0 is the zero point."""
    for low, high, expected in (
        (-128.0, 127.0, (1.0, 0)),
        (0.0, 255.0, (1.0, -128)),
        (-510.0, 0.0, (2.0, 127)),
        (-25.5, 102.0, (0.5, -77)),
    ):
        found = affine(low, high)
        assert expected == found, f"[{low}, {high}]: expected {expected}, found {found}"


def test_the_range_holds_zero() -> None:
    """The range holds 0 even if no 0 was seen: padding and ReLU make zeros."""
    assert (1.0, -128) == affine(100.0, 255.0), "expected (1.0, -128): widen [100, 255] to [0, 255]"
    assert (1.0, 127) == affine(-255.0, -3.0), (
        f"you return {affine(-255.0, -3.0)}, expected (1.0, 127): widen [-255, -3] to [-255, 0]"
    )
    assert (LEAST_SCALE, -128) == affine(0.0, 0.0), (
        "expected the smallest scale and -128: a scale of 0 cannot be divided by"
    )


@given(ends=st.tuples(NUMBERS, NUMBERS))
def test_any_range(ends: tuple[float, float]) -> None:
    """0 is exact, the ends are at most half a step off; the scale is that of PyTorch's observer."""
    low, high = sorted(ends)
    scale, zero_point = affine(low, high)

    assert isinstance(scale, float), f"the scale is a {type(scale).__name__}, expected a float"
    assert isinstance(zero_point, int), (
        f"the zero point is a {type(zero_point).__name__}, expected an int: 0 falls exactly on it"
    )
    assert -128 <= zero_point <= 127, (
        f"for {low} to {high} the zero point is {zero_point}, which no int8 can hold"
    )
    for end in (low, high):
        there = (min(max(round(end / scale) + zero_point, -128), 127) - zero_point) * scale
        assert abs(there - end) <= 0.501 * scale, (
            f"{end} becomes {there}, more than half a step of {scale} away"
        )
    if MinMaxObserver:
        oracle = MinMaxObserver(torch.qint8, torch.per_tensor_affine)
        oracle(torch.tensor([low, high]))
        scales, zeros = oracle.calculate_qparams()
        assert scales.item() == pytest.approx(scale, rel=1e-5), (
            f"for {low} to {high} your scale is {scale}, that of PyTorch's observer is "
            f"{scales.item()}"
        )
        # In float32 a zero point that is nearly a tie may fall to the other side.
        assert abs(zeros.item() - zero_point) <= 1, (
            f"the zero point is {zero_point}, PyTorch's is {zeros.item()}"
        )


def test_a_scale_for_each_output_channel() -> None:
    """The largest absolute value falls on 127; a channel of zeros has the smallest scale."""
    weight = torch.tensor([[1.0, -254.0], [0.0, 0.0], [127.0, 3.0]], requires_grad=True)
    scales = symmetric(weight)

    assert [[2.0], [LEAST_SCALE], [1.0]] == scales.tolist(), (
        f"your scales are {scales.tolist()}, expected {[[2.0], [LEAST_SCALE], [1.0]]}: the "
        "largest absolute value of each row over 127, LEAST_SCALE for a row of zeros"
    )
    assert not scales.requires_grad, "the scales require grad: compute them without a graph"
    tiny = symmetric(torch.tensor([[1e-6, 0.0]])).item()
    assert LEAST_SCALE == tiny, f"1e-6 over 127 is less than the smallest scale, found {tiny}"
    conv = symmetric(torch.randn(4, 3, 2, 5))
    assert (4, 1, 1, 1) == tuple(conv.shape), "keep the dims, so that the scales broadcast"


def test_to_the_nearest_integer() -> None:
    """One step is one scale; the zero point is added; what is out of range is clamped."""
    x = torch.tensor([0.0, 0.5, 1.1, -3.6, 1000.0, -1000.0])
    found = quantize(x, 0.5, 3, -128, 127)

    assert torch.int8 is found.dtype, f"your result is {found.dtype}, expected torch.int8"
    assert [3, 4, 5, -4, 127, -128] == found.tolist(), (
        f"{x.tolist()} became {found.tolist()}, expected [3, 4, 5, -4, 127, -128]"
    )
    assert [3, 4, 5, -4, 7, -7] == quantize(x, 0.5, 3, -7, 7).tolist(), (
        f"you return {quantize(x, 0.5, 3, -7, 7).tolist()}, expected [3, 4, 5, -4, 7, -7]: clamp "
        f"what is out of range to the given ends, here -7 and 7"
    )
    huge = torch.tensor([torch.inf, -torch.inf, 1e30])
    assert [127, -128, 127] == quantize(huge, 0.5, 3, -128, 127).tolist(), (
        "a huge value wrapped around: clamp, then cast"
    )


def test_halves_go_to_the_even_neighbour() -> None:
    """Halves are rounded before the zero point is added, which is odd here."""
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5])
    found = quantize(x, 1.0, 1, -128, 127).tolist()

    assert [1, 3, 3, 1, -1] == found, (
        f"expected 0, 2, 2, 0, -2, each plus the zero point 1; found {found}"
    )


def test_what_is_rounded_is_a_quotient() -> None:
    """``x / scale``, and not x times ``1 / scale``, which is rounded itself: halves show it."""
    x = torch.tensor([-9.35, -8.35, 8.35, 9.35], dtype=torch.float64)
    found = quantize(x, 0.1, 0, -128, 127).tolist()

    assert torch.round(x / 0.1).tolist() == found, (
        f"your integers are {found}: round the quotients {(x / 0.1).tolist()}"
    )


def test_one_scale_for_each_channel() -> None:
    """A tensor of scales broadcasts."""
    scales = torch.tensor([[1.0], [2.0]])

    assert [[2, 4], [1, 2]] == quantize(
        torch.tensor([[2.0, 4.0], [2.0, 4.0]]), scales, 0, -127, 127
    ).tolist(), "expected [[2, 4], [1, 2]]: the scale of the first row is 1, that of the second 2"


values = st.lists(st.integers(-600, 600).map(lambda n: n / 4), min_size=1, max_size=12)


@example(values=[126.5, 127.25, 127.5, -128.25, -128.5, -128.75], power=0, zero_point=0)
@given(values=values, power=st.integers(-3, 2), zero_point=st.integers(-128, 127))
def test_fake_values_and_gradients(values: list[float], power: int, zero_point: int) -> None:
    """Values and gradients are PyTorch's, ties included; out of range the gradient is 0."""
    scale = 2.0**power
    x = torch.tensor(values, requires_grad=True)
    y = torch.tensor(values, requires_grad=True)
    with unchanged(x=x):
        found = fake_quantize(x, scale, zero_point, -128, 127)
    expected = torch.fake_quantize_per_tensor_affine(y, scale, zero_point, -128, 127)
    weights = torch.arange(1.0, len(values) + 1)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    where = f"x = {values}, scale {scale}, zero point {zero_point}"

    torch.testing.assert_close(found, expected, rtol=0, atol=0, msg=lambda text: f"{where}: {text}")
    torch.testing.assert_close(
        x.grad, y.grad, rtol=0, atol=0, msg=lambda text: f"gradient, {where}: {text}"
    )


def test_fake_weights() -> None:
    """By channel, and in float64, the result is that of `quantize`, converted back."""
    weight = torch.randn(3, 4, 2, 2, dtype=torch.float64, requires_grad=True)
    scales = torch.tensor([0.25, 0.5, 0.125], dtype=torch.float64)
    zeros = torch.zeros(3, dtype=torch.int32)
    expected = torch.fake_quantize_per_channel_affine(
        weight.detach(), scales.float(), zeros, 0, -2, 2
    )
    broadcast = scales.view(3, 1, 1, 1).requires_grad_()
    found = fake_quantize(weight, broadcast, 0, -2, 2)
    found.sum().backward()

    torch.testing.assert_close(found.detach(), expected, rtol=0, atol=0)
    assert torch.float64 is found.dtype, (
        f"your result is {found.dtype}, expected torch.float64, the dtype of x"
    )
    inside = (weight.detach() / broadcast.detach()).round().abs() <= 2
    torch.testing.assert_close(weight.grad, inside.double(), msg=lambda t: f"gradient: {t}")
    assert broadcast.grad is None, "the scale got a gradient: it is given, not learned"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_fake_values_and_gradients_have_the_dtype_of_x(dtype: torch.dtype) -> None:
    """A scale of another dtype must not promote the result."""
    for scale in (0.5, torch.tensor([[0.5], [0.25]], dtype=torch.float64), torch.tensor([0.5])):
        x = torch.tensor([[0.3, -1.4], [0.6, 40.0]], dtype=dtype, requires_grad=True)
        with unchanged(x=x, scale=scale):
            found = fake_quantize(x, scale, 3, -128, 127)
        found.sum().backward()
        which = f"x is {dtype}, scale {scale}"

        assert dtype is found.dtype, (
            f"{which}: your result is {found.dtype}, expected the dtype of x"
        )
        assert dtype is x.grad.dtype, (
            f"{which}: the gradient is {x.grad.dtype}, expected the dtype of x"
        )


READY_MADE = (
    "katas.lecture10.int8",
    "torch.ao",
    "torch.fake_quantize_per_channel_affine",
    "torch.fake_quantize_per_tensor_affine",
    "torch.quantization",
    "torch.quantize_per_channel",
    "torch.quantize_per_tensor",
    "torch.quantize_per_tensor_dynamic",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch has kernels that quantise; they may not be called: you are writing them."""
    x = torch.randn(3, 4)
    # Whatever the overload: the names of all operators that do the work begin like this.
    kernels = ("aten::fake_quantize", "aten::_fake_quantize", "aten::quantize_per", "quantized::")
    with forbids(
        kata, *READY_MADE, operators=(*kernels, "aten::dequantize", "quantized_decomposed::")
    ) as fresh:
        fresh.affine(-1.0, 3.0)
        fresh.symmetric(x)
        fresh.quantize(x, 0.5, 0, -128, 127)
        fresh.fake_quantize(x, 0.5, 0, -128, 127)
