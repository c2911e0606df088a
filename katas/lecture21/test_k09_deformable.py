"""Tests of k09_deformable: a loop over taps and positions, conv2d, gradcheck, and torchvision."""

from __future__ import annotations

from itertools import product
from math import floor
from typing import Any

import pytest
import torch
from torch.autograd.gradcheck import GradcheckError
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture21.k09_deformable import DeformConv2d
from katas.lecture21.k09_deformable import deform_conv2d
from katas.lecture21.k09_deformable import normalized
from katas.lecture21.k09_deformable import sampled
from katas.lecture21.k09_deformable import windows
from plugins.kit import unchanged


one = pytest.mark.step(1, "where the taps are")
two = pytest.mark.step(2, "from pixels to a grid")
three = pytest.mark.step(3, "all taps at once")
four = pytest.mark.step(4, "mask, weight, bias")
five = pytest.mark.step(5, "a layer")


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(100 * seed + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def close(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare to twelve digits, dtype and shape too."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours,
        expected,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: (
            f"{why}\nyours {list(yours.shape)}, {yours.dtype}; "
            f"expected {list(expected.shape)}, {expected.dtype}\n{text}"
        ),
    )


def pixel(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """Return the values of [channels, height, width] at a point, bilinear, 0 outside."""
    result = image.new_zeros(image.shape[0])
    for i, j in product((floor(y), floor(y) + 1), (floor(x), floor(x) + 1)):
        if 0 <= i < image.shape[1] and 0 <= j < image.shape[2]:
            result = result + image[:, i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return result


def read(x: torch.Tensor, offset: torch.Tensor, kernel: Any, stride: int, padding: int) -> Any:
    """Return what `sampled` returns, point by point."""
    taps = kernel[0] * kernel[1]
    groups = offset.shape[1] // (2 * taps)
    share = x.shape[1] // groups
    result = x.new_empty(*x.shape[:2], taps, *offset.shape[2:])
    for n, g, k, i, j in product(*map(range, (len(x), groups, taps, *offset.shape[2:]))):
        at = offset[n, 2 * (g * taps + k) : 2 * (g * taps + k) + 2, i, j].tolist()
        y = i * stride - padding + k // kernel[1] + at[0]
        z = j * stride - padding + k % kernel[1] + at[1]
        part = slice(g * share, (g + 1) * share)
        result[n, part, k, i, j] = pixel(x[n, part], y, z)
    return result


class Watch(TorchDispatchMode):
    """Keeps the names of operators that run."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.names = list[str]()

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the name and call the operator."""
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


@one
def test_two_by_two_taps() -> None:
    """A 2 x 2 kernel on a 2 x 3 image has two positions, each with four rows and columns."""
    yours = windows((2, 3), (2, 2))
    rows = [[[0, 0]], [[0, 0]], [[1, 1]], [[1, 1]]]
    columns = [[[0, 1]], [[1, 2]], [[0, 1]], [[1, 2]]]

    close(yours, torch.tensor([rows, columns]), "rows, then columns, of taps 0 to 3")


@one
def test_stride_and_padding() -> None:
    """Steps of 2, starting at -1; a 1 x 3 kernel has its taps side by side."""
    yours = windows((3, 5), (1, 3), stride=2, padding=1)
    rows = torch.tensor([-1, 1, 3])[None, :, None].expand(3, 3, 3)
    columns = torch.arange(3)[:, None, None] + torch.tensor([-1, 1, 3]).expand(3, 3)

    close(yours, torch.stack([rows, columns]), "3 x 5, kernel 1 x 3, stride 2, padding 1")


@one
def test_as_many_places_as_conv2d() -> None:
    """All sizes, strides and paddings up to 3: the last window must be whole."""
    for h, w, kh, kw, stride, padding in product((3, 4), (3, 5), (1, 3), (2, 3), (1, 2, 3), (0, 1)):
        shape = functional.conv2d(
            torch.ones(1, 1, h, w), torch.ones(1, 1, kh, kw), stride=stride, padding=padding
        ).shape
        yours = windows((h, w), (kh, kw), stride, padding)
        expected = (2, kh * kw, *shape[2:])
        case = f"size {(h, w)}, kernel {(kh, kw)}, stride {stride}, padding {padding}"
        assert yours.shape == expected, f"{case}: yours {tuple(yours.shape)}, expected {expected}"


@two
def test_ends_of_a_row() -> None:
    """An image 4 wide: the middles of its pixels are at -3/4, -1/4, 1/4 and 3/4."""
    points = torch.tensor([[0.0, 0.0], [0.0, 3.0], [1.0, 1.5]]).double()
    with unchanged(points=points):
        yours = normalized(points, (2, 4))
    expected = torch.tensor([[-0.75, -0.5], [0.75, -0.5], [0.0, 0.5]]).double()

    close(yours, expected, "of 2 x 4: (0, 0), (0, 3) and (1, 1.5), as x, y between -1 and 1")


@two
def test_each_pixel_reads_itself() -> None:
    """The grid of all pixels returns the image: of 4 x 7, in float32 and in float64."""
    y, x = torch.meshgrid(torch.arange(4.0), torch.arange(7.0), indexing="ij")
    for dtype in (torch.float32, torch.float64):
        grid = normalized(torch.stack([y, x], -1).to(dtype), (4, 7))
        assert grid.dtype == dtype, f"your grid is {grid.dtype}, expected {dtype}"
        image = numbers(1, 2, 4, 7).to(dtype)
        yours = functional.grid_sample(image, grid[None], align_corners=False)
        torch.testing.assert_close(yours, image, msg="yours is not the image\n".__add__)


@three
def test_offsets_of_0_are_unfold() -> None:
    """Without offsets the taps read what `unfold` returns."""
    x = numbers(2, 3, 5, 6)
    with unchanged(x=x):
        yours = sampled(x, torch.zeros(2, 12, 3, 4).double(), (3, 2), 2, 1)
    expected = functional.unfold(x, (3, 2), stride=2, padding=1).view(2, 3, 6, 3, 4)

    close(yours, expected, "offsets of 0, kernel 3 x 2, stride 2, padding 1: [2, 3, 6, 3, 4]")


@three
def test_one_row_down() -> None:
    """An offset of (1, 0) reads a row further down, where the last one reads 0."""
    x = torch.arange(1.0, 7).double().view(1, 1, 3, 2)
    down = torch.tensor([1.0, 0.0]).double().view(1, 2, 1, 1).expand(1, 2, 3, 2)
    yours = sampled(x, down, (1, 1), 1, 0)[0, 0, 0]
    expected = torch.tensor([[3.0, 4.0], [5.0, 6.0], [0.0, 0.0]]).double()

    close(yours, expected, "1 … 6 in three rows, each pixel reads the one below: y, then x")


@three
def test_any_offset() -> None:
    """Each tap has its own offset at each position; some read outside."""
    x, offset = numbers(2, 3, 5, 6), 2 * numbers(2, 12, 3, 4)
    with unchanged(x=x, offset=offset):
        yours = sampled(x, offset, (3, 2), 2, 1)

    close(yours, read(x, offset, (3, 2), 2, 1), "random offsets, against a loop over points")


@three
def test_groups_of_channels() -> None:
    """Six channels, three groups of offsets: channels 0 and 1 use the first."""
    x, offset = numbers(2, 6, 4, 4), numbers(2, 3 * 4 * 2, 3, 3)
    yours = sampled(x, offset, (2, 2), 1, 0)

    close(yours, read(x, offset, (2, 2), 1, 0), "6 channels, 3 groups, against a loop over points")


@three
def test_any_strides() -> None:
    """Channels-last, as a convolution may return them, and float32."""
    x, offset = numbers(2, 4, 4, 5).float(), numbers(2, 2 * 8, 3, 4).float()
    last = torch.channels_last
    yours = sampled(x.to(memory_format=last), offset.to(memory_format=last), (2, 2), 1, 0)

    says = "channels-last float32, against a loop over points\n".__add__
    torch.testing.assert_close(yours, read(x, offset, (2, 2), 1, 0), msg=says)


@three
def test_a_single_call() -> None:
    """All taps, positions and groups: one grid_sample, whatever the size."""
    x, offset = numbers(2, 4, 4, 5), numbers(2, 2 * 8, 3, 4)
    with Watch() as watch:
        sampled(x, offset, (2, 2), 1, 0)
    calls = sum("grid_sampler_2d" in name for name in watch.names)

    assert calls == 1, f"`sampled` called grid_sample {calls} times, expected once"


@four
def test_offsets_of_0_are_conv2d() -> None:
    """The results agree with a bias and without one; no input is modified."""
    x, weight, bias = numbers(2, 3, 5, 6), numbers(4, 3, 3, 2), numbers(4)
    offset = torch.zeros(2, 12, 3, 4).double()
    with unchanged(x=x, weight=weight, bias=bias, offset=offset):
        plain = deform_conv2d(x, offset, weight, stride=2, padding=1)
        biased = deform_conv2d(x, offset, weight, bias, stride=2, padding=1)
    expected = functional.conv2d(x, weight, stride=2, padding=1)

    close(plain, expected, "offsets of 0, without a bias, against conv2d")
    close(biased, expected + bias[:, None, None], "offsets of 0, with a bias, against conv2d")
    short = deform_conv2d(x, torch.zeros(2, 12, 3, 5).double(), weight)
    close(short, functional.conv2d(x, weight), "stride 1 and padding 0 unless said otherwise")


@four
def test_a_mask() -> None:
    """Each tap is multiplied by its own number at each position, group by group."""
    x, weight = numbers(2, 4, 4, 5), numbers(3, 4, 2, 2)
    offset, mask = numbers(2, 16, 3, 4), numbers(2, 8, 3, 4, seed=1)
    with unchanged(mask=mask, offset=offset):
        yours = deform_conv2d(x, offset, weight, mask=mask)
    values = read(x, offset, (2, 2), 1, 0)
    expected = x.new_zeros(2, 3, 3, 4)
    for c, k in product(range(4), range(4)):
        tap = values[:, c, k] * mask[:, 4 * (c // 2) + k]
        expected += weight[:, c, k // 2, k % 2][:, None, None] * tap[:, None]

    close(yours, expected, "two groups and a mask, against a loop over channels and taps")


@four
def test_gradients() -> None:
    """Those of x, offset, weight, bias and mask agree with finite differences."""
    x, weight, bias = numbers(1, 2, 3, 4), numbers(2, 2, 2, 2), numbers(2)
    # Well between two pixels: on a pixel the slope jumps.
    offset = 0.2 + 0.6 * torch.sigmoid(numbers(1, 16, 2, 3))
    mask = numbers(1, 8, 2, 3, seed=2)
    inputs = tuple(t.requires_grad_() for t in (x, offset, weight, bias, mask))
    try:
        torch.autograd.gradcheck(deform_conv2d, inputs)
    except GradcheckError as error:
        lines = " ".join(str(error).split())
        raise AssertionError(f"gradcheck says: {lines}") from None


@five
def test_a_layer_begins_as_a_convolution() -> None:
    """Before training, offsets are 0 and masks 1."""
    torch.manual_seed(9)
    layer = DeformConv2d(3, 4, (3, 2), padding=1).double()
    x = numbers(2, 3, 5, 6)
    with unchanged(x=x):
        yours = layer(x)

    close(
        yours.detach(),
        layer.conv(x).detach(),
        "a new layer, against its own `conv`: are its offsets 0 (both parameters of `ask`), "
        "and its masks 1 (2 * sigmoid(0))?",
    )


@five
def test_a_layer_with_offsets() -> None:
    """The outputs of `ask`: first all offsets, then the values for the mask."""
    torch.manual_seed(10)
    layer = DeformConv2d(3, 4, (3, 2), padding=1).double()
    torch.nn.init.normal_(layer.ask.weight, std=0.3)
    x = numbers(2, 3, 5, 6)
    with torch.no_grad():
        yours, asked = layer(x), layer.ask(x)
        expected = deform_conv2d(
            x,
            asked[:, :12],
            layer.conv.weight,
            layer.conv.bias,
            2 * asked[:, 12:].sigmoid(),
            padding=1,
        )

    close(yours, expected, "`ask` gives 18 numbers for each place: 12 offsets, then 6 masks")


@five
def test_a_layer_learns_where_to_look() -> None:
    """The first gradient reaches offsets and mask, although `ask` returns only 0."""
    torch.manual_seed(11)
    layer = DeformConv2d(2, 3, (2, 2)).double()
    y = layer(numbers(1, 2, 4, 4))
    assert y.shape == (1, 3, 3, 3), (
        f"2 x 2 without padding: your shape is {tuple(y.shape)}, expected (1, 3, 3, 3)"
    )
    y.square().sum().backward()
    grad = layer.ask.weight.grad

    assert grad is not None, "ask.weight has no gradient: are offsets and mask detached?"
    sums = grad.abs().sum((1, 2, 3))
    assert (sums > 0).all(), (
        f"for the 12 outputs of `ask` the gradients sum to {sums.tolist()}, expected none to be 0"
    )


@pytest.mark.backend("torchvision")
def test_torchvision_agrees() -> None:
    """deform_conv2d of torchvision, where it is installed."""
    x, weight, bias = numbers(2, 4, 5, 6), numbers(3, 4, 3, 2), numbers(3)
    offset, mask = 2 * numbers(2, 24, 3, 4), numbers(2, 12, 3, 4, seed=3)
    yours = deform_conv2d(x, offset, weight, bias, mask, stride=2, padding=1)
    from torchvision import ops  # noqa: PLC0415 - may be missing

    expected = ops.deform_conv2d(x, offset, weight, bias, stride=2, padding=1, mask=mask)

    close(yours, expected, "two groups, stride 2, padding 1, bias and mask, against torchvision")
