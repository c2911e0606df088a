"""Tests of k08_reshape: ``Tensor.view`` is the oracle."""

from __future__ import annotations

from math import prod

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02 import k08_reshape as kata
from katas.lecture02.k08_reshape import view_strides
from plugins.kit import forbids


def as_view(tensor: torch.Tensor, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the strides of ``tensor.view(shape)``, or None where PyTorch refuses."""
    try:
        return tensor.view(shape).stride()
    except RuntimeError:
        return None


def stepped(
    sizes: tuple[int, ...], strides: tuple[int, ...] | None
) -> tuple[int | str, ...] | None:
    """Return strides as they are compared: nothing steps through a dim of size 1."""
    if strides is None:
        return None
    pairs = zip(sizes, strides, strict=True)
    return tuple("any" if size == 1 else stride for size, stride in pairs)


def test_a_row_can_be_cut_into_rows() -> None:
    """Six neighbours are two rows of three."""
    strides = view_strides((6,), (1,), (2, 3))

    assert (3, 1) == strides, f"rows of three start three elements apart, you gave {strides}"
    assert (6, 3, 1) == view_strides((12,), (1,), (2, 2, 3))


def test_a_strided_row_stays_strided() -> None:
    """Every second element: each stride is doubled, nothing moves."""
    assert (6, 2) == view_strides((6,), (2,), (2, 3))


def test_dims_that_touch_can_be_merged() -> None:
    """A row-major (2, 3) tensor is also a row of six."""
    assert (1,) == view_strides((2, 3), (3, 1), (6,))
    assert (2,) == view_strides((2, 3), (6, 2), (6,)), "evenly spaced, though not adjacent"
    yours = view_strides((2, 3), (0, 0), (6,))
    assert yours == (0,), (
        f"0 = 0 * 3: PyTorch's stride of six times one element is 0, yours {yours}"
    )


def test_dims_that_do_not_touch_cannot_be_merged() -> None:
    """The transpose of a (2, 3) tensor would need a step that is not constant."""
    assert view_strides((3, 2), (1, 3), (6,)) is None, "no single step visits 0, 3, 1, 4, 2, 5"
    assert view_strides((2, 3), (4, 1), (3, 2)) is None, "the rows have a gap between them"


def test_a_chunk_can_be_split_beside_another() -> None:
    """(4, 6) with a gap after each row: each row may be cut, rows may not be mixed."""
    assert (14, 7, 3, 1) == view_strides((4, 6), (7, 1), (2, 2, 2, 3))
    assert view_strides((4, 6), (7, 1), (3, 8)) is None
    assert view_strides((4, 6), (7, 1), (24,)) is None


def test_old_dims_of_size_one_do_not_matter() -> None:
    """No element is reached by their strides, wherever they stand."""
    assert (1,) == view_strides((2, 1, 3), (3, 77, 1), (6,))
    assert (1,) == view_strides((1, 6), (77, 1), (6,))
    assert (1,) == view_strides((6, 1), (1, 77), (6,))


def test_new_dims_of_size_one_stand_in_nobodys_way() -> None:
    """There is a view, and the other dims have their strides; nothing steps through these."""
    for shape in [(1, 6), (6, 1), (2, 1, 3), (1, 2, 1, 3, 1)]:
        expected = stepped(shape, torch.empty(6).view(shape).stride())
        yours = stepped(shape, view_strides((6,), (1,), shape))

        assert yours == expected, f"{shape} has strides {expected}, yours are {yours}"
    gap = stepped((2, 1, 3), view_strides((2, 3), (4, 1), (2, 1, 3)))
    assert gap == (4, "any", 1), f"rows of 3 with a gap after each stay apart, yours are {gap}"


def test_a_last_dim_of_size_one_hides_no_view() -> None:
    """Whatever stride it has, the dims before it decide."""
    for sizes, old, new, expected in [
        ((6, 1), (1, 77), (2, 3, 1), (3, 1, "any")),
        ((6, 1), (1, 77), (6, 1, 1), (1, "any", "any")),
        ((6, 1, 1), (1, 9, 77), (6, 1), (1, "any")),
        ((6, 1), (2, 2), (3, 2, 1), (4, 2, "any")),
        ((1, 1), (5, 9), (1,), ("any",)),
    ]:
        yours = stepped(new, view_strides(sizes, old, new))

        assert yours == expected, f"{sizes} {old} as {new} has {expected}, yours are {yours}"


def test_a_scalar_has_ones_all_around() -> None:
    """Its one element can be shown under any number of dims of size 1, and none."""
    yours = view_strides((), (), (1, 1, 1))

    assert yours is not None, "a scalar can be viewed as any number of dims of size 1"
    assert len(yours) == 3, f"one stride for each of three dims, yours are {yours}"
    assert view_strides((), (), ()) == ()
    assert view_strides((1, 1), (5, 9), ()) == ()


def test_the_elements_must_be_as_many() -> None:
    """Otherwise it is no reshape, and neither a view nor a copy would do."""
    for shape in [(5,), (2, 2), (), (0,)]:
        with pytest.raises(ValueError, match=r"."):
            view_strides((6,), (1,), shape)


def test_no_elements_keep_the_strides_of_the_same_shape() -> None:
    """Whatever they were."""
    assert (7, 9) == view_strides((0, 3), (7, 9), (0, 3))


def test_no_elements_get_row_major_strides_otherwise() -> None:
    """A size of 0 counts as 1, as in a new tensor."""
    for sizes, strides, new in [((3, 0), (1, 1), (2, 0, 3)), ((2, 0, 3), (3, 3, 1), (0,))]:
        expected = torch.empty(new).stride()
        yours = view_strides(sizes, strides, new)
        assert yours == expected, (
            f"{sizes} as {new}: PyTorch's strides are {expected}, yours {yours}"
        )


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Draw sizes, strides and a shape of as many elements; most of the views are possible."""
    # Cut a row into dims, lay them out in any order and let some step further than they must.
    sizes = draw(st.lists(st.sampled_from([1, 2, 2, 3]), max_size=4))
    order = draw(st.permutations(range(len(sizes))) | st.just(range(len(sizes))))
    gap = draw(st.integers(0, 3))
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
def test_the_answer_is_that_of_view(
    device: str, reshape: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
) -> None:
    """For any strides and any shape: the same strides, and None where view refuses."""
    sizes, strides, shape = reshape
    reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    tensor = torch.arange(reach + 1, device=device).as_strided(sizes, strides)
    expected = stepped(shape, as_view(tensor, shape))
    yours = stepped(shape, view_strides(sizes, strides, shape))

    assert yours == expected, (
        f"{sizes} {strides} as {shape}: PyTorch's strides are {expected}, yours {yours}"
    )


@given(reshape=reshapes())
def test_the_view_shows_the_same_elements(
    device: str, reshape: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
) -> None:
    """Read through the new strides, the elements come in the order that reshape gives them."""
    sizes, strides, shape = reshape
    answer = view_strides(sizes, strides, shape)
    storage = torch.arange(300, device=device)
    if answer is not None:
        expected = storage.as_strided(sizes, strides).reshape(shape).tolist()
        yours = storage.as_strided(shape, answer).tolist()

        assert yours == expected, (
            f"{sizes} {strides} as {shape}: your strides {answer} read the places {yours}, "
            f"PyTorch's reshape {expected}"
        )
    assert prod(sizes) == prod(shape)


def test_no_tensor_is_made() -> None:
    """Asking ``view`` would skip the kata: the answer follows from the ints."""
    with forbids(kata) as fresh:
        fresh.view_strides((2, 3), (3, 1), (6,))
        fresh.view_strides((3, 2), (1, 3), (6,))
