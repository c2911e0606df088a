"""Tests of k06_windows: ``Tensor.unfold``, ``F.unfold`` and the storage itself are the oracle."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture02 import k06_windows as kata
from katas.lecture02.k06_windows import im2col
from katas.lecture02.k06_windows import patches
from katas.lecture02.k06_windows import windows
from plugins.kit import forbids
from plugins.kit import unchanged


# The functions that this kata rebuilds.
UNFOLD = ("torch.Tensor.unfold", "torch.nn.functional.unfold", "torch.nn.Unfold")


class Operators(TorchDispatchMode):
    """Records every operator that reaches a kernel, and those that fill new memory."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.fills: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Record the name and run the operator."""
        name = func.overloadpacket.__name__
        self.names.append(name)
        result = func(*args, **(kwargs or {}))
        given = {x.untyped_storage().data_ptr() for x in args if isinstance(x, torch.Tensor)}
        if name == "copy_" or (
            isinstance(result, torch.Tensor)
            and "empty" not in name
            and result.untyped_storage().data_ptr() not in given
        ):
            self.fills.append(name)
        return result


def strided(shape: tuple[int, ...], order: tuple[int, ...], gap: int, device: str) -> torch.Tensor:
    """Return a tensor of this shape, its dims laid out in `order`, with gaps and an offset."""
    laid_out = [shape[dim] for dim in order]
    laid_out[-1] = laid_out[-1] * gap + 1
    count = torch.Size(laid_out).numel()
    # Square roots, so that a detour through float32 shows.
    numbers = torch.arange(count, dtype=torch.float64, device=device).sqrt()
    base = numbers.reshape(laid_out)[..., 1::gap]
    return base.permute([order.index(dim) for dim in range(len(order))])


@st.composite
def layouts(
    draw: st.DrawFn, dims: int, least: int = 0
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Draw a shape, the order of its dims in the storage, and a gap between elements."""
    shape = tuple(draw(st.integers(least, 4)) for _ in range(dims))
    return shape, tuple(draw(st.permutations(range(dims)))), draw(st.integers(1, 3))


def described(x: torch.Tensor) -> str:
    """Return a tensor's shape, strides and offset as text."""
    return f"a {tuple(x.shape)} with strides {x.stride()} and offset {x.storage_offset()}"


def same(yours: torch.Tensor, theirs: torch.Tensor | list, case: str, tolerance: float = 0) -> None:
    """Compare your values with those of PyTorch, or with a list."""
    torch.testing.assert_close(
        yours,
        torch.as_tensor(theirs).to(yours.device, yours.dtype if isinstance(theirs, list) else None),
        rtol=tolerance,
        atol=tolerance,
        msg=lambda text: f"{case}: yours (actual) differs from what is expected.\n{text}",
    )


def test_windows_of_a_row() -> None:
    """Five elements have three windows of three."""
    same(windows(torch.arange(5), 3, 1), [[0, 1, 2], [1, 2, 3], [2, 3, 4]], "size 3, step 1")
    same(windows(torch.arange(3), 3, 1), [[0, 1, 2]], "size 3 in a row of 3: there is one")


def test_a_step_leaves_windows_out() -> None:
    """Every second window of three in eight elements; the last element is left over."""
    x = torch.arange(8)
    same(windows(x, 3, 2), [[0, 1, 2], [2, 3, 4], [4, 5, 6]], "size 3, step 2")
    same(windows(x, 3, 4), [[0, 1, 2], [4, 5, 6]], "size 3, step 4")


def test_windows_share_the_storage() -> None:
    """A write to one element shows in all three windows that contain it."""
    x = torch.zeros(5)
    answer = windows(x, 3, 1)
    x[2] = 1.0

    assert x.data_ptr() == answer.data_ptr(), "your windows are a copy; return a view of x"
    same(answer, [[0, 0, 1], [0, 1, 0], [1, 0, 0]], "x[2] = 1 after the windows were made")


def test_windows_follow_strides_and_offset() -> None:
    """The input is every second element, from the second one on."""
    x = torch.arange(10)[1::2]

    where = "x is arange(10)[1::2], stride 2, offset 1: without an offset as_strided keeps x's own"
    same(windows(x, 2, 1), [[1, 3], [3, 5], [5, 7], [7, 9]], where)
    same(windows(x, 1, 2), [[1], [5], [9]], where)
    row = torch.tensor([7]).expand(4)
    same(windows(row, 2, 1), [[7, 7]] * 3, "an expanded row: a stride of 0 stays 0")


@given(layout=st.integers(1, 3).flatmap(layouts), size=st.integers(1, 4), step=st.integers(1, 5))
def test_windows_are_those_of_unfold(
    device: str, layout: tuple[tuple[int, ...], tuple[int, ...], int], size: int, step: int
) -> None:
    """For any shape and layout: the same values at the same strides."""
    x = strided(*layout, device)
    if size > x.size(-1):
        with pytest.raises(ValueError, match=r"."):
            windows(x, size, step)
        return
    with unchanged(x=x):
        answer = windows(x, size, step)
    same(answer, x.unfold(-1, size, step), f"{size=}, {step=} of {described(x)}")
    assert x.untyped_storage().data_ptr() == answer.untyped_storage().data_ptr(), (
        f"your windows are a copy of {described(x)}; return a view"
    )


@pytest.mark.given
@pytest.mark.parametrize(("size", "step"), [(0, 1), (-1, 1), (1, 0), (1, -1), (6, 1)])
def test_impossible_windows_are_refused(size: int, step: int) -> None:
    """as_strided only checks that the storage is large enough, not where the row ends."""
    for x in (torch.arange(5), torch.tensor(1.0)):
        with pytest.raises(ValueError, match="no windows"):
            windows(x, size, step)


def test_patches_of_an_image() -> None:
    """A 3 by 4 image has two by three patches of 2 by 2."""
    image = torch.arange(12).reshape(1, 1, 3, 4)
    answer = patches(image, 2, 2)

    assert (1, 1, 2, 3, 2, 2) == answer.shape, (
        f"yours {tuple(answer.shape)}, expected 2 by 3 patches of 2 by 2"
    )
    same(answer[0, 0, 0, 0], [[0, 1], [4, 5]], "the patch at row 0, column 0")
    same(answer[0, 0, 1, 2], [[6, 7], [10, 11]], "the patch at row 1, column 2")


@given(layout=layouts(4, least=1), height=st.integers(1, 4), width=st.integers(1, 4))
def test_patches_are_views_of_any_layout(
    device: str, layout: tuple[tuple[int, ...], tuple[int, ...], int], height: int, width: int
) -> None:
    """The same values as two unfolds, channels-last or not, and no copy."""
    image = strided(*layout, device)
    if height > image.size(2) or width > image.size(3):
        with pytest.raises(ValueError, match=r"."):
            patches(image, height, width)
        return
    with unchanged(image=image):
        answer = patches(image, height, width)
    theirs = image.unfold(2, height, 1).unfold(3, width, 1)
    same(answer, theirs, f"{height} by {width} of {described(image)}")
    assert image.data_ptr() == answer.data_ptr(), (
        f"your patches are a copy of {described(image)}; return a view"
    )


@pytest.mark.given
@pytest.mark.parametrize(("height", "width"), [(0, 1), (1, 0), (4, 1), (1, 5), (-1, 1), (1, -1)])
def test_impossible_patches_are_refused(height: int, width: int) -> None:
    """A patch has at least one element and lies inside the image."""
    with pytest.raises(ValueError, match=r"."):
        patches(torch.zeros(1, 1, 3, 4), height, width)


@pytest.mark.given
@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4), (1, 1, 1, 3, 4)])
def test_patches_want_a_batch_of_images(shape: tuple[int, ...]) -> None:
    """Only (N, C, H, W) is accepted; the message shows the shape."""
    with pytest.raises(ValueError, match=", ".join(map(str, shape))):
        patches(torch.zeros(shape), 1, 1)


