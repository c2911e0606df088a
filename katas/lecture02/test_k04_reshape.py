"""Tests of k04_reshape: ``Tensor.view`` is the oracle."""

from __future__ import annotations

from math import prod

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode

from katas.lecture02.k04_reshape import view_strides


def as_view(tensor: torch.Tensor, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the strides of ``tensor.view(shape)``, or None where PyTorch refuses."""
    try:
        return tensor.view(shape).stride()
    except RuntimeError:
        return None


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


def test_new_dims_of_size_one_have_the_running_stride() -> None:
    """As PyTorch numbers them: the elements to the right, times the step of the chunk."""
    for shape in [(1, 6), (6, 1), (2, 1, 3), (1, 2, 1, 3, 1)]:
        expected = torch.empty(6).view(shape).stride()
        strides = view_strides((6,), (1,), shape)

        assert expected == strides, f"{shape} has strides {expected}, you gave {strides}"


def test_a_new_dim_of_size_one_between_chunks_belongs_to_the_right_one() -> None:
    """Rows of 3 with a gap after each: one step over the row, not one row further."""
    strides = view_strides((2, 3), (4, 1), (2, 1, 3))

    assert (4, 3, 1) == strides, f"3 elements to the right, 1 apart; you gave {strides}"


def test_an_old_last_dim_of_size_one_gives_its_stride_to_new_ones() -> None:
    """It is where the rightmost chunk starts, whether or not the next dim goes on from it."""
    for sizes, old, new, expected in [
        ((6, 1), (1, 77), (2, 3, 1), (3, 1, 77)),
        ((6, 1), (1, 77), (6, 1, 1), (1, 77, 77)),
        ((6, 1, 1), (1, 9, 77), (6, 1), (1, 77)),
        ((6, 1), (2, 2), (3, 2, 1), (4, 2, 2)),
        ((1, 1), (5, 9), (1,), (9,)),
    ]:
        strides = view_strides(sizes, old, new)

        assert expected == strides, f"{sizes} {old} as {new} has {expected}, you gave {strides}"


def test_a_scalar_has_ones_all_around() -> None:
    """Its one element can be shown under any number of dims of size 1, and none."""
    assert (1, 1, 1) == view_strides((), (), (1, 1, 1))
    assert () == view_strides((), (), ())
    assert () == view_strides((1, 1), (5, 9), ())


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
    assert (3, 3, 1) == view_strides((3, 0), (1, 1), (2, 0, 3))
    assert (1,) == view_strides((2, 0, 3), (3, 3, 1), (0,))


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Draw sizes, strides and a shape of as many elements; most of the views are possible."""
    # Cut a row into dims, lay them out in any order and let some step further than they must.
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
def test_the_answer_is_that_of_view(
    device: str, reshape: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
) -> None:
    """For any strides and any shape: the same strides, and None where view refuses."""
    sizes, strides, shape = reshape
    reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    tensor = torch.arange(reach + 1, device=device).as_strided(sizes, strides)
    expected = as_view(tensor, shape)

    assert expected == view_strides(sizes, strides, shape), f"{sizes} {strides} as {shape}"


@given(reshape=reshapes())
def test_the_view_shows_the_same_elements(
    device: str, reshape: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
) -> None:
    """Read through the new strides, the elements come in the order that reshape gives them."""
    sizes, strides, shape = reshape
    answer = view_strides(sizes, strides, shape)
    storage = torch.arange(300, device=device)
    if answer is not None:
        expected = storage.as_strided(sizes, strides).reshape(shape)

        assert torch.equal(expected, storage.as_strided(shape, answer))
    assert prod(sizes) == prod(shape)


class Calls(TorchFunctionMode):
    """Notes every function of torch that is called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Note the name and go on."""
        self.names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def test_no_tensor_is_made() -> None:
    """Asking ``view`` would skip the kata: the answer follows from the ints."""
    with Calls() as calls:
        view_strides((2, 3), (3, 1), (6,))
        view_strides((3, 2), (1, 3), (6,))

    assert [] == calls.names, "work the strides out from the sizes and strides alone"
