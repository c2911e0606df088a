"""Tests of k02_strides: PyTorch's own tensors are the oracle."""

from __future__ import annotations

import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02 import k02_strides as kata
from katas.lecture02.k02_strides import contiguous_strides
from katas.lecture02.k02_strides import is_contiguous
from plugins.kit import forbids


SIZES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Draw sizes, strides and a storage offset: any window, even an overlapping one."""
    sizes = draw(SIZES)
    # Half of them are nearly row-major: the strides of a new tensor with one changed.
    strides = tuple(draw(st.integers(0, 6)) for _ in sizes)
    if draw(st.booleans()):
        strides = torch.empty(sizes).stride()
        if sizes:
            dim = draw(st.integers(0, len(sizes) - 1))
            strides = (*strides[:dim], draw(st.integers(0, 6)), *strides[dim + 1 :])
    return sizes, strides, draw(st.integers(0, 5))


def strides_agree(sizes: tuple[int, ...], why: str, device: str = "cpu") -> None:
    """Compare the strides with those that ``torch.empty`` gives."""
    theirs = torch.empty(sizes, device=device).stride()
    yours = contiguous_strides(sizes)

    assert theirs == yours, f"sizes {sizes}: yours {yours}, PyTorch's {theirs}.\n{why}"


def contiguity_agrees(
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    why: str,
    offset: int = 0,
    device: str = "cpu",
) -> None:
    """Compare the answer with that of ``Tensor.is_contiguous``."""
    theirs = torch.empty(500, device=device).as_strided(sizes, strides, offset).is_contiguous()
    yours = is_contiguous(sizes, strides)

    assert theirs is yours, (
        f"sizes {sizes}, strides {strides}: yours {yours!r}, PyTorch's {theirs}.\n{why}"
    )


def test_the_last_dim_has_stride_one() -> None:
    """In a row of three elements, neighbours are one element apart."""
    strides_agree((3,), "A step along the only dim is one element.")


def test_an_outer_dim_steps_over_the_inner_ones() -> None:
    """The next row of a (2, 3) tensor starts three elements later; a scalar has no strides."""
    strides_agree((2, 3), "A row has three elements.")
    strides_agree((3, 4, 5), "Each stride is the product of the sizes to its right.")
    strides_agree((), "No dims, no strides.")


def test_a_size_of_zero_counts_as_one_in_strides() -> None:
    """Otherwise every dim left of an empty one would have stride 0."""
    strides_agree((2, 0, 3), "empty_tensor_restride takes max(size, 1) in its products.")


@given(sizes=SIZES)
def test_strides_are_those_of_a_new_tensor(device: str, sizes: tuple[int, ...]) -> None:
    """For any sizes, as ``torch.empty`` allocates them."""
    strides_agree(sizes, "Walk from the last dim to the first, with a running product.", device)


def test_a_row_major_tensor_is_contiguous() -> None:
    """A new tensor is contiguous; its transpose is not."""
    contiguity_agrees((2, 3), (3, 1), "The strides of a new tensor.")
    contiguity_agrees((3, 2), (1, 3), "A transpose: neighbours of a row are 3 elements apart.")
    contiguity_agrees((), (), "One element follows nothing.")


def test_gaps_and_repeats_are_not_contiguous() -> None:
    """Every second element, or one element expanded, gives the wrong strides."""
    contiguity_agrees((4,), (2,), "Between two elements lies one that is not shown.")
    contiguity_agrees((4,), (0,), "Four times the same element are not four in a row.")
    contiguity_agrees((2, 3), (4, 1), "A row of 3 that starts every 4 leaves a gap.")
    contiguity_agrees((2, 3, 2), (4, 3, 1), "12 places, 12 elements: 2 is left out, 4 comes twice.")


def test_the_stride_of_a_size_one_dim_does_not_matter() -> None:
    """The only index of such a dim is 0, wherever the dim is."""
    for sizes, strides in [((1, 3), (99, 1)), ((3, 1), (1, 99)), ((2, 1, 3), (3, 0, 1))]:
        contiguity_agrees(sizes, strides, "0 times any stride is 0: no index uses it.")


def test_an_empty_tensor_is_contiguous() -> None:
    """Without elements, nothing can be out of order."""
    contiguity_agrees((0,), (5,), "No elements, no disorder.")
    contiguity_agrees((3, 0, 2), (1, 7, 9), "No elements, no disorder.")


@given(window=windows())
def test_contiguity_is_what_torch_says(
    device: str, window: tuple[tuple[int, ...], tuple[int, ...], int]
) -> None:
    """For any window."""
    sizes, strides, offset = window
    why = "See _compute_contiguous in torch/include/c10/core/Contiguity.h."
    contiguity_agrees(sizes, strides, why, offset, device)


def test_no_tensor_is_made() -> None:
    """The answer is arithmetic on ints; asking a tensor would skip the kata."""
    tensors = [torch.empty(sizes) for sizes in torch.randint(1, 9, (8, 3)).tolist()]
    facts = [(tuple(x.shape), x.stride(), x.is_contiguous()) for x in tensors]
    facts += [(tuple(x.mT.shape), x.mT.stride(), x.mT.is_contiguous()) for x in tensors]
    with forbids(kata) as fresh:
        for sizes, strides, contiguous in facts:
            yours = fresh.is_contiguous(sizes, strides)
            assert contiguous is yours, f"{sizes}, {strides}: yours {yours}, expected {contiguous}"
        for sizes, strides, _ in facts[: len(tensors)]:
            new = fresh.contiguous_strides(sizes)
            assert strides == new, f"{sizes}: yours {new}, PyTorch's {strides}"


def test_a_table_of_strides() -> None:
    """The last dim has stride 1; a dim of size 0 counts as 1 for those before it."""
    table = [(), (5,), (2, 3, 4), (2, 1, 4), (2, 0, 4), (1, 1), (4, 3, 2, 5)]
    text = "\n".join(f"{sizes}: {contiguous_strides(sizes)}" for sizes in table)

    assert_expected_inline(
        text,
        """\
(): ()
(5,): (1,)
(2, 3, 4): (12, 4, 1)
(2, 1, 4): (4, 4, 1)
(2, 0, 4): (4, 4, 1)
(1, 1): (1, 1)
(4, 3, 2, 5): (30, 10, 5, 1)""",
    )
