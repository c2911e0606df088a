"""Tests of k11_broadcast: ``torch.broadcast_shapes``, ``expand`` and autograd are the oracle."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02 import k11_broadcast as kata
from katas.lecture02.k11_broadcast import broadcast_shapes
from katas.lecture02.k11_broadcast import expand_strides
from katas.lecture02.k11_broadcast import reduce_dims
from plugins.kit import forbids


SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@st.composite
def expansions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw a shape and one that it can be expanded to."""
    new = draw(st.lists(st.integers(0, 3), max_size=4))
    kept = draw(st.integers(0, len(new)))
    sizes = [draw(st.sampled_from([size, 1])) for size in new[len(new) - kept :]]
    return tuple(sizes), tuple(new)


def test_equal_sizes_stay() -> None:
    """Nothing is repeated."""
    assert (2, 3) == broadcast_shapes((2, 3), (2, 3))
    assert (2, 3) == broadcast_shapes((2, 3))


def test_a_size_of_one_gives_way() -> None:
    """On either side."""
    assert (2, 3) == broadcast_shapes((2, 1), (1, 3))
    assert (4,) == broadcast_shapes((1,), (4,))


def test_shapes_are_aligned_at_the_last_dim() -> None:
    """A row is added to every row of a matrix, not to every column."""
    shape = broadcast_shapes((2, 3), (3,))

    assert (2, 3) == shape, f"(3,) stands under the 3 of (2, 3), you gave {shape}"
    assert (5, 2, 3) == broadcast_shapes((3,), (5, 1, 1), (2, 1))


def test_a_size_of_one_gives_way_to_zero() -> None:
    """A tensor without elements stays without elements."""
    assert (0,) == broadcast_shapes((1,), (0,))
    assert (3, 0) == broadcast_shapes((0,), (3, 1))


def test_no_shapes_and_scalars() -> None:
    """A scalar goes with everything, and nothing at all is a scalar."""
    assert () == broadcast_shapes()
    assert () == broadcast_shapes((), ())
    assert (2,) == broadcast_shapes((), (2,))


@pytest.mark.parametrize(
    "shapes", [((2,), (3,)), ((3,), (2,)), ((0,), (2,)), ((1, 4), (3, 4), (5, 1))]
)
def test_other_sizes_do_not_agree(shapes: tuple[tuple[int, ...], ...]) -> None:
    """The message names the sizes that clash."""
    with pytest.raises(ValueError, match=r"(2.*3|3.*2|0.*2|2.*0|3.*5|5.*3)"):
        broadcast_shapes(*shapes)


@given(shapes=st.lists(SHAPES, max_size=3))
def test_shapes_are_those_of_torch(shapes: list[tuple[int, ...]]) -> None:
    """The result of adding tensors of these shapes, or a refusal where torch refuses."""
    try:
        expected = tuple(sum((torch.empty(shape) for shape in shapes), torch.empty(())).shape)
    except RuntimeError:
        expected = None
    try:
        answer = broadcast_shapes(*shapes)
    except ValueError:
        answer = None

    assert expected == answer, f"{shapes} (None stands for a refusal)"


def test_a_repeated_dim_has_stride_zero() -> None:
    """Three rows that are all the one row."""
    assert (0, 1) == expand_strides((1, 4), (4, 1), (3, 4))


def test_a_new_dim_has_stride_zero() -> None:
    """It stands in front."""
    assert (0, 1) == expand_strides((4,), (1,), (3, 4))
    assert (0, 0) == expand_strides((), (), (2, 3))


def test_a_dim_that_keeps_its_size_keeps_its_stride() -> None:
    """A size of 1 that stays 1 is not repeated."""
    assert (7, 2) == expand_strides((3, 4), (7, 2), (3, 4))
    assert (9, 2) == expand_strides((1, 4), (9, 2), (1, 4))


@pytest.mark.parametrize(("sizes", "new"), [((2,), (3,)), ((0,), (1,)), ((3,), (3, 2))])
def test_only_a_size_of_one_can_be_repeated(sizes: tuple[int, ...], new: tuple[int, ...]) -> None:
    """Of several elements, none is the one to repeat."""
    with pytest.raises(ValueError, match=r"."):
        expand_strides(sizes, (1,) * len(sizes), new)


@pytest.mark.parametrize(("sizes", "new"), [((2, 3), (3,)), ((1,), ()), ((4, 5, 6), (6,))])
def test_no_dim_can_go(sizes: tuple[int, ...], new: tuple[int, ...]) -> None:
    """The message shows the shape that was asked for."""
    with pytest.raises(ValueError, match=re.escape(str(new))):
        expand_strides(sizes, (1,) * len(sizes), new)


