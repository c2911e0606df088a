"""Tests of k11_broadcast: ``torch.broadcast_shapes``, ``expand`` and autograd are the oracle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02 import k11_broadcast as kata
from katas.lecture02.k11_broadcast import broadcast_shapes
from katas.lecture02.k11_broadcast import expand_strides
from katas.lecture02.k11_broadcast import reduce_dims
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable


SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@st.composite
def expansions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw a shape and a shape that it can be expanded to."""
    new = draw(st.lists(st.integers(0, 3), max_size=4))
    kept = draw(st.integers(0, len(new)))
    sizes = [draw(st.sampled_from([size, 1])) for size in new[len(new) - kept :]]
    return tuple(sizes), tuple(new)


def shape_of(shapes: tuple[tuple[int, ...], ...], why: str) -> None:
    """Compare the shape with that of a sum of tensors, or the error with PyTorch's."""
    try:
        theirs = tuple(sum((torch.empty(shape) for shape in shapes), torch.empty(())).shape)
    except RuntimeError:
        theirs = None
    try:
        yours = broadcast_shapes(*shapes)
    except ValueError:
        yours = None

    assert theirs == yours, (
        f"{shapes}: yours {yours}, PyTorch's {theirs}; None means an error.\n{why}"
    )


def strides_of(
    sizes: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...], why: str
) -> None:
    """Compare the strides with those of expand, except for new dims of size 1."""
    theirs = torch.empty(10_000, dtype=torch.uint8).as_strided(sizes, strides).expand(new).stride()
    yours = expand_strides(sizes, strides, new)
    message = f"{sizes}, strides {strides}, as {new}: yours {yours}, PyTorch's {theirs}.\n{why}"

    assert len(theirs) == len(yours), message
    for dim, size in enumerate(new):
        unused = dim < len(new) - len(sizes) and size == 1
        assert unused or theirs[dim] == yours[dim], message


def refused(call: Callable[[], object], case: str) -> None:
    """Expect the error that `clash` returns."""
    with pytest.raises(ValueError, match="does not go with"):
        pytest.fail(f"{case}: yours {call()}, expected the ValueError from clash")


def dims_of(
    sizes: tuple[int, ...], new: tuple[int, ...], expected: tuple[int, ...], why: str
) -> None:
    """Compare the dims to sum over with those that were repeated."""
    yours = reduce_dims(sizes, new)

    assert expected == yours, f"{sizes} as {new}: yours {yours}, expected {expected}.\n{why}"


def test_a_size_of_one_gives_way() -> None:
    """On either side; equal sizes stay, and a single shape is its own result."""
    shape_of(((2, 3),), "One shape broadcasts to itself.")
    shape_of(((2, 3), (2, 3)), "Nothing is repeated.")
    shape_of(((2, 1), (1, 3)), "Each 1 gives way to the other size.")
    shape_of(((1,), (4,)), "1 gives way to 4.")


def test_shapes_are_aligned_at_the_last_dim() -> None:
    """A row is added to every row of a matrix, not to every column."""
    shape_of(((2, 3), (3,)), "(3,) stands under the 3 of (2, 3).")
    shape_of(((3,), (5, 1, 1), (2, 1)), "Write them below each other, flush right.")


def test_a_size_of_one_gives_way_to_zero() -> None:
    """A tensor without elements stays without elements."""
    shape_of(((1,), (0,)), "1 gives way to any other size, and 0 is another size.")
    shape_of(((0,), (3, 1)), "1 gives way to any other size, and 0 is another size.")


def test_no_shapes_and_scalars() -> None:
    """A scalar broadcasts with every shape, and no shapes at all give a scalar."""
    shape_of((), "No shapes: the empty one.")
    shape_of(((), ()), "No dims.")
    shape_of(((), (2,)), "A scalar has 1 in every place.")


@pytest.mark.parametrize(
    "shapes",
    [((2,), (3,)), ((3,), (2,)), ((0,), (2,)), ((1, 4), (3, 4), (5, 1)), ((3,), (1,), (2,))],
)
def test_other_sizes_do_not_agree(shapes: tuple[tuple[int, ...], ...]) -> None:
    """In any order, and in any of the shapes."""
    refused(lambda: broadcast_shapes(*shapes), f"the shapes {shapes} together")


@given(shapes=st.lists(SHAPES, max_size=3).map(tuple))
def test_shapes_are_those_of_torch(shapes: tuple[tuple[int, ...], ...]) -> None:
    """The result is that of adding tensors of these shapes, or an error where torch raises one."""
    shape_of(shapes, "Look at the first column from the right that differs.")


def test_a_repeated_dim_has_stride_zero() -> None:
    """Three rows that are all the same row."""
    strides_of((1, 4), (4, 1), (3, 4), "With stride 0 each of the three rows is the one row.")


def test_a_new_dim_has_stride_zero() -> None:
    """New dims go in front."""
    strides_of((4,), (1,), (3, 4), "New dims stand in front.")
    strides_of((), (), (2, 3), "A scalar: all six places are its one element.")


