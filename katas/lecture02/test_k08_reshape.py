"""Tests of k08_reshape: ``Tensor.view`` is the oracle."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02 import k08_reshape as kata
from katas.lecture02.k08_reshape import view_strides
from plugins.kit import forbids


Shape = tuple[int, ...]


def as_view(tensor: torch.Tensor, shape: Shape) -> Shape | None:
    """Return the strides of ``tensor.view(shape)``, or None where PyTorch refuses."""
    try:
        return tensor.view(shape).stride()
    except RuntimeError:
        return None


def agree(sizes: Shape, strides: Shape, shape: Shape, why: str, device: str = "cpu") -> None:
    """Compare the answer with that of view, except for strides of new dims of size 1."""
    reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    tensor = torch.arange(reach + 1, device=device).as_strided(sizes, strides)
    theirs = as_view(tensor, shape)
    try:
        yours = view_strides(sizes, strides, shape)
    except (ArithmeticError, LookupError) as error:
        error.add_note(f"{sizes} with strides {strides} as {shape}: PyTorch's {theirs}.\n{why}")
        raise
    message = (
        f"{sizes} with strides {strides} as {shape}: yours {yours}, PyTorch's {theirs}.\n{why}"
    )

    assert (theirs is None) == (yours is None), f"{message}\nNone means that a copy is needed."
    if theirs is None or yours is None:
        return
    assert isinstance(yours, tuple), f"{message}\nReturn a tuple, not a {type(yours)}."
    assert len(theirs) == len(yours), f"{message}\nReturn one stride for each new dim."
    # No index uses the stride of a dim of size 1: any will do.
    stepped = [dim for dim, size in enumerate(shape) if size != 1]
    assert [theirs[dim] for dim in stepped] == [yours[dim] for dim in stepped], message


def test_a_row_can_be_cut_into_rows() -> None:
    """Six neighbours can be shown as two rows of three."""
    agree((6,), (1,), (2, 3), "Rows of three start three elements apart.")
    agree((12,), (1,), (2, 2, 3), "A stride is the product of the new sizes to its right.")


def test_a_strided_row_stays_strided() -> None:
    """With every second element, each stride is doubled and nothing moves."""
    agree((6,), (2,), (2, 3), "A step of the chunk is 2 elements long, so is each of its parts.")


def test_dims_that_touch_can_be_merged() -> None:
    """A row-major (2, 3) tensor is also a row of six."""
    agree((2, 3), (3, 1), (6,), "Out of a row one lands on the next one: 3 == 3 * 1.")
    agree((2, 3), (6, 2), (6,), "Evenly spaced, though not adjacent: 6 == 3 * 2.")
    agree((5, 2, 3), (6, 3, 1), (30,), "The chunk so far has 2 * 3 elements, 1 apart: 6 == 6 * 1.")


def test_dims_that_do_not_touch_cannot_be_merged() -> None:
    """The transpose of a (2, 3) tensor would need a step that is not constant."""
    agree((3, 2), (1, 3), (6,), "No single step visits 0, 3, 1, 4, 2, 5.")
    agree((2, 3), (4, 1), (3, 2), "The rows have a gap between them.")


def test_a_chunk_can_be_split_beside_another() -> None:
    """In (4, 6) with a gap after each row, a row may be split, but rows may not be mixed."""
    why = "The chunks are 6 elements with step 1, and 4 with step 7."
    agree((4, 6), (7, 1), (2, 2, 2, 3), why)
    agree((4, 6), (7, 1), (3, 8), f"{why} A new dim may not reach across their border.")
    agree((4, 6), (7, 1), (24,), f"{why} A new dim may not reach across their border.")
    agree((2, 3, 2), (15, 5, 1), (6, 2), "The chunks are 2 elements, step 1, and 2 * 3, step 5.")
    agree((4, 6), (7, 1), (2, 3, 4), f"{why} 6 is no multiple of 4, so 4 cannot use it up.")
    agree((4, 6), (7, 1), (4, 3, 2), "6 is 3 * 2, and 4 is left for the next chunk.")


def test_old_dims_of_size_one_do_not_matter() -> None:
    """No index uses their strides, wherever the dims are."""
    for sizes, strides in [((2, 1, 3), (3, 77, 1)), ((1, 6), (77, 1)), ((6, 1), (1, 77))]:
        agree(sizes, strides, (6,), "A dim of size 1 is never stepped through: 77 ends no chunk.")
    agree((6, 1), (1, 77), (2, 3, 1), "Nor does 77 get into the strides of the others.")
    agree((3, 1), (0, 7), (3,), "An expanded row: the step between its elements is 0.")


def test_new_dims_of_size_one_take_nothing() -> None:
    """New dims of size 1 may be anywhere: after a chunk that is used up, or between two chunks."""
    for shape in [(1, 6), (6, 1), (2, 1, 3), (1, 2, 1, 3, 1)]:
        agree((6,), (1,), shape, "Dims of size 1 take no elements, but each has a stride.")
    agree((2, 3), (4, 1), (2, 1, 3), "One more dim between two chunks: it may belong to either.")


def test_a_scalar_has_ones_all_around() -> None:
    """Its one element can be shown with any number of dims of size 1, or none."""
    agree((), (), (1, 1, 1), "No dims, and yet one element: it may stand in dims of size 1.")
    agree((), (), (), "A scalar is a view of itself.")
    agree((1, 1), (5, 9), (), "One element may become a scalar.")


@pytest.mark.given
@pytest.mark.parametrize("shape", [(5,), (2, 2), (), (0,)])
def test_the_elements_must_be_as_many(shape: Shape) -> None:
    """Otherwise it is not a reshape, and neither a view nor a copy would work."""
    with pytest.raises(ValueError, match=r"."):
        view_strides((6,), (1,), shape)


@pytest.mark.given
def test_without_elements_every_view_is_possible() -> None:
    """The strides stay if the shape does, else they are those of a new tensor. Given."""
    for sizes, strides, shape, theirs in [
        ((0, 3), (7, 9), (0, 3), (7, 9)),
        ((3, 0), (1, 1), (2, 0, 3), (3, 3, 1)),
        ((2, 0, 3), (3, 3, 1), (0,), (1,)),
    ]:
        yours = view_strides(sizes, strides, shape)
        assert theirs == yours, f"{sizes} {strides} as {shape}: yours {yours}, PyTorch's {theirs}"


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[Shape, Shape, Shape]:
    """Draw sizes, strides and a shape of equally many elements; most of the views are possible."""
    # Split a row into dims, lay them out in any order, and give some a larger step than needed.
    sizes = draw(st.lists(st.sampled_from([1, 2, 2, 3]), max_size=4))
    order = draw(st.permutations(range(len(sizes))) | st.just(range(len(sizes))))
    gap = draw(st.integers(1, 3))
    strides = torch.empty(sizes).stride()
    old = tuple(sizes[dim] for dim in order)
    steps = tuple(gap * strides[dim] for dim in order)
    if draw(st.booleans()):
        steps = tuple(
            draw(st.integers(0, 6)) if size == 1 else s for size, s in zip(old, steps, strict=True)
        )
    # Another factorisation of the same number of elements.
    new = [*draw(st.permutations(sizes)), *draw(st.lists(st.just(1), max_size=2))]
    while len(new) > 1 and draw(st.booleans()):
        dim = draw(st.integers(0, len(new) - 2))
        new[dim : dim + 2] = [new[dim] * new[dim + 1]]
    return old, steps, tuple(new)


@given(reshape=reshapes())
@example(reshape=((2, 3, 2), (6, 2, 1), (12,)))
@example(reshape=((2, 2), (0, 0), (4,)))
@example(reshape=((4, 5), (6, 1), (2, 5, 2)))
def test_the_answer_is_that_of_view(device: str, reshape: tuple[Shape, Shape, Shape]) -> None:
    """For any strides and any shape: the same strides, and None where view refuses."""
    agree(*reshape, "Draw the chunks of the old dims, and the new dims under them.", device)


@given(reshape=reshapes())
def test_the_view_shows_the_same_elements(device: str, reshape: tuple[Shape, Shape, Shape]) -> None:
    """Read through the new strides, the elements come in the same order as in a reshape."""
    sizes, strides, shape = reshape
    answer = view_strides(sizes, strides, shape)
    if answer is None:
        return
    storage = torch.arange(300, device=device)
    theirs, yours = (
        storage.as_strided(sizes, strides).reshape(shape),
        storage.as_strided(shape, answer),
    )

    assert theirs.tolist() == yours.tolist(), (
        f"{sizes} with strides {strides} as {shape}: your strides {answer} select other elements\n"
        f"yours      {yours.flatten().tolist()}\nPyTorch's  {theirs.flatten().tolist()}"
    )


def test_no_tensor_is_made() -> None:
    """Asking ``view`` would skip the kata; the answer follows from the ints."""
    numbers = torch.randint(2, 9, (8, 3)).tolist()
    with forbids(kata) as fresh:
        for a, b, c in numbers:
            cut = fresh.view_strides((a, b * c), (b * c + 1, 1), (a, b, c))
            assert (b * c + 1, c, 1) == cut, (
                f"{a} rows of {b * c}, with a gap after each, split into {(a, b, c)}: yours {cut}, "
                f"expected {(b * c + 1, c, 1)}"
            )
            merged = fresh.view_strides((b, a), (1, b), (a * b,))
            assert merged is None, (
                f"a transpose of ({a}, {b}) as a row: yours {merged}, expected None"
            )
