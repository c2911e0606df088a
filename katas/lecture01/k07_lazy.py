"""Build lazy tensors: record until somebody looks.

On a TPU, PyTorch only looks eager. ``x * 2 + 1`` returns without computing; when you print it,
everything recorded so far goes to a compiler as one program. The next training step records the
same program, which is already compiled. But:

    for step in range(100):
        y = x[:step]             # Python numbers are part of the program:
        look(y)                  # 100 programs, 100 compilations

Recording is given. Write two functions, about 18 lines.

1. `trace`: the program that computes a Lazy, and its inputs: the Lazys that have a value.
2. `look`: the value, computed by a compiled program that is cached.

Real life differs: PyTorch's lazy tensors turn a scalar factor into an input; here it stays in the
program, as sizes do in PyTorch.
Begin on paper: write the program of ``(a * b + a) * 2``, with a and b as inputs 0 and 1.
Afterwards open ``torch/csrc/lazy/core/lazy_graph_executor.cpp`` in PyTorch's repository: find the
cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# ---- given -----------------------------------------------------------------------------------


class Lazy:
    """A tensor that may have no value yet, but knows how to compute it.

    `value` is a tensor or None. Without one, `op` is the name of an operator, and each of its
    `inputs` is a Lazy or a float.
    """

    def __init__(
        self, op: str = "", inputs: tuple[Lazy | float, ...] = (), value: torch.Tensor | None = None
    ) -> None:
        """Record an operator, or wrap a value."""
        self.op = op
        self.inputs = inputs
        self.value = value

    def __add__(self, other: Lazy | float) -> Lazy:
        """Record a sum."""
        return Lazy("add", (self, other))

    def __mul__(self, other: Lazy | float) -> Lazy:
        """Record a product."""
        return Lazy("mul", (self, other))

    def sin(self) -> Lazy:
        """Record a sine."""
        return Lazy("sin", (self,))


# A line is an operator and its arguments: a number, ("input", 0) for the first input, or
# ("line", 2) for the result of the third line. The result of a program is that of its last line.
Line = tuple[str, tuple[object, ...]]
Program = tuple[Line, ...]


class Compiler:
    """Turns programs into functions, and keeps a list of them. Compiling is slow."""

    def __init__(self) -> None:
        """Start with no programs."""
        self.compiled: list[Program] = []
        self.cache: dict[Program, Callable[..., torch.Tensor]] = {}

    def compile(self, program: Program) -> Callable[..., torch.Tensor]:
        """Return a function of the inputs that runs each line once."""
        self.compiled.append(program)

        def run(*inputs: torch.Tensor) -> torch.Tensor:
            lines: list[torch.Tensor] = []
            places = {"input": inputs, "line": lines}
            for op, arguments in program:
                values = [
                    places[each[0]][each[1]] if isinstance(each, tuple) else each
                    for each in arguments
                ]
                lines.append(getattr(torch, op)(*values))
            return lines[-1]

        return run


# ---- the exercise ----------------------------------------------------------------------------


def trace(lazy: Lazy) -> tuple[Program, list[torch.Tensor]]:
    """Return the program behind a Lazy without a value, and its inputs.

    Visit a Lazy's inputs, left to right, before the Lazy itself. A Lazy that was visited before
    keeps its position. A Lazy with a value is an input, whatever it was computed from; number the
    inputs in the order of the visits. The program holds no tensors.
    """
    # TODO: about twelve lines; a recursive inner function helps.
    raise NotImplementedError("trace")


def look(lazy: Lazy, compiler: Compiler) -> torch.Tensor:
    """Return the value; store it in `lazy`, and set its inputs to ().

    Compile each program once, and keep it in ``compiler.cache``. A Lazy with a value needs no
    program.
    """
    # TODO: about seven lines.
    raise NotImplementedError("look")
