"""Tests of k01_arrivals: a second mode below yours records what arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture01 import k01_arrivals as kata
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


class Behind(TorchDispatchMode):
    """Records what the mode above passes on."""

    def __init__(self) -> None:
        """Start with no calls."""
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Record the call and run it."""
        self.names.append(f"{func}")
        return func(*args, **(kwargs or {}))


def compare(program: Callable[[], torch.Tensor], why: str) -> kata.Log:
    """Run a program under your mode, and compare names and result."""
    expected = program()
    torch.manual_seed(0)
    with Behind() as behind, kata.Log() as log:
        result = program()
    with Behind() as alone:
        program()

    assert behind.names == log.names, (
        f"your mode recorded {log.names}\nthese arrived      {behind.names}\n{why}"
    )
    assert alone.names == behind.names, (
        f"operators run under your mode: {behind.names}; without it: {alone.names}. Call func "
        "exactly once"
    )
    assert isinstance(result, torch.Tensor), f"the result is {result!r}; return what func returns"
    torch.testing.assert_close(result, expected, msg="your mode changes the result\n".__add__)
    return log


def test_x_plus_one() -> None:
    """One operator: the overload for two tensors, although 1 is not a tensor."""
    compare(lambda: torch.ones(2) + 1, "append str(func), and call func")


def test_two_operators() -> None:
    """A single operator in Python can be two operators in ATen."""
    compare(lambda: 1 / torch.full((2,), 3.0), "each operator calls your mode, in its order")


def test_the_same_operator_again() -> None:
    """A name is listed every time it arrives."""
    compare(lambda: torch.ones(2) + 1 + 1, "two additions, two names")


def test_named_arguments_go_on() -> None:
    """A dtype and an alpha arrive as keyword arguments."""
    compare(
        lambda: torch.add(torch.ones(2, dtype=torch.float64), torch.ones(2), alpha=3),
        "pass kwargs on",
    )


def test_unusual_calls() -> None:
    """An operator with two results, one outside aten, one that raises, and kwargs=None."""
    x = torch.full((2,), 0.7)
    compare(lambda: torch.full((2,), 0.7).max(0).values, "return all that func returns")
    compare(
        lambda: torch.ops.prims.sin(torch.ones(2)),
        "append str(func): not each is of aten",
    )
    with Behind() as behind, kata.Log() as log, pytest.raises(RuntimeError):
        x.dot(torch.ones(3))
    assert behind.names == log.names, (
        f"your mode recorded {log.names}\nthese arrived      {behind.names}\nappend the name "
        f"before you call func"
    )
    try:
        result = kata.Log().__torch_dispatch__(torch.ops.aten.add.Tensor, (), (x, x), None)
    except TypeError as error:
        raise AssertionError(f"kwargs may be None, but your mode raises {error}") from error

    torch.testing.assert_close(result, x + x, msg="with kwargs None\n".__add__)


def test_what_never_arrives() -> None:
    """The shape is read from the tensor itself, without going through the dispatcher."""
    x = torch.ones(2)
    with kata.Log() as log:
        _ = x.shape, x.dtype, x.contiguous(), x + 1

    assert 1 == len(log.names), (
        f"your mode recorded {log.names}, expected only the operator of x + 1"
    )


def test_written_tensors_and_the_others() -> None:
    """In-place operators change their outputs and leave their other inputs alone."""
    x, y = torch.full((2,), 0.1), torch.full((2,), 0.7)
    with unchanged(y=y), kata.Log():
        result = x.add_(y)

    assert result is x, "x.add_ returns x itself: return what func returns"
    torch.testing.assert_close(x, torch.full((2,), 0.8), msg="x.add_(y) left\n".__add__)


@pytest.mark.given
def test_a_log_begins_empty() -> None:
    """Each log has a list of its own."""
    first, second = kata.Log(), kata.Log()

    assert [] == first.names == second.names
    assert first.names is not second.names
