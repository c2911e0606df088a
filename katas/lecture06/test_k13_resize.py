"""Tests of k13_resize: your images are compared with those of PyTorch's interpolate."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from katas.lecture06 import k13_resize as kata
from katas.lecture06.k13_resize import resize
from katas.lecture06.k13_resize import weights
from plugins.kit import forbids
from plugins.kit import unchanged


def theirs(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return PyTorch's result for a 4-D image."""
    return F.interpolate(image, size=(height, width), mode="bilinear", antialias=True)


def by_pillow(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return Pillow's result for an (H, W) image of uint8 or float32."""
    from PIL import Image  # noqa: PLC0415 - may be missing

    resized = Image.fromarray(image.numpy()).resize((width, height), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(resized))


def test_nothing_to_do() -> None:
    """If the size stays the same, so does each pixel."""
    yours = weights(3, 3)
    says = "3 pixels become 3: yours is not the identity\n".__add__
    torch.testing.assert_close(yours, torch.eye(3, dtype=torch.float64), msg=says)


def test_half_as_many() -> None:
    """Four old pixels become two: the picture in the brief."""
    yours = weights(4, 2)
    expected = torch.tensor([[3, 3, 1, 0], [0, 1, 3, 3]], dtype=torch.float64) / 7
    says = "4 pixels become 2: yours is not that of the picture, made to add up to 1\n".__add__
    torch.testing.assert_close(yours, expected, msg=says)


@pytest.mark.parametrize(("before", "after"), [(5, 3), (7, 2), (10, 1), (3, 5), (1, 4), (9, 8)])
def test_weights_are_pytorchs(before: int, after: int) -> None:
    """PyTorch resizes rows with a single bright pixel, which shows its matrix."""
    lights = torch.eye(before, dtype=torch.float64).view(before, 1, 1, before)
    expected = theirs(lights, 1, after).view(before, after).t()
    yours = weights(before, after)

    assert (after, before) == tuple(yours.shape), (
        f"your shape is {tuple(yours.shape)}, expected {(after, before)}"
    )
    says = f"{before} pixels become {after}: expected is PyTorch's matrix\n".__add__
    torch.testing.assert_close(yours, expected, rtol=0, atol=1e-12, msg=says)


# Not (13, 1): for a width of 1 and another height, torch 2.11 to 2.15's interpolate gives numbers
# that differ from those it gives when called twice, first for the height.
@pytest.mark.parametrize("size", [(2, 2), (5, 3), (4, 9), (13, 2)])
def test_an_image(size: tuple[int, int]) -> None:
    """Rows and columns shrink, grow or keep their size; Pillow, if installed, agrees."""
    image = torch.arange(2 * 3 * 5 * 4, dtype=torch.float64).view(2, 3, 5, 4).sqrt()
    with unchanged(image=image):
        yours = resize(image, *size)

    says = f"(5, 4) to {size}: expected is PyTorch's image\n".__add__
    torch.testing.assert_close(yours, theirs(image, *size), rtol=0, atol=1e-12, msg=says)
    if find_spec("PIL"):
        pillows = by_pillow(image[1, 2].float(), *size)
        says = f"(5, 4) to {size}: expected is Pillow's image\n".__add__
        torch.testing.assert_close(yours[1, 2].float(), pillows, rtol=1e-5, atol=0, msg=says)


def test_any_dims_in_front() -> None:
    """There may be no leading dims, or three, and the image may be non-contiguous."""
    image = torch.arange(24, dtype=torch.float64).view(6, 4).sqrt().t()
    expected = theirs(image[None, None], 3, 2)
    for shape in ((), (1,), (1, 1, 1)):
        yours = resize(image.expand(*shape, 4, 6), 3, 2)
        says = f"{len(shape)} dims before H and W: yours differs\n".__add__
        torch.testing.assert_close(yours, expected.view(*shape, 3, 2), msg=says)


def test_bytes() -> None:
    """Values are rounded, not truncated; PyTorch computes with 16 bits and may differ by 1."""
    image = (torch.arange(64 * 48) * 37 % 256).to(torch.uint8).view(1, 1, 64, 48)
    image[..., :10, :] = 255
    yours = resize(image, 20, 31)
    exact = theirs(image.double(), 20, 31)

    assert torch.uint8 == yours.dtype, f"your dtype is {yours.dtype}, expected uint8"
    off = (yours.double() - exact).abs().max().item()
    assert off <= 0.5 + 1e-9, (
        f"yours is off by {off}; rounded to the nearest integer, it is off by at most 0.5"
    )
    apart = (yours.int() - theirs(image, 20, 31).int()).abs().max().item()
    assert apart <= 1, f"yours differs from PyTorch's bytes by {apart}, expected at most 1"
    if find_spec("PIL"):
        apart = (yours[0, 0].int() - by_pillow(image[0, 0], 20, 31).int()).abs().max().item()
        assert apart <= 1, f"yours differs from Pillow's bytes by {apart}, expected at most 1"


def test_gradients_flow_back() -> None:
    """Each old pixel's gradient is its share of the new ones."""
    image = torch.ones(4, 4, dtype=torch.float64, requires_grad=True)
    resize(image, 2, 2).sum().backward()
    expected = weights(4, 2).sum(0)[:, None] * weights(4, 2).sum(0)

    assert image.grad is not None, "no gradient reached the image: stay inside autograd"
    says = "the gradient of the sum: yours is not the share of each pixel\n".__add__
    torch.testing.assert_close(image.grad, expected, msg=says)


@pytest.mark.backend("torchvision")
def test_torchvision_resizes_alike() -> None:
    """The v2 transforms of torchvision give the same numbers for tensors; bytes may differ by 1."""
    image = torch.arange(3 * 17 * 12, dtype=torch.float64).view(3, 17, 12).sqrt()
    light = (torch.arange(3 * 17 * 12) * 37 % 256).to(torch.uint8).view(3, 17, 12)
    yours, bytes_ = resize(image, 5, 19), resize(light, 5, 19)
    from torchvision.transforms import v2  # noqa: PLC0415 - may be missing

    machine = v2.Resize((5, 19), antialias=True)
    says = "(17, 12) to (5, 19): yours differs from torchvision's image\n".__add__
    torch.testing.assert_close(yours, machine(image), rtol=0, atol=1e-12, msg=says)
    apart = (bytes_.int() - machine(light).int()).abs().max().item()
    assert apart <= 1, f"yours differs from torchvision's bytes by {apart}, expected at most 1"


def test_nobody_else_resizes() -> None:
    """Your answer computes products and does not call `interpolate`."""
    names = ("torch.nn", "torch.Tensor.grid_sample")
    with forbids(kata, *names, operators=["aten::_upsample", "aten::upsample"]) as fresh:
        yours = fresh.resize(torch.eye(4, dtype=torch.float64), 2, 2)
    assert (2, 2) == tuple(yours.shape), f"your shape is {tuple(yours.shape)}, expected (2, 2)"


def test_differences_agree() -> None:
    """The gradient is the transposed product, up and down."""
    image = (torch.arange(20, dtype=torch.float64) * 7 % 11).sqrt().view(4, 5).requires_grad_()

    assert torch.autograd.gradcheck(lambda image: resize(image, 3, 7), (image,)), (
        "finite differences disagree with your gradients: stay inside autograd, and in float64"
    )
