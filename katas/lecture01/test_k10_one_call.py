"""Tests of k10_one_call: which writes are visible where, and how many operators a step takes."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture01 import k10_one_call as kata
from plugins.kit import tensors
from plugins.kit import unchanged
from plugins.kit import watched_operators


def check(given_tensors: list[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Compare shapes, values and positions of the views."""
    with unchanged(*given_tensors):
        flat, views = kata.flatten(given_tensors)
    count = sum(each.numel() for each in given_tensors)
    assert (count,) == flat.shape, (
        f"your flat tensor has shape {tuple(flat.shape)}, expected {(count,)}"
    )
    assert len(views) == len(given_tensors), (
        f"your function returns {len(views)} views for {len(given_tensors)} tensors"
    )
    start = 0
    for number, (view, each) in enumerate(zip(views, given_tensors, strict=True)):
        says = f"view {number} of shape {tuple(each.shape)}, strides {each.stride()}\n".__add__
        torch.testing.assert_close(view, each, equal_nan=True, msg=says)
        if each.numel():
            memory = flat.untyped_storage().data_ptr()
            assert memory == view.untyped_storage().data_ptr(), (
                f"view {number} does not share the flat tensor's memory, so a write to "
                "the flat tensor would not reach it; split the flat tensor and view each part in "
                "its shape"
            )
            place = view.storage_offset() - flat.storage_offset()
            assert start == place, (
                f"view {number} begins at element {place} of the flat tensor, expected {start}"
            )
            assert view.is_contiguous(), f"view {number} has gaps: strides {view.stride()}"
        start += each.numel()
    return flat, views


def test_one_tensor() -> None:
    """The flat tensor has all elements in one dim; the view has the old shape."""
    check([torch.tensor([[0.3, -1.7], [2.1, 0.0]])])


def test_several_shapes() -> None:
    """Tensors keep their order; a scalar has one element, an empty tensor none."""
    check([torch.rand(2, 3), torch.rand(()), torch.rand(0, 4), torch.rand(5), torch.rand(1, 1)])


def test_a_transposed_one() -> None:
    """Elements are copied in logical order, row by row, not in memory order."""
    check([torch.rand(3, 4).t(), torch.rand(4).expand(3, 4), torch.rand(6)[::2]])


def test_writes_are_seen_on_both_sides() -> None:
    """The flat tensor and its views share memory; the tensors passed in keep their own."""
    old = [torch.rand(2, 3), torch.rand(4)]
    before = [each.clone() for each in old]
    flat, views = check(old)
    kata.decay(flat, 0.1)
    for view, each in zip(views, before, strict=True):
        torch.testing.assert_close(view, each * 0.9, msg="after decay of the flat tensor\n".__add__)
    version = flat._version  # noqa: SLF001
    views[1].fill_(7)

    is_known = flat._version > version  # noqa: SLF001
    assert is_known, (
        "a write to a view did not change flat._version: is it a view of flat, or of flat.data?"
    )
    assert [7.0] * 4 == flat[6:].tolist(), (
        f"after a write to a view, the flat tensor has {flat[6:]}"
    )
    for each, value in zip(old, before, strict=True):
        assert torch.equal(each, value), "your function changed a tensor that was passed in"
    one = torch.rand(3)
    kata.flatten([one])[0].fill_(0)
    assert one.abs().sum() > 0, "even for one tensor, the flat tensor must be new"


def test_a_step_is_one_operator() -> None:
    """One call, however many weights there are."""
    flat, views = kata.flatten([torch.rand(3, 3) for _ in range(200)])
    with watched_operators() as step:
        kata.decay(flat, 0.1)
    with watched_operators() as loop:
        for view in views:
            view.mul_(0.9)

    counts = step.count("aten::mul_"), loop.count("aten::mul_")
    assert counts == (1, 200), (
        f"the flat tensor and one by one take {counts} calls, expected (1, 200)"
    )


@given(
    each=tensors([torch.float32, torch.float16, torch.int64], max_dims=3),
    times=st.integers(1, 3),
)
def test_any_layout(each: torch.Tensor, times: int) -> None:
    """Permuted, expanded, offset and empty tensors, with NaN, infinities and zeros."""
    check([each, *[each.clone() for _ in range(times)]])
