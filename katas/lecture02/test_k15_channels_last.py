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
    """Return the answer of ATen's ``is_strides_like_channels_last`` or its 3d version."""
    return torch.ops.aten.is_strides_like_format.default(tensor, FORMAT[tensor.dim()])


def new_strides(sizes: tuple[int, ...], why: str, device: str = "cpu") -> None:
    """Compare the strides with those of a new tensor in the format."""
    theirs = torch.empty(sizes, memory_format=FORMAT[len(sizes)], device=device).stride()
    yours = channels_last_strides(sizes)

    assert theirs == yours, f"sizes {sizes}: yours {yours}, PyTorch's {theirs}.\n{why}"


def dense(sizes: tuple[int, ...], strides: tuple[int, ...], why: str, device: str = "cpu") -> None:
    """Compare the first answer with that of is_contiguous."""
    theirs = window(sizes, strides, device).is_contiguous(memory_format=FORMAT[len(sizes)])
    yours = is_channels_last_contiguous(sizes, strides)

    assert theirs is yours, (
        f"is_channels_last_contiguous of sizes {sizes}, strides {strides}: yours {yours!r}, "
        f"PyTorch's {theirs}.\n{why}"
    )


def like(sizes: tuple[int, ...], strides: tuple[int, ...], why: str, device: str = "cpu") -> None:
    """Compare the second answer with that of aten::is_strides_like_format."""
    theirs = meant(window(sizes, strides, device))
    yours = is_strides_like_channels_last(sizes, strides)

    assert theirs is yours, (
        f"is_strides_like_channels_last of sizes {sizes}, strides {strides}: yours {yours!r}, "
        f"PyTorch's {theirs}.\n{why}"
    )


def test_the_channels_of_a_pixel_lie_side_by_side() -> None:
    """Next come the pixels of a row, the rows, the images; volumes have one more dim."""
    new_strides((2, 3, 4, 5), "C, W, H, N from fast to slow.")
    new_strides((2, 3, 4, 5, 6), "C, W, H, D, N from fast to slow.")


@given(sizes=st.lists(st.integers(0, 4), min_size=4, max_size=5).map(tuple))
def test_strides_are_those_of_a_new_tensor(device: str, sizes: tuple[int, ...]) -> None:
    """As ``torch.empty(sizes, memory_format=...)`` allocates them, sizes of 0 included."""
    new_strides(sizes, "A size of 0 is multiplied as it is.", device)


@pytest.mark.given
@pytest.mark.parametrize("sizes", [(), (3, 4, 5), (1, 2, 3, 4, 5, 6)])
def test_other_numbers_of_dims_have_no_channels_last(sizes: tuple[int, ...]) -> None:
    """There are no channels to put last, so both questions get False."""
    with pytest.raises(ValueError, match="4 or 5 dims"):
        channels_last_strides(sizes)
    strides = (1,) * len(sizes)

    assert is_channels_last_contiguous(sizes, strides) is False, "4 or 5 dims only"
    assert is_strides_like_channels_last(sizes, strides) is False, "4 or 5 dims only"
    assert torch.contiguous_format == suggest_memory_format(sizes, strides), (
        "suggest row-major for other numbers of dims"
    )


def test_contiguous_in_one_format_is_not_in_the_other() -> None:
    """If C and the pixels both have more than one element; a tensor with gaps is in neither."""
    dense((2, 3, 4, 5), (60, 1, 15, 3), "As a new channels-last tensor has them.")
    dense((2, 3, 4, 5), (60, 20, 5, 1), "Row-major.")
    dense((2, 3, 4, 5, 6), (360, 1, 90, 18, 3), "As a new channels-last volume has them.")
    dense((2, 2, 4, 5), (60, 1, 15, 3), "Two of three channels: gaps.")
    dense((2, 3, 4, 2), (60, 1, 15, 6), "Every other column: gaps.")


@pytest.mark.parametrize("sizes", [(2, 1, 4, 5), (2, 3, 1, 1), (1, 1, 1, 1), (2, 1, 4, 5, 6)])
def test_one_channel_or_one_pixel_is_contiguous_in_both(sizes: tuple[int, ...]) -> None:
    """The order of C and the pixels matters only if both have more than one element."""
    row_major = torch.empty(sizes).stride()
    dense(sizes, row_major, "Row-major strides; those of dims of size 1 do not matter.")
    dense(sizes, channels_last_strides(sizes), "Its own strides.")


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
    """A row-major tensor without elements is always contiguous; here the products decide."""
    dense(sizes, strides, "Compare with the products, 0 included.")