def test_a_dim_that_keeps_its_size_keeps_its_stride() -> None:
    """A size of 1 that stays 1 is not repeated."""
    strides_of((3, 4), (7, 2), (3, 4), "Nothing is repeated.")
    strides_of((1, 4), (9, 2), (1, 4), "1 stays 1: PyTorch keeps its stride.")


@pytest.mark.parametrize(("sizes", "new"), [((2,), (3,)), ((0,), (1,)), ((3,), (3, 2))])
def test_only_a_size_of_one_can_be_repeated(sizes: tuple[int, ...], new: tuple[int, ...]) -> None:
    """With several elements, it would be unclear which one to repeat."""
    refused(lambda: expand_strides(sizes, (1,) * len(sizes), new), f"{sizes} expanded to {new}")


@pytest.mark.given
@pytest.mark.parametrize(("sizes", "new"), [((2, 3), (3,)), ((1,), ()), ((4, 5, 6), (6,))])
def test_no_dim_can_go(sizes: tuple[int, ...], new: tuple[int, ...]) -> None:
    """Expanding cannot drop a dim; the message shows the requested shape."""
    with pytest.raises(ValueError, match=re.escape(str(new))):
        expand_strides(sizes, (1,) * len(sizes), new)


@given(expansion=expansions(), data=st.data())
def test_strides_are_those_of_expand(
    expansion: tuple[tuple[int, ...], tuple[int, ...]], data: st.DataObject
) -> None:
    """For any strides of the tensor that is expanded."""
    sizes, new = expansion
    strides = tuple(data.draw(st.integers(0, 5)) for _ in sizes)
    strides_of(sizes, strides, new, "A dim that changes from 1, to 0 as well, has stride 0.")


def test_what_was_repeated_is_summed() -> None:
    """Sum over the batch for a bias, and over each dim that was repeated."""
    dims_of((3,), (8, 3), (0,), "A bias is used 8 times: its gradient is a sum of 8.")
    dims_of((2, 1), (2, 3), (1,), "Dim 1 was repeated.")
    dims_of((1, 4, 1), (5, 2, 4, 3), (0, 1, 3), "The new dim, and two that were repeated.")
    dims_of((2, 1), (2, 1), (), "Nothing was repeated.")
    dims_of((3,), (1, 3), (0,), "A new dim has to go again, even of size 1.")


@given(expansion=expansions())
def test_sums_undo_expanding_in_autograd(
    expansion: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    """The gradient of expand, by hand: sum over the dims, then restore those of size 1."""
    sizes, new = expansion
    leaf = torch.zeros(sizes, dtype=torch.float64, requires_grad=True)
    weight = torch.arange(1.0, 1.0 + torch.Size(new).numel(), dtype=torch.float64).reshape(new)
    (leaf.expand(new) * weight).sum().backward()
    dims = reduce_dims(sizes, new)
    assert sorted(set(dims)) == list(dims), (
        f"{sizes} as {new}: yours {dims}, expected increasing order"
    )
    summed = weight.sum(dims) if dims else weight
    added = len(new) - len(sizes)
    expected = tuple(size for dim, size in enumerate(sizes, added) if size == new[dim])
    left = tuple(summed.shape)
    assert expected == left, (
        f"{sizes} as {new}: summing over your dims {dims} leaves a tensor of sizes {left},"
        f" expected {expected}"
    )
    torch.testing.assert_close(
        summed.reshape(sizes),
        leaf.grad,
        msg=lambda text: (
            f"{sizes} as {new}, summed over {dims}: the result differs from PyTorch's "
            f"gradient\n{text}"
        ),
    )


def test_samples_of_pytorchs_own_tests() -> None:
    """The shapes from PyTorch's own operator tests: no dims, no elements, three operands."""
    from torch.testing._internal.common_methods_invocations import op_db  # noqa: PLC0415 - slow

    named = {op.name: op for op in op_db}
    for name in ("add", "where", "addcmul", "broadcast_tensors"):
        for sample in named[name].sample_inputs("cpu", torch.float32):
            shapes = tuple(tuple(tensor.shape) for tensor in (sample.input, *sample.args))
            shape_of(shapes, f"A sample of {name}.")
    for name in ("expand", "broadcast_to"):
        for sample in named[name].sample_inputs("cpu", torch.float32):
            old, new = sample.input, named[name](sample.input, *sample.args)
            strides_of(tuple(old.shape), old.stride(), tuple(new.shape), f"A sample of {name}.")


def test_torch_is_not_asked() -> None:
    """``torch.broadcast_shapes`` and ``Tensor.expand`` are the kata."""
    shapes = torch.randint(2, 99, (8, 3)).tolist()
    with forbids(kata) as fresh:
        for a, b, c in shapes:
            yours = (
                fresh.broadcast_shapes((a, 1, c), (b, 1)),
                fresh.expand_strides((b, 1), (7, c), (a, b, c)),
                fresh.reduce_dims((b, 1), (a, b, c)),
            )
            expected = (a, b, c), (0, 7, 0), (0, 2)
            assert expected == yours, f"({b}, 1) as {(a, b, c)}: yours {yours}, expected {expected}"
