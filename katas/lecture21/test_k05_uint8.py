"""Tests of k05_uint8: bit-equal to `interpolate`, and its multiplications counted."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.nn.functional import interpolate
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture21 import k05_uint8 as kata
from katas.lecture21.k05_uint8 import fixed
from katas.lecture21.k05_uint8 import one_pass
from katas.lecture21.k05_uint8 import resize
from katas.lecture21.k05_uint8 import windows
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "mv", "dot"}


def pixels(*shape: int) -> torch.Tensor:
    """Return random bytes, a fifth of them 0 and a fifth 255."""
    dice = torch.Generator().manual_seed(21)
    drawn = torch.randint(-85, 341, shape, generator=dice)
    return drawn.clamp(0, 255).to(torch.uint8)


def equal(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare bit by bit, dtype and shape included, and report how far apart the images are."""
    __tracebackhide__ = True
    found = (yours.dtype, [*yours.shape])
    right = (expected.dtype, [*expected.shape])
    assert found == right, f"{why}: yours is {found}, expected {right}"
    apart = (yours.double() - expected.double()).abs()
    if apart.any():
        at = tuple(apart.nonzero()[0].tolist())
        raise AssertionError(
            f"{why}: {(apart > 0).double().mean():.0%} of the values differ, by {apart.max():.0f}"
            f" at most; the first at {at}: yours {yours[at].item()}, expected {expected[at].item()}"
        )