@settings(max_examples=150)
@given(drawn=windows())
def test_contiguity_is_what_torch_says(
    device: str, drawn: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """For 4 and 5 dims, including sizes of 0, which are no exception here."""
    dense(*drawn, "See _compute_channels_last_contiguous_2d in c10/core/Contiguity.h.", device)


def test_a_slice_of_channels_last_is_still_meant_so() -> None:
    """Gaps do not change the order of the strides, but each stride must span the dim before it."""
    x = torch.empty((2, 4, 6, 8), memory_format=torch.channels_last)
    for part in (x, x[:, 1:3], x[..., ::2], x[:1], x[:, :, 2:4]):
        like(tuple(part.shape), part.stride(), "A slice: gaps are welcome.")
    like((2, 3, 4, 5), (60, 20, 5, 1), "Row-major.")
    for strides in [(60, 1, 15, 2), (60, 1, 14, 3), (59, 1, 15, 3)]:
        like((2, 3, 4, 5), strides, "One stride does not step over the whole of the dim before it.")
    like((2, 3, 4, 5), (60, 0, 15, 3), "C is expanded: its stride is 0.")


def test_one_channel_is_told_by_the_stride_of_c() -> None:
    """(N, 1, H, W) is contiguous in both formats; the unused stride shows what was meant."""
    like((2, 1, 4, 5), (20, 1, 5, 1), "C steps 1: channels-last was meant.")
    like((2, 1, 4, 5), (20, 20, 5, 1), "C steps over the image: as empty() makes it.")
    like((2, 1, 4, 5), (40, 40, 5, 1), "Half of its rows.")


def test_one_pixel_is_told_by_the_strides_of_h_and_w() -> None:
    """(N, C, 1, 1), and one image: every stride must span the dim before it."""
    like((2, 3, 1, 1), (3, 1, 3, 3), "As memory_format=torch.channels_last makes it.")
    like((2, 3, 1, 1), (3, 1, 1, 1), "As empty() makes it.")
    like((1, 3, 4, 5), (60, 1, 15, 3), "One image, whose unused stride steps over it.")
    like((1, 3, 4, 5), (1, 1, 15, 3), "One image, whose unused stride does not.")


def test_without_channels_and_pixels_row_major_is_meant() -> None:
    """(N, 1, 1, 1) has equal strides in both formats."""
    like((4, 1, 1, 1), (1, 1, 1, 1), "Nothing speaks for channels-last.")
    like((4, 1, 1, 1), (8, 8, 8, 8), "Nothing speaks for channels-last.")
    like((4, 1, 1, 1, 1), (1, 1, 1, 1, 1), "Nothing speaks for channels-last.")
    like((4, 1, 1, 1), (4, 1, 1, 1), "Every fourth image: it is C, H and W that say nothing.")
    like((4, 1, 1, 1), (4, 1, 2, 1), "Here a stride does.")


@settings(max_examples=150)
@given(drawn=windows())
def test_what_is_meant_is_what_aten_says(
    device: str, drawn: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """The operator ``aten::is_strides_like_format`` is the oracle."""
    like(*drawn, "See is_channels_last_strides_2d_s4 in c10/core/MemoryFormat.h.", device)


@pytest.mark.parametrize("part", [slice(0, 3), slice(0, 1)])
def test_operators_follow_the_suggestion(device: str, part: slice) -> None:
    """Pooling a slice of channels, which is not contiguous in any format, keeps the order."""
    x = torch.zeros(2, 4, 6, 6, device=device).contiguous(memory_format=torch.channels_last)
    sliced = x[:, part]
    pooled = torch.nn.functional.max_pool2d(sliced, 2)
    suggested = suggest_memory_format(tuple(sliced.shape), sliced.stride())

    assert torch.channels_last == suggested, (
        f"your code suggests {suggested} for strides {sliced.stride()}"
    )
    assert pooled.is_contiguous(memory_format=suggested), (
        f"max_pool2d returned strides {pooled.stride()}, not channels-last"
    )


def test_no_tensor_is_made() -> None:
    """The answers follow from sizes and strides."""
    methods = ("stride", "is_contiguous", "contiguous", "as_strided", "dim_order")
    with forbids(
        kata, *(f"torch.Tensor.{name}" for name in methods), operators=("aten::",)
    ) as fresh:
        strides = fresh.channels_last_strides((2, 3, 4, 5))
        yours = (
            fresh.is_channels_last_contiguous((2, 3, 4, 5), strides),
            fresh.is_strides_like_channels_last((2, 3, 4, 5), strides),
        )

    assert (True, True) == yours, (
        f"both questions about a new channels-last tensor: yours {yours}, expected True twice"
    )
