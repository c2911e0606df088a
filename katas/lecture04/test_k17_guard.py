"""Tests of k17_guard: eight devices without a GPU, and which one is current."""

from __future__ import annotations

from math import isnan
from math import nan
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

CAME_BACK = (
    "the current device of the caller was maia:{}, and is maia:{} afterwards: an object whose"
    " destructor puts it back does so on every way out"
)


@pytest.fixture
def chips(extension: Extension) -> Iterator[Any]:
    """Return a getter for the operators; the current device is maia:0 before and after."""

    def operators() -> Any:
        extension.check()
        return getattr(torch.ops, extension.namespace)

    if not extension.problem:
        operators().set_current(0)
        operators().launches()
    yield operators
    if not extension.problem:
        operators().set_current(0)


@pytest.mark.given
def test_a_launch_on_another_device_fails(chips: Any) -> None:
    """A kernel without a guard fails on every device but the current one."""
    ops = chips()
    x = ops.upload(torch.ones(2), 1)

    with pytest.raises(RuntimeError, match="illegal memory access: the tensor is on maia:1"):
        ops.launch_scale(x, 3.0)
    ops.set_current(1)
    ops.launch_scale(x, 3.0)
    assert ops.download(x).tolist() == [3.0, 3.0], "expected a launch on the current device to work"


def test_a_kernel_runs_on_the_device_of_its_tensor(chips: Any) -> None:
    """The tensor may be on the current device, or on any other."""
    ops = chips()
    for current, index in ((0, 0), (0, 1), (0, 7), (3, 0)):
        x = ops.upload(torch.tensor([1.0, -2.0]), index)
        ops.set_current(current)
        ops.scale_(x, 3.0)

        yours = ops.download(x).tolist()
        assert yours == [3.0, -6.0], f"yours {yours}, expected [3.0, -6.0]: x on maia:{index}"
    yours = ops.launches()
    assert yours == [0, 1, 7, 0], f"your code launches kernels on {yours}, expected [0, 1, 7, 0]"


def test_the_callers_device_comes_back(chips: Any) -> None:
    """The caller's device need not be maia:0."""
    ops = chips()
    for before in (0, 3):
        ops.set_current(before)
        ops.scale_(ops.upload(torch.ones(2), 5), 2.0)

        after = ops.current()
        assert before == after, CAME_BACK.format(before, after)


def test_the_callers_device_comes_back_after_an_error(chips: Any) -> None:
    """The kernel fails, so no statement after the launch runs."""
    ops = chips()
    ops.set_current(3)
    with pytest.raises(RuntimeError, match="launch: the kernel has failed"):
        ops.scale_(ops.upload(torch.ones(2), 5), nan)

    after = ops.current()
    assert after == 3, CAME_BACK.format(3, after)


def test_a_mean_over_several_devices(chips: Any) -> None:
    """There is one launch for each tensor, on that tensor's device."""
    ops = chips()
    xs = [ops.upload(torch.full((n,), 10.0**n), i) for n, i in ((2, 2), (1, 0), (3, 2), (4, 2))]
    ops.set_current(4)
    yours = ops.mean(xs)

    assert yours == 4321.0, f"yours {yours}, expected 4321.0: the sum of 10 elements is 43210"
    launches = ops.launches()
    assert launches == [2, 0, 2, 2], (
        f"your code launches kernels on {launches}, expected [2, 0, 2, 2]"
    )
    after = ops.current()
    assert after == 4, CAME_BACK.format(4, after)
    yours = ops.mean([ops.upload(torch.tensor([value]), 1) for value in (2.0**24, 1.0)])
    assert yours == 8388608.5, f"yours {yours}, expected 8388608.5: launch_sum returns a double"


def test_a_mean_of_nothing(chips: Any) -> None:
    """Without tensors there is no device and no launch."""
    ops = chips()
    ops.set_current(3)
    yours = ops.mean([])

    assert isnan(yours), f"yours {yours}, expected nan for no tensors"
    assert ops.launches() == [], "mean launched a kernel for an empty list"
    assert ops.current() == 3, CAME_BACK.format(3, ops.current())


def test_a_mean_that_fails_on_the_way(chips: Any) -> None:
    """The second of three tensors has NaN."""
    ops = chips()
    xs = [ops.upload(torch.tensor([value]), i) for i, value in enumerate((1.0, nan, 3.0), start=1)]
    ops.set_current(6)
    with pytest.raises(RuntimeError, match="launch: the kernel has failed"):
        ops.mean(xs)

    launches = ops.launches()
    assert launches == [1, 2], f"your code launches kernels on {launches}, expected [1, 2]"
    after = ops.current()
    assert after == 6, CAME_BACK.format(6, after)