@given(expansion=expansions(), data=st.data())
def test_strides_are_those_of_expand(
    device: str, expansion: tuple[tuple[int, ...], tuple[int, ...]], data: st.DataObject
) -> None:
    """For any strides of the tensor that is expanded."""
    sizes, new = expansion
    strides = tuple(data.draw(st.integers(0, 5)) for _ in sizes)
    tensor = torch.arange(100, device=device).as_strided(sizes, strides)
    expected, answer = tensor.expand(new).stride(), expand_strides(sizes, strides, new)
    added = len(new) - len(sizes)

    for dim, size in enumerate(new):
        unused = dim < added and size == 1
        assert unused or expected[dim] == answer[dim], f"dim {dim} of {sizes} as {new}"
    assert len(expected) == len(answer)


def test_a_bias_is_summed_over_the_batch() -> None:
    """Its gradient has its own shape again."""
    assert (0,) == reduce_dims((3,), (8, 3))
    assert (0, 1) == reduce_dims((), (2, 3))


def test_a_repeated_dim_is_summed() -> None:
    """Where it stands, in increasing order with the new ones."""
    assert (1,) == reduce_dims((2, 1), (2, 3))
    assert (0, 1, 3) == reduce_dims((1, 4, 1), (5, 2, 4, 3))


def test_nothing_is_summed_where_nothing_was_repeated() -> None:
    """A size of 1 that stayed 1 needs no sum."""
    assert () == reduce_dims((2, 1), (2, 1))


@given(expansion=expansions())
def test_sums_undo_expanding_in_autograd(
    expansion: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    """The gradient of expand, by hand: sum the dims away, put those of size 1 back."""
    sizes, new = expansion
    leaf = torch.zeros(sizes, dtype=torch.float64, requires_grad=True)
    weight = torch.arange(1.0, 1.0 + torch.Size(new).numel(), dtype=torch.float64).reshape(new)
    (leaf.expand(new) * weight).sum().backward()
    dims = reduce_dims(sizes, new)
    by_hand = weight.sum(dims).reshape(sizes) if dims else weight

    assert sorted(set(dims)) == list(dims), "each dim once, in increasing order"
    assert torch.equal(leaf.grad, by_hand)
    kept = [size for dim, size in enumerate(new) if dim not in dims]
    assert kept == [
        size
        for size, grown in zip(sizes, new[len(new) - len(sizes) :], strict=True)
        if size == grown
    ]


def test_samples_of_pytorchs_own_tests() -> None:
    """The shapes that PyTorch tests its operators with: no dims, no elements, three operands."""
    from torch.testing._internal.common_methods_invocations import op_db  # noqa: PLC0415 - slow

    named = {op.name: op for op in op_db}
    for name in ("add", "where", "addcmul", "broadcast_tensors"):
        for sample in named[name].sample_inputs("cpu", torch.float32):
            result = named[name](sample.input, *sample.args, **sample.kwargs)
            expected = (result if isinstance(result, torch.Tensor) else result[0]).shape
            shapes = [tuple(tensor.shape) for tensor in (sample.input, *sample.args)]

            assert tuple(expected) == broadcast_shapes(*shapes), f"a sample of {name}: {shapes}"
    for name in ("expand", "broadcast_to"):
        for sample in named[name].sample_inputs("cpu", torch.float32):
            old, new = sample.input, named[name](sample.input, *sample.args)
            answer = expand_strides(tuple(old.shape), old.stride(), tuple(new.shape))
            # Of a new dim of size 1 the stride does not matter.
            added = new.dim() - old.dim()
            used = [dim for dim in range(new.dim()) if dim >= added or new.shape[dim] != 1]

            assert [new.stride(dim) for dim in used] == [answer[dim] for dim in used], (
                f"a sample of {name}: {tuple(old.shape)} with strides {old.stride()} "
                f"as {tuple(new.shape)} has {new.stride()}, you gave {answer}"
            )


def test_torch_is_not_asked() -> None:
    """``torch.broadcast_shapes`` and ``Tensor.expand`` are the kata."""
    with forbids(kata) as fresh:
        fresh.broadcast_shapes((2, 1), (3,))
        fresh.expand_strides((1, 4), (4, 1), (3, 4))
        fresh.reduce_dims((1, 4), (3, 4))