class Count(TorchDispatchMode):
    """Counts integer multiplications, and keeps the largest floating-point size."""

    def __init__(self) -> None:
        super().__init__()
        self.multiplied = 0
        self.floating = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run the operator, and inspect its result."""
        made = func(*args, **(kwargs or {}))
        name = str(func).split(".")[1]
        if isinstance(made, torch.Tensor):
            if made.is_floating_point():
                self.floating = max(self.floating, made.numel())
            elif name.rstrip("_") in {"mul", "addcmul"}:
                self.multiplied += made.numel()
            elif name in PRODUCTS:
                second = args[2] if name in {"addmm", "baddbmm"} else args[1]
                self.multiplied += made.numel() * second.shape[-2 if second.dim() > 1 else 0]
        return made


def test_weights_of_a_half() -> None:
    """A largest weight of 1 becomes 2 ** 14, since 2 ** 15 is too large; 1/2 gets one bit more."""
    for largest, bits in ((1.0, 14), (0.5, 15), (0.75, 15), (0.99998, 15), (0.99999, 14)):
        matrix = torch.tensor([[largest, 1 - largest], [0.0, largest]], dtype=torch.float64)
        codes, yours = fixed(matrix)
        right = int(largest * 2**bits + 0.5)
        assert yours == bits, f"largest weight {largest}: yours has {yours} bits, expected {bits}"
        assert codes.dtype == torch.int32, f"the weights are {codes.dtype}, expected torch.int32"
        found = codes[0, 0].item()
        assert found == right, f"{largest} with {bits} bits: yours is {found}, expected {right}"


def test_rounding_and_the_limit() -> None:
    """Halves away from 0, on both sides; never more than 22 bits."""
    small = torch.tensor([[2.5, -2.5, 3.4, -3.6, 0.7, -0.7]], dtype=torch.float64) / 2**22
    codes, bits = fixed(small)
    assert bits == 22, f"weights of about 1e-6: yours has {bits} bits, expected 22"
    yours = codes.tolist()
    assert yours == [[3, -3, 3, -4, 1, -1]], (
        f"2.5, -2.5, 3.4, -3.6, 0.7, -0.7: yours are rounded to {yours},"
        " expected 3, -3, 3, -4, 1, -1"
    )


def test_windows() -> None:
    """Row 1 needs three taps; row 2 would leave the row, and starts earlier; row 3 has -3 first."""
    rows = [[7, 2, 0, 0, 0], [0, 5, 0, 4, 0], [0, 0, 0, 0, 9], [0, -3, 8, 0, 0]]
    starts, taps = windows(torch.tensor(rows, dtype=torch.int32))
    why = f"windows of {rows}"
    equal(starts, torch.tensor([0, 1, 2, 1]), f"starts of the {why}")
    right = torch.tensor([[7, 2, 0], [5, 0, 4], [0, 0, 9], [-3, 8, 0]], dtype=torch.int32)
    equal(taps, right, f"taps of the {why}")
    starts, taps = windows(torch.tensor([[0, 8, 1, 1, 0], [6, 0, 0, 0, 0]], dtype=torch.int32))
    found = [starts.tolist(), taps.tolist()]
    expected = [[1, 0], [[8, 1, 1], [6, 0, 0]]]
    assert found == expected, (
        f"two rows, the first with three taps: yours are {found}, expected {expected}"
    )


def test_four_to_two() -> None:
    """Bytes in, bytes out: 3/7, 3/7 and 1/7, rounded."""
    image = torch.tensor([[[[200, 100, 50, 255]]]], dtype=torch.uint8)
    expected = torch.tensor([[[[136, 145]]]], dtype=torch.uint8)
    with unchanged(image=image):
        yours = one_pass(image, 3, 2, "bilinear")
    equal(yours, expected, "[200, 100, 50, 255] to two: (3 * 200 + 3 * 100 + 50) / 7 is 135.7")


def test_results_are_clamped() -> None:
    """Next to an edge, bicubic is below 0 and above 255."""
    image = torch.tensor([[[[0, 0, 0, 255, 255, 255]]]], dtype=torch.uint8)
    expected = interpolate(image, (1, 9), mode="bicubic", antialias=True)
    yours = one_pass(image, 3, 9, "bicubic")
    equal(yours, expected, "an edge, bicubic, 6 to 9: results outside 0 to 255 are clamped")


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("layout", ["contiguous", "channels-last"])
def test_interpolate_agrees(mode: str, layout: str) -> None:
    """Bit for bit, larger and smaller, and in either layout."""
    memory = torch.channels_last if layout == "channels-last" else torch.contiguous_format
    for h, w, height, width in ((9, 17, 4, 5), (5, 6, 12, 9), (14, 5, 3, 11), (600, 3, 2, 2)):
        image = pixels(2, 3, h, w).contiguous(memory_format=memory)
        with unchanged(image=image):
            yours = resize(image, height, width, mode)
        expected = interpolate(image, (height, width), mode=mode, antialias=True)
        sizes = f"{mode}, {h} x {w} to {height} x {width}"
        equal(yours, expected, f"{sizes} (across first, then down, with bytes between)")
        assert yours.is_contiguous(memory_format=torch.channels_last), (
            f"yours has strides {yours.stride()}, which is not channels-last for {[*yours.shape]}"
        )


def test_multiplications() -> None:
    """Two passes over taps: neither a dense matrix, nor all pairs of taps at once."""
    image = pixels(2, 3, 64, 64)
    resize(image, 28, 28, "bilinear")
    with Count() as count:
        resize(image, 28, 28, "bilinear")
    taps, dense = (2 * 3 * (64 * 28 * each + 28 * 28 * each) for each in (5, 64))
    assert count.multiplied > 0, "no integer multiplication was seen"
    assert count.multiplied <= 1.02 * taps, (
        f"your code multiplies {count.multiplied} times; with 5 taps for each output of two passes"
        f" it is {taps} (dense matrices: {dense})"
    )


def test_no_floating_point_image() -> None:
    """Weights are float64, and small; pixels stay whole numbers."""
    image = pixels(4, 3, 64, 64)
    with Count() as count:
        resize(image, 28, 28, "bilinear")
    small = 64 * 64
    assert count.floating <= small, (
        f"your code created a floating-point tensor of {count.floating} elements; expected"
        f" at most {small}, the image has {image.numel()}"
    )


def test_written_by_yourself() -> None:
    """PyTorch's kernel for bytes is not called; here the weights exist already."""
    image = pixels(1, 3, 8, 8)
    expected = interpolate(image, (3, 3), mode="bilinear", antialias=True)
    matrix = kata.weights(8, 3, "bilinear")
    with forbids(kata, operators=["aten::_upsample_bilinear2d_aa"]) as fresh:
        fresh.weights = lambda *_: matrix
        yours = fresh.resize(image, 3, 3, "bilinear")
    equal(yours, expected, "8 x 8 to 3 x 3")
