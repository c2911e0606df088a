"""Tests of k15_channels_last: real tensors, and ATen's own answer, are the oracle."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from katas.lecture02 import k15_channels_last as kata
from katas.lecture02.k15_channels_last import channels_last_strides
from katas.lecture02.k15_channels_last import is_channels_last_contiguous
from katas.lecture02.k15_channels_last import is_strides_like_channels_last
from katas.lecture02.k15_channels_last import suggest_memory_format
from plugins.kit import forbids


FORMAT = {4: torch.channels_last, 5: torch.channels_last_3d}


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw sizes and strides of 4 or 5 dims: dense in any order, sliced, or at random."""
    dims = draw(st.integers(4, 5))
    sizes = tuple(draw(st.sampled_from([0, 1, 1, 1, 2, 3])) for _ in range(dims))
    if draw(st.integers(0, 4)) == 0:
        return sizes, tuple(draw(st.integers(0, 6)) for _ in sizes)
    usual = (1, *range(dims - 1, 1, -1), 0)
    order = draw(st.sampled_from([usual, tuple(range(dims))[::-1], (dims - 1, 1, *usual[2:])]))
    strides, step = [0] * dims, draw(st.sampled_from([1, 1, 2]))
    for dim in order:
        strides[dim] = draw(
            st.sampled_from([step, step, step, 1]) if sizes[dim] == 1 else st.just(step)
        )
        step *= max(sizes[dim], draw(st.sampled_from([1, 1, 4])))
    return sizes, tuple(strides)


def window(sizes: tuple[int, ...], strides: tuple[int, ...], device: str) -> torch.Tensor:
    """Return a tensor with these sizes and strides."""
    return torch.empty(60_000, dtype=torch.uint8, device=device).as_strided(sizes, strides)


def meant(tensor: torch.Tensor) -> bool:
    """Return what ATen's ``is_strides_like_channels_last`` or its 3d sister says."""
    return torch.ops.aten.is_strides_like_format.default(tensor, FORMAT[tensor.dim()])


def test_the_channels_of_a_pixel_lie_side_by_side() -> None:
    """Then the pixels of a row, then the rows, then the images."""
    strides = channels_last_strides((2, 3, 4, 5))

    assert (60, 1, 15, 3) == strides, f"C, W, H, N from fast to slow; you gave {strides}"


def test_volumes_have_one_more_dim() -> None:
    """C, W, H, D, N from fast to slow."""
    assert (360, 1, 90, 18, 3) == channels_last_strides((2, 3, 4, 5, 6))


@given(sizes=st.lists(st.integers(0, 4), min_size=4, max_size=5).map(tuple))
def test_strides_are_those_of_a_new_tensor(device: str, sizes: tuple[int, ...]) -> None:
    """As ``torch.empty(sizes, memory_format=...)`` allocates them, sizes of 0 included."""
    expected = torch.empty(sizes, memory_format=FORMAT[len(sizes)], device=device).stride()

    assert expected == channels_last_strides(sizes)


@pytest.mark.parametrize("sizes", [(), (3, 4, 5), (1, 2, 3, 4, 5, 6)])
def test_other_numbers_of_dims_have_no_channels_last(sizes: tuple[int, ...]) -> None:
    """There is nothing to put last; the two questions are answered with False."""
    with pytest.raises(ValueError, match=r"."):
        channels_last_strides(sizes)
    strides = (1,) * len(sizes)

    assert is_channels_last_contiguous(sizes, strides) is False
    assert is_strides_like_channels_last(sizes, strides) is False
    assert torch.contiguous_format == suggest_memory_format(sizes, strides)


def test_contiguous_in_one_format_is_not_in_the_other() -> None:
    """If sizes above 1 stand on both sides."""
    assert is_channels_last_contiguous((2, 3, 4, 5), (60, 1, 15, 3)) is True
    assert is_channels_last_contiguous((2, 3, 4, 5), (60, 20, 5, 1)) is False
    assert is_channels_last_contiguous((2, 3, 4, 5, 6), (360, 1, 90, 18, 3)) is True


def test_gaps_are_not_contiguous() -> None:
    """Two of three channels, or every other column, leave elements out."""
    assert is_channels_last_contiguous((2, 2, 4, 5), (60, 1, 15, 3)) is False
    assert is_channels_last_contiguous((2, 3, 4, 2), (60, 1, 15, 6)) is False


@pytest.mark.parametrize("sizes", [(2, 1, 4, 5), (2, 3, 1, 1), (1, 1, 1, 1), (2, 1, 4, 5, 6)])
def test_one_channel_or_one_pixel_is_contiguous_in_both(sizes: tuple[int, ...]) -> None:
    """The order of C and the pixels shows only if both have more than one element."""
    row_major = torch.empty(sizes)

    assert row_major.is_contiguous()
    assert is_channels_last_contiguous(sizes, row_major.stride()) is True
    assert is_channels_last_contiguous(sizes, channels_last_strides(sizes)) is True


