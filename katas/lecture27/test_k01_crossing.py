"""Tests of k01_crossing: exceptions pass through PyTorch, and your code reads them."""

from __future__ import annotations

import secrets
import warnings
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture27.k01_crossing import raised
from katas.lecture27.k01_crossing import through_future
from katas.lecture27.k01_crossing import through_hook


if TYPE_CHECKING:
    from collections.abc import Callable


class Boom(Exception):  # noqa: N818 - a name that no message of PyTorch holds
    """The exception that the functions raise."""


def pay() -> None:
    """Raise, two calls deep."""
    withdraw()


def withdraw() -> None:
    """Raise a message of several lines."""
    raise Boom("no money: left: 3\nAt: the bank\n\nsorry, a RuntimeError: is: worse")


def through_script(f: Callable[[], object]) -> None:
    """Call f from TorchScript."""

    def leave(x: torch.Tensor) -> torch.Tensor:
        f()
        return x

    # TorchScript does not read string annotations.
    leave.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    with warnings.catch_warnings():
        # TorchScript warns that it is deprecated.
        warnings.simplefilter("ignore")
        ignored = torch.jit.ignore(leave)

        def run(x: torch.Tensor) -> Any:
            return ignored(x)

        run.__annotations__ = leave.__annotations__
        torch.jit.script(run)(torch.ones(1))


def carried(road: Callable[[Callable[[], object]], object], f: Callable[[], object]) -> Exception:
    """Return the exception that `carry` raises."""
    try:
        road(f)
    except Exception as error:  # noqa: BLE001 - whatever it has become
        return error
    pytest.fail("nothing was raised, expected an exception")


def check(error: Exception, expected: tuple[str, str]) -> None:
    """Compare, and show the text that your function read."""
    __tracebackhide__ = True
    yours = raised(error)
    says = f"yours {yours}, expected {expected}, of this {type(error).__name__}:\n{error}"
    assert yours == expected, says


@pytest.mark.given
def test_the_roads() -> None:
    """One path carries the exception, the other two carry its text."""
    roads = (through_hook, through_future, through_script)
    kinds = [type(carried(road, withdraw)) for road in roads]
    assert kinds == [Boom, RuntimeError, RuntimeError], (
        f"PyTorch raised {kinds}, expected [Boom, RuntimeError, RuntimeError]"
    )


def test_a_hook() -> None:
    """A hook's exception stays the same object: autograd preserves it while the engine unwinds."""
    check(carried(through_hook, pay), ("Boom", "withdraw"))


def test_a_future() -> None:
    """A future's text lists the calls in the opposite order to a traceback."""
    check(carried(through_future, pay), ("Boom", "withdraw"))
    name = f"Boom{secrets.randbelow(10**6)}"

    def fall() -> None:
        raise type(name, (Exception,), {})("down")

    check(carried(through_future, fall), (name, "fall"))


def test_torchscript() -> None:
    """TorchScript's text has a different prefix, after its own traceback."""
    check(carried(through_script, pay), ("Boom", "withdraw"))


def test_a_runtime_error_may_be_one() -> None:
    """Some RuntimeErrors are the original; a message may also look like the beginning of a text."""

    def refuse() -> None:
        raise RuntimeError("callback: ValueError: no")

    check(carried(through_hook, refuse), ("RuntimeError", "refuse"))
    check(carried(through_future, refuse), ("RuntimeError", "refuse"))


def test_a_function_without_a_name() -> None:
    """Python calls it <lambda>."""
    check(carried(through_future, lambda: int("?")), ("ValueError", "<lambda>"))


def test_a_road_within_a_road() -> None:
    """With two futures, one text is inside the other: return the first exception."""
    check(carried(through_future, lambda: through_future(pay)), ("Boom", "withdraw"))
    check(carried(through_future, lambda: through_hook(pay)), ("Boom", "withdraw"))


def test_what_came_before() -> None:
    """If an exception is raised from another, the one that reached C++ is returned."""

    def wrap() -> None:
        try:
            withdraw()
        except Boom as error:
            raise KeyError("account") from error

    check(carried(through_hook, wrap), ("KeyError", "wrap"))
