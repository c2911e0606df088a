"""Tests of k09_roi_gradient: the transpose, finite differences, and what was registered."""

from __future__ import annotations

import gc
import weakref
from itertools import count
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture20 import k09_roi_gradient as kata
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from torch.library import CustomOpDef


NUMBERS = count()
ROIS = torch.tensor(
    [[0, 1.3, 0.7, 4.1, 3.9], [1, -2.3, 1.1, 9.4, 7.7], [1, 0.2, 0.4, 3.3, 2.2]],
    dtype=torch.float64,
)


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(1000 * seed + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def close(yours: Any, expected: Any, why: str, tolerance: float = 1e-12) -> None:
    """Compare values, shape and dtype."""
    __tracebackhide__ = True
    assert isinstance(yours, torch.Tensor), (
        f"{why}: your result is a {type(yours).__name__}, expected a tensor"
    )
    right = expected
    if not isinstance(expected, torch.Tensor):
        right = torch.tensor(expected, dtype=torch.float64).to(yours)
    found, wanted = (x.tolist() if x.numel() < 30 else [*x.shape] for x in (yours, right))
    text = f"{why}\nyours {found}\nexpected {wanted}"
    assert yours.shape == right.shape, (
        f"{text}: your shape is {[*yours.shape]}, expected {[*right.shape]}"
    )
    assert yours.dtype == right.dtype, (
        f"{text}: your dtype is {yours.dtype}, expected {right.dtype}"
    )
    torch.testing.assert_close(yours, right, rtol=tolerance, atol=tolerance, msg=text)


def built() -> tuple[CustomOpDef, str]:
    """Return your operator under a new name, and the name."""
    name = f"roi_align_{next(NUMBERS)}"
    return kata.build(name), name


def test_one_box_of_one_bin() -> None:
    """A bin in the middle of four pixels takes a quarter of each."""
    rois = torch.tensor([[0.0, 1, 1, 3, 3]]).double()
    grad = torch.full((1, 1, 1, 1), 8.0).double()
    with unchanged(grad=grad, rois=rois):
        yours = kata.spread(grad, rois, (1, 1, 4, 4), 1.0)
    middle = [[[[0.0, 0, 0, 0], [0, 2, 2, 0], [0, 2, 2, 0], [0, 0, 0, 0]]]]
    close(yours, middle, "points 1, 2 in both directions: what the four points read, 8 in all")


def test_pixels_add_up() -> None:
    """Three boxes on the same pixels: each adds its share, and none replaces another's."""
    rois = torch.tensor([[0.0, 1, 1, 3, 3]]).double().expand(3, 5)
    grad = torch.tensor([8.0, 80.0, 800.0]).double().view(3, 1, 1, 1)
    yours = kata.spread(grad, rois, (1, 1, 4, 4), 1.0)
    close(yours[0, 0, 1], [0.0, 222, 222, 0], "row 1 for gradients of 8, 80 and 800")


def test_channels_and_images() -> None:
    """Each channel has its own gradient, each box its own image."""
    rois = torch.tensor([[2.0, 1, 1, 3, 3], [0, 1, 1, 3, 3]]).double()
    grad = torch.tensor([[4.0, 40.0], [400.0, 4000.0]]).double()[:, :, None, None]
    yours = kata.spread(grad, rois, (3, 2, 5, 4), 1.0)
    assert yours.shape == (3, 2, 5, 4), (
        f"your shape is {[*yours.shape]}, expected the shape of the maps"
    )
    expected = [[400.0, 4000], [0, 0], [4, 40]]
    close(yours.sum((2, 3)), expected, "sums over pixels: rows are images, columns are channels")


def test_spread_is_the_transpose() -> None:
    """For any gradient g: sum(g * forward(x)) is sum(spread(g) * x)."""
    maps, grad = numbers(2, 3, 5, 6), numbers(3, 3, 2, 4)
    for scale in (1.0, 0.7):
        forward = kata.kernel(maps, ROIS, 2, 4, scale)
        yours = kata.spread(grad, ROIS, maps.shape, scale)
        why = f"three boxes of 2 x 4 bins, scale {scale}: sum(spread(g) * x), sum(g * forward(x))"
        close((yours * maps).sum(), (grad * forward).sum(), why, 1e-11)


def test_the_gradient_is_contiguous() -> None:
    """With two images of three channels, swapped dims show in the strides."""
    yours = kata.spread(numbers(3, 3, 2, 4), ROIS, (2, 3, 5, 6), 1.0)
    assert yours.is_contiguous(), (
        f"a gradient [2, 3, 5, 6]: yours has the strides {yours.stride()}, expected"
        " (90, 30, 6, 1): a compiled program trusts the strides of the fake kernel, which has no"
        " transpose"
    )


def test_no_boxes_and_float32() -> None:
    """Maps that nobody reads have a gradient of zeros, in the dtype of grad."""
    yours = kata.spread(torch.empty(0, 2, 3, 3), torch.empty(0, 5), (1, 2, 4, 4), 1.0)
    close(yours, torch.zeros(1, 2, 4, 4), "no boxes")


def test_spread_has_no_loop() -> None:
    """Thirty boxes take as many operators as three."""
    counts = []
    for boxes in (3, 30):
        with watched_operators() as ran:
            kata.spread(numbers(boxes, 2, 2, 2), ROIS[:1].expand(boxes, 5), (1, 2, 6, 6), 1.0)
        counts.append(len(ran))
    assert counts[0] == counts[1], (
        f"your code runs {counts[0]} operators for 3 boxes, and {counts[1]} for 30"
    )


def test_the_operator_computes() -> None:
    """The operator runs the given kernel, under another name."""
    operator, name = built()
    assert operator is not None, "`build` returned None, expected the operator"
    maps = numbers(2, 3, 5, 6)
    expected = kata.kernel(maps, ROIS, 2, 4, 0.7)
    close(operator(maps, ROIS, 2, 4, 0.7), expected, "the operator that you return")
    by_name = getattr(torch.ops.lecture20_k09, name)
    close(by_name(maps, ROIS, 2, 4, 0.7), expected, f"torch.ops.lecture20_k09.{name}")


def test_fake_kernels() -> None:
    """On the "meta" device there are no values, only a shape, a dtype and a device."""
    operator, name = built()
    for dtype in (torch.float32, torch.float64):
        maps = torch.empty(2, 3, 5, 6, dtype=dtype, device="meta")
        rois = torch.empty(7, 5, dtype=dtype, device="meta")
        patches = operator(maps, rois, 2, 4, 0.7)
        backward = getattr(torch.ops.lecture20_k09, f"{name}_backward")
        grad = backward(patches, rois, [2, 3, 5, 6], 0.7)
        for what, found, shape in (
            ("forward", patches, [7, 3, 2, 4]),
            ("backward", grad, maps.shape),
        ):
            facts = [*found.shape], found.dtype, found.device.type
            expected = [*shape], dtype, "meta"
            assert facts == expected, f"fake {what} kernel: yours {facts}, expected {expected}"
            assert found.is_contiguous(), (
                f"fake {what} kernel: yours has the strides {found.stride()}, expected contiguous"
            )


def test_gradcheck_agrees() -> None:
    """Finite differences of the maps, in every channel and on both images."""
    operator, _ = built()
    maps = numbers(2, 2, 4, 5).requires_grad_()
    agree = torch.autograd.gradcheck(
        lambda maps: operator(maps, ROIS, 2, 3, 0.9), maps, raise_exception=False
    )
    assert agree, "gradcheck: your formula and finite differences of forward differ"


def test_boxes_have_no_gradient() -> None:
    """None, not zeros: whatever produced the boxes learns nothing here."""
    operator, _ = built()
    maps, rois = numbers(2, 1, 4, 5).requires_grad_(), ROIS.clone().requires_grad_()
    operator(maps, rois, 2, 2, 1.0).sum().backward()
    assert rois.grad is None, f"the gradient of rois: yours {rois.grad}, expected None"
    close(maps.grad, kata.spread(torch.ones(3, 1, 2, 2).double(), ROIS, maps.shape, 1.0), "maps")


def test_the_formula_calls_the_backward_operator() -> None:
    """A profile or graph shows one operator; a second derivative has no formula."""
    operator, name = built()
    maps = numbers(2, 1, 4, 5).requires_grad_()
    patches = operator(maps, ROIS, 2, 2, 1.0)
    with watched_operators() as ran:
        (grad,) = torch.autograd.grad(patches.square().sum(), maps, create_graph=True)
    assert f"lecture20_k09::{name}_backward" in ran, (
        f"backward ran {[op for op in ran if 'lecture20' in op]}, expected"
        f" lecture20_k09::{name}_backward, and not `spread` itself"
    )
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        grad.sum().backward()


def test_only_rois_are_kept() -> None:
    """The maps may be freed or written to, since a linear function no longer needs them."""
    operator, _ = built()
    leaf = numbers(2, 1, 4, 5).requires_grad_()
    maps, rois, kept = leaf * 1, ROIS.clone(), []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append([*x.shape]) or x, id_):
        operator(maps, rois, 2, 2, 1.0)
    assert kept == [[3, 5]], f"tensors kept: yours {kept}, expected [[3, 5]], the shape of rois"
    patches = operator(maps, rois, 2, 2, 1.0)
    gone = weakref.ref(maps)
    del maps
    gc.collect()
    assert gone() is None, (
        "the maps are deleted, but your code keeps them alive, perhaps through an attribute of"
        " ctx: the formula needs only their shape"
    )
    rois[:, 1:].mul_(0.5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        patches.sum().backward()


def id_(x: torch.Tensor) -> torch.Tensor:
    """Return x."""
    return x


def test_autocast_casts_to_float32() -> None:
    """The kernel refuses bfloat16; under autocast it never sees any, and gradients are bfloat16."""
    operator, _ = built()
    maps, rois = numbers(2, 1, 4, 5).bfloat16().requires_grad_(), ROIS.float()
    with pytest.raises(TypeError, match="expected maps of float32 or float64"):
        operator(maps, rois, 2, 2, 1.0)
    with torch.autocast("cpu", torch.bfloat16):
        patches = operator(maps, rois.bfloat16(), 2, 2, 1.0)
    expected = kata.kernel(maps.detach().float(), rois.bfloat16().float(), 2, 2, 1.0)
    close(patches.detach(), expected, "patches under autocast", 1e-6)
    patches.sum().backward()
    assert maps.grad is not None, "no gradient reached the maps"
    assert maps.grad.dtype == torch.bfloat16, (
        f"the gradient has dtype {maps.grad.dtype}, expected bfloat16"
    )


@pytest.mark.backend("torchvision")
def test_torchvision_agrees() -> None:
    """Values and gradients of its operator, and its answer to a second derivative."""
    from torchvision.ops import roi_align  # noqa: PLC0415 - may be missing

    operator, _ = built()
    maps = numbers(2, 3, 5, 6).requires_grad_()
    yours, theirs = (
        operator(maps, ROIS, 2, 4, 0.7),
        roi_align(maps, ROIS, (2, 4), 0.7, 2, aligned=True),
    )
    close(yours.detach(), theirs.detach(), "torchvision's roi_align")
    grad = numbers(3, 3, 2, 4, seed=1)
    (mine,) = torch.autograd.grad(yours, maps, grad)
    (right,) = torch.autograd.grad(theirs, maps, grad)
    close(mine, right, "torchvision's gradient")
    (once,) = torch.autograd.grad(
        roi_align(maps, ROIS, (2, 4), 0.7, 2, aligned=True).square().sum(), maps, create_graph=True
    )
    with pytest.raises(RuntimeError, match="not supported"):
        once.sum().backward()
