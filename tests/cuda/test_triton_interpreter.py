"""``launches``: what interpreted kernels load and store, and what they must not touch."""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.cuda.triton import interpreting
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from plugins.cuda.triton_interpreter import TritonLaunch
    from tests.conftest import MiniCourse

HERE = bool(find_spec("triton")) and interpreting()

if HERE:
    import torch
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def twice(  # noqa: PLR0917 - a kernel has as many arguments as it needs
        x: Any, out: Any, n: Any, stride: Any, block: tl.constexpr, limit: tl.constexpr
    ) -> None:
        """Double the elements of a strided vector."""
        i = tl.program_id(0) * block + tl.arange(0, block)
        values = tl.load(x + i * stride, mask=i < n + limit)
        tl.store(out + i, values + values, mask=i < n)

    @triton.jit  # type: ignore[untyped-decorator]
    def total(x: Any, out: Any) -> None:
        """Add every element, with pointers that are scalars."""
        tl.atomic_add(out, tl.load(x + tl.program_id(0)))

    @triton.jit  # type: ignore[untyped-decorator]
    def undefined(out: Any, block: tl.constexpr) -> None:
        """Store the values of lanes that loaded nothing."""
        i = tl.arange(0, block)
        tl.store(out + i, tl.load(out + i, mask=i < 1))


pytestmark = [
    pytest.mark.torch,
    pytest.mark.backend("triton"),
    pytest.mark.tool("triton"),
    pytest.mark.skipif(not interpreting(), reason="kernels are compiled in this session"),
]


def test_a_launch_records_what_it_did(launches: list[TritonLaunch]) -> None:
    """Its kernel, its grid, and how often each element was loaded or stored."""
    x, out = torch.arange(20.0)[1::2], torch.empty(10)
    twice[(3, 1)](x, out, 10, 2, block=4, limit=0)
    (launch,) = launches

    assert ("twice", (3, 1, 1), 3) == (launch.kernel, launch.grid, launch.programs)
    assert torch.equal(2 * x, out)
    assert [1] * 10 == launch.count("load", x).tolist()
    assert [0] * 10 == launch.count("store", x).tolist()
    assert [1] * 10 == launch.count("store", out).tolist()
    assert [0, 1, 2] == sorted({access.program for access in launch.accesses})


def test_scalars_and_atomics_count(launches: list[TritonLaunch]) -> None:
    """A grid may be a function; several programs may touch an element."""
    x, out = torch.ones(5), torch.zeros(1)
    total[lambda _arguments: (5,)](x, out)
    (launch,) = launches

    assert 5 == out.item()
    assert [5] == launch.count("atomic", out).tolist()
    assert [1] * 5 == launch.count("load", x).tolist()


def test_expanded_elements_are_one(launches: list[TritonLaunch]) -> None:
    """One that stands in several places of a tensor is loaded as often as all of them."""
    x, out = torch.ones(1).expand(4), torch.empty(4)
    twice[(1,)](x, out, 4, 0, block=4, limit=0)

    assert [4] * 4 == launches[0].count("load", x).tolist()


def test_nothing_lies_outside() -> None:
    """Neither beyond a tensor nor between its elements."""
    x, out = torch.ones(12), torch.empty(10)
    message = (
        "program (2, 0, 0) of twice: 1 of the 3 elements that a load touches are outside of the"
        " tensors that it was given; the first is x + 10, and x has the shape (10,) and the"
        " strides (1,). The mask of the load has to leave it out."
    )
    with pytest.raises(Exception, match=re.escape(message)):
        twice[(3,)](x[:10], out, 10, 1, block=4, limit=1)
    with pytest.raises(Exception, match=r"outside of the tensors.* the first is x \+ 1,"):
        twice[(2,)](x[::2], out, 6, 1, block=4, limit=0)
    with pytest.raises(Exception, match=r"of the 4 elements that a store touches.*out \+ 0,"):
        twice[(1,)](x, out[:0], 4, 1, block=4, limit=0)


def test_masked_lanes_are_undefined() -> None:
    """The interpreter gives zeros, a GPU anything; here no test can mistake them for a value."""
    floats, integers = torch.zeros(4), torch.zeros(4, dtype=torch.int32)
    undefined[(1,)](floats, block=4)
    undefined[(1,)](integers, block=4)

    assert [False, True, True, True] == floats.isnan().tolist()
    assert [0, -1, -1, -1] == integers.tolist()


def test_what_overflows_is_infinite_without_a_warning() -> None:
    """As on a GPU: NumPy would warn, or raise under ``-W error``."""
    x, out = torch.full((4,), 3e38), torch.empty(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twice[(1,)](x, out, 4, 1, block=4, limit=0)

    assert out.isinf().all()


def test_other_tensors_are_no_arguments(launches: list[TritonLaunch]) -> None:
    """A count of another tensor's accesses is an assertion, with its shape."""
    twice[(1,)](torch.ones(4), torch.empty(4), 4, 1, block=4, limit=0)
    other = torch.ones(4)

    with pytest.raises(AssertionError, match=r"twice was not given this tensor of shape .*4"):
        launches[0].count("load", other)


def test_nothing_is_watched_on_a_gpu(course: MiniCourse) -> None:
    """Nor in tests of other backends: the list stays empty."""
    course.imported = PYTEST
    course.monkeypatch.setenv("TRITON_INTERPRET", "0")
    course.kata(test="def test_nothing(launches): assert [] == launches")

    course.run().assert_outcomes(passed=1)