def test_an_empty_batch_has_patches() -> None:
    """There are none, in the right shape, also as columns."""
    image = torch.zeros(0, 2, 3, 4)

    for name, yours, expected in [
        ("patches", patches(image, 2, 2), (0, 2, 2, 3, 2, 2)),
        ("im2col", im2col(image, 2, 2), (0, 8, 6)),
    ]:
        assert expected == yours.shape, f"{name}: yours {tuple(yours.shape)}, expected {expected}"


@given(layout=layouts(4, least=1), height=st.integers(1, 4), width=st.integers(1, 4))
def test_columns_are_those_of_unfold(
    device: str, layout: tuple[tuple[int, ...], tuple[int, ...], int], height: int, width: int
) -> None:
    """For any layout, ``F.unfold``'s values: channel first, then row and column of the patch."""
    image = strided(*layout, device)
    height, width = min(height, image.size(2)), min(width, image.size(3))

    with unchanged(image=image):
        answer = im2col(image, height, width)
    same(answer, F.unfold(image, (height, width)), f"{height} by {width} of {described(image)}")


def test_a_convolution_is_one_product_of_columns() -> None:
    """The product is what im2col is for."""
    image, weight = torch.randn(2, 3, 5, 6).double(), torch.randn(4, 3, 2, 3).double()
    product = weight.flatten(1) @ im2col(image, 2, 3)

    same(
        product.reshape(2, 4, 4, 4),
        F.conv2d(image, weight),
        "weight @ columns, and F.conv2d",
        1e-12,
    )


def test_gradients_flow_through_all_three() -> None:
    """An element that is in several windows gets the sum of their gradients."""
    x = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    image = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)

    for name, call, given_ in [
        ("windows", lambda x: windows(x, 3, 2), x),
        ("patches", lambda image: patches(image, 2, 2), image),
        ("im2col", lambda image: im2col(image, 2, 2), image),
    ]:
        found = gradcheck(call, given_, raise_exception=False)
        assert found, f"{name}: the gradient of an element must be the sum over its windows"


def test_as_strided_does_it() -> None:
    """Call neither unfold nor a copy: sizes and strides are the whole answer."""
    image = torch.arange(12.0).reshape(1, 1, 3, 4)
    layouts = image, image.mT
    with forbids(kata, *UNFOLD) as fresh, Operators() as seen:
        for x in layouts:
            fresh.windows(x, 2, 1)
            fresh.patches(x, 2, 2)

    assert not seen.fills, f"as_strided alone is enough, but your code runs {seen.fills}"


def test_columns_are_copied_once() -> None:
    """Exactly one operator moves data, and it is not the library's im2col."""
    image = torch.arange(24.0).reshape(1, 2, 3, 4)
    for x in (image, image.mT):
        with Operators() as seen:
            im2col(x, 2, 2)

        assert not {"im2col", "unfold"} & set(seen.names), (
            "your code calls F.unfold, which this kata asks you to write"
        )
        assert "convolution" not in seen.names, (
            "your code calls a convolution: build the columns that it would use"
        )
        assert len(seen.fills) == 1, (
            f"your code fills new memory with {seen.fills}; expected one operator, which copies "
            "the patches in order"
        )
