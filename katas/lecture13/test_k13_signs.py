"""Tests of k13_signs: bits, the magnitude, and what arrives."""

from __future__ import annotations

import pytest
import torch

from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k13_signs import decode
from katas.lecture13.k13_signs import encode
from plugins.kit import unchanged


def there_and_back(flat: torch.Tensor) -> torch.Tensor:
    """Encode and decode a tensor; neither the tensor nor the message may change."""
    with unchanged(flat=flat):
        message = encode(flat)
        with unchanged(message=message):
            return decode(message, flat.numel())


def test_signs_arrive_with_the_mean_of_the_magnitudes() -> None:
    """The example of the brief, in float64; 0 counts as positive, and so does -0.0."""
    for numbers, expected in (
        ([0.5, -3.0, 0.0, 4.0, -2.5], [2.0, -2.0, 2.0, 2.0, -2.0]),
        ([1.0, -3.0, -0.0, 4.0], [2.0, -2.0, 2.0, 2.0]),
        ([0.0, 0.0], [0.0, 0.0]),
    ):
        found = there_and_back(torch.tensor(numbers, dtype=torch.float64))
        close(found, torch.tensor(expected, dtype=torch.float64), f"{numbers}, there and back")


@pytest.mark.parametrize("size", [1, 7, 8, 9, 800])
def test_a_sign_is_a_bit(size: int) -> None:
    """Eight signs fill a byte; the magnitude is one number, of the tensor's dtype."""
    flat = torch.linspace(-1, 1, size).double().sub(0.1).roll(3)
    bits, scale = encode(flat)
    same((bits.dtype, scale.dtype), (torch.uint8, torch.float64), "the dtypes of the message")
    same((tuple(bits.shape), tuple(scale.shape)), ((-(-size // 8),), (1,)), f"{size} signs: shapes")
    decoded = decode((bits, scale), size)
    same(tuple(decoded.shape), (size,), "the shape of what arrives")
    same((decoded < 0).tolist(), (flat < 0).tolist(), f"which of {size} elements are negative")


def test_float32_stays_float32() -> None:
    """The message of sixteen float32 has 2 bytes of signs, and 4 of magnitude."""
    flat = torch.arange(16.0) - 8
    message = encode(flat)
    same(sum(each.nbytes for each in message), 6, "the bytes of a message of 16 float32")
    same(decode(message, 16).dtype, torch.float32, "the dtype of what arrives")
