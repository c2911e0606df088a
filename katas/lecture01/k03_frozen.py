"""Predict which tools freeze your program, and which refuse it.

Python runs ``count += 1`` on every call. A graph contains no Python, so what becomes of the count?

    program = torch.fx.symbolic_trace(counter())
    print(program(x), program(x))           # equal: the count was frozen at 1

Below are three programs and four tools. Predict the outcome of six pairs, on paper: does the tool
refuse the program, does the result behave as in eager mode, or is something in it frozen?

Begin with `compiled counter`: ``torch.compile`` may return to Python for the count.
Afterwards open ``torch/_dynamo/guards.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    Program = Callable[[torch.Tensor], torch.Tensor]


# Given: do not change.
def counter() -> Program:
    """Return a program that counts its calls and multiplies by the count."""
    count = 0

    def program(x: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count += 1
        return x * count

    return program


def branch() -> Program:
    """Return a program that branches on the values of its tensor."""
    return lambda x: x * 2 if x.sum() > 0 else x - 5


def length() -> Program:
    """Return a program that multiplies by the length of x."""
    return lambda x: x * x.shape[0]


def trace(program: Program, x: torch.Tensor) -> Program:
    """Run the program on `x` and record its operators."""
    return torch.jit.trace(program, x, check_trace=False)


def fx(program: Program, _: torch.Tensor) -> Program:
    """Run the program on a proxy without a value, and record every operation on it."""
    return torch.fx.symbolic_trace(program)


def export(program: Program, x: torch.Tensor) -> Program:
    """Export the program as one graph, for tensors of the shape of `x`."""

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return program(x)

    return torch.export.export(Model(), (x,)).module()


def compiled(program: Program, _: torch.Tensor) -> Program:
    """Compile parts of the program to graphs with guards; the rest stays in Python."""
    return torch.compile(program, backend="eager")


PAIRS = {
    "fx of length": (fx, length),
    "fx of branch": (fx, branch),
    "trace of branch": (trace, branch),
    "export of counter": (export, counter),
    "compiled counter": (compiled, counter),
    "compiled branch": (compiled, branch),
}


def predictions() -> dict[str, str]:
    """Return "as eager", "frozen" or "refused" for each name in `PAIRS`.

    Each program is captured with a tensor of two ones. Then it is called three times: with that
    tensor, with ``[-1, -1]`` and with three ones. The exported program skips the last call.
    """
    # TODO: return {"fx of length": "...", ...}
    raise NotImplementedError("predictions")