@pytest.mark.parametrize(
    ("sizes", "strides"),
    [
        ((2, 0, 4, 5), (0, 1, 0, 0)),
        ((2, 0, 4, 5), (20, 20, 5, 1)),
        ((2, 3, 4, 0), (0, 1, 0, 3)),
        ((2, 3, 0, 5), (60, 1, 15, 3)),
    ],
)
def test_a_size_of_zero_makes_no_exception(
    sizes: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """A row-major tensor without elements is contiguous anyhow; here the products decide."""
    expected = window(sizes, strides, "cpu").is_contiguous(memory_format=torch.channels_last)
    yours = is_channels_last_contiguous(sizes, strides)

    assert yours == expected, f"{sizes} with {strides}: yours is {yours}, PyTorch's {expected}"


@settings(max_examples=150)
@given(drawn=windows())
def test_contiguity_is_what_torch_says(
    device: str, drawn: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """For 4 and 5 dims, sizes of 0 included, which make no exception here."""
    sizes, strides = drawn
    tensor = window(sizes, strides, device)
    expected = tensor.is_contiguous(memory_format=FORMAT[len(sizes)])

    assert expected == is_channels_last_contiguous(sizes, strides), f"{sizes} with {strides}"


def test_a_slice_of_channels_last_is_still_meant_so() -> None:
    """Gaps do not change the order of the strides."""
    x = torch.empty((2, 4, 6, 8), memory_format=torch.channels_last)
    for part in (x, x[:, 1:3], x[..., ::2], x[:1], x[:, :, 2:4]):
        assert is_strides_like_channels_last(tuple(part.shape), part.stride()) is True
    row_major = (2, 3, 4, 5), (60, 20, 5, 1)
    assert is_strides_like_channels_last(*row_major) is False


def test_rows_that_overlap_are_not_meant_so() -> None:
    """Each stride has to step over the whole of the dim before it."""
    assert is_strides_like_channels_last((2, 3, 4, 5), (60, 1, 15, 2)) is False
    assert is_strides_like_channels_last((2, 3, 4, 5), (60, 1, 14, 3)) is False
    assert is_strides_like_channels_last((2, 3, 4, 5), (59, 1, 15, 3)) is False
    assert is_strides_like_channels_last((2, 3, 4, 5), (60, 0, 15, 3)) is False, "C is expanded"


def test_one_channel_is_told_by_the_stride_of_c() -> None:
    """(N, 1, H, W) is contiguous in both formats; the unused stride says what was meant."""
    sizes = (2, 1, 4, 5)

    assert is_strides_like_channels_last(sizes, (20, 1, 5, 1)) is True
    assert is_strides_like_channels_last(sizes, (20, 20, 5, 1)) is False, "as empty() makes it"
    assert is_strides_like_channels_last(sizes, (40, 40, 5, 1)) is False, "half of its rows"


def test_one_pixel_is_told_by_the_strides_of_h_and_w() -> None:
    """(N, C, 1, 1): as ``memory_format=torch.channels_last`` makes it, and as ``empty`` does."""
    assert is_strides_like_channels_last((2, 3, 1, 1), (3, 1, 3, 3)) is True
    assert is_strides_like_channels_last((2, 3, 1, 1), (3, 1, 1, 1)) is False


def test_one_image_is_told_by_its_stride_too() -> None:
    """Even the stride of N, the last dim on the way, must step over the image."""
    assert is_strides_like_channels_last((1, 3, 4, 5), (60, 1, 15, 3)) is True
    assert is_strides_like_channels_last((1, 3, 4, 5), (1, 1, 15, 3)) is False


def test_without_channels_and_pixels_row_major_is_meant() -> None:
    """(N, 1, 1, 1) has the same strides in both formats."""
    assert is_strides_like_channels_last((4, 1, 1, 1), (1, 1, 1, 1)) is False
    assert is_strides_like_channels_last((4, 1, 1, 1), (8, 8, 8, 8)) is False
    assert is_strides_like_channels_last((4, 1, 1, 1, 1), (1, 1, 1, 1, 1)) is False
    assert is_strides_like_channels_last((4, 1, 1, 1), (4, 1, 2, 1)) is True


def test_an_empty_tensor_is_row_major() -> None:
    """It has no order to keep."""
    assert is_strides_like_channels_last((0, 3, 4, 5), (60, 1, 15, 3)) is False
    assert is_strides_like_channels_last((2, 3, 4, 0), (0, 1, 0, 3)) is False


@settings(max_examples=150)
@given(drawn=windows())
def test_what_is_meant_is_what_aten_says(
    device: str, drawn: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """The operator ``aten::is_strides_like_format`` asks the tensor itself."""
    sizes, strides = drawn
    expected = meant(window(sizes, strides, device))

    assert expected == is_strides_like_channels_last(sizes, strides), f"{sizes} with {strides}"


def test_the_suggestion_names_the_format() -> None:
    """4 dims, 5 dims, and everything else."""
    assert torch.channels_last == suggest_memory_format((2, 3, 4, 5), (60, 1, 15, 3))
    assert torch.channels_last_3d == suggest_memory_format((2, 3, 4, 5, 6), (360, 1, 90, 18, 3))
    assert torch.contiguous_format == suggest_memory_format((2, 3, 4, 5), (60, 20, 5, 1))
    assert torch.contiguous_format == suggest_memory_format((4, 1, 1, 1), (1, 1, 1, 1))


@pytest.mark.parametrize("part", [slice(0, 3), slice(0, 1)])
def test_operators_follow_the_suggestion(device: str, part: slice) -> None:
    """Pooling a slice of channels, which is not contiguous in any format, keeps the order."""
    x = torch.zeros(2, 4, 6, 6, device=device).contiguous(memory_format=torch.channels_last)
    sliced = x[:, part]
    pooled = torch.nn.functional.max_pool2d(sliced, 2)
    suggested = suggest_memory_format(tuple(sliced.shape), sliced.stride())

    assert torch.channels_last == suggested
    assert pooled.is_contiguous(memory_format=suggested)


def test_no_tensor_is_made() -> None:
    """Sizes and strides tell everything."""
    methods = ("stride", "is_contiguous", "contiguous", "as_strided", "dim_order")
    with forbids(
        kata, *(f"torch.Tensor.{name}" for name in methods), operators=("aten::",)
    ) as fresh:
        strides = fresh.channels_last_strides((2, 3, 4, 5))
        fresh.is_channels_last_contiguous((2, 3, 4, 5), strides)
        fresh.suggest_memory_format((2, 3, 4, 5), strides)
