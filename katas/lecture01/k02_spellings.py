"""Predict what arrives: many spellings, few operators.

PyTorch has thousands of function names, but far fewer operators that need a kernel on each device.
Look at one name through k01's mode, which is given below:

    print(arrivals(lambda: torch.multiply(x, x)))        # ['mul']

Which operators arrive for the six spellings in `PROGRAMS`? Fill in a row of `predictions` for each,
on paper: your rows cannot call torch.

Begin with ``x.square()``: which more general operator could do it?
Afterwards look the names up in ``torch/_refs/__init__.py`` (``square``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# Given: do not change.
def square(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """Run x.square()."""
    return x.square()


def expit(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """Run torch.special.expit(x)."""
    return torch.special.expit(x)


def one_minus(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """Run 1 - x."""
    return 1 - x


def inner(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """Run x @ x, where x is a vector."""
    return x @ x


def one_over(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """Run 1 / x."""
    return 1 / x


def linear(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Run torch.nn.functional.linear(rows, rows, x): rows is a matrix, x the bias."""
    return torch.nn.functional.linear(rows, rows, x)


PROGRAMS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    function.__name__: function for function in (square, expit, one_minus, inner, one_over, linear)
}


def arrivals(program: Callable[[], Any]) -> list[str]:
    """Return the operators that reach the mode while a program runs: "add" for aten.add.Tensor."""
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415

    names: list[str] = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            names.append(f"{func}".split(".")[1])
            return func(*args, **(kwargs or {}))

    with Log():
        program()
    return names


def predictions() -> dict[str, list[str]]:
    """For each name in `PROGRAMS`, return the operators that reach the mode, in order.

    Each row is one or two of abs, add, addmm, div, dot, matmul, mm, mul, mv, neg, pow, reciprocal,
    rsub, sigmoid, sqrt, sub, sum, t.
    """
    # TODO: return {"square": ["..."], ...}
    raise NotImplementedError("predictions")
