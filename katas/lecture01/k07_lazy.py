"""Build lazy tensors: record until somebody looks.

On a TPU, PyTorch looks eager and is not. ``x * 2 + 1`` returns and computes nothing; when
you print it, all that was recorded goes to a compiler as one program. The next step of training
records the same program, which is compiled already. But:

    for step in range(100):
        y = x[:step]             # what is no tensor is part of the program:
        look(y)                  # 100 programs, 100 compilations

Recording is given. Write two functions, about 18 lines.

1. `trace`: the program behind a Lazy, and the tensors that it takes. What has a value is an input.
2. `look`: the value, by a compiled program that is kept for the next time.

Real life differs: PyTorch's lazy tensors make an input of a number that is multiplied with; here
it stays in the program, as sizes do there.
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
    """A tensor that may have no value yet, but knows how it would be made.

    `value` is a tensor or None. Without one, `op` is the name of an operator, and `inputs` are what
    it takes: each a Lazy, or a float.
    """

    def __init__(
        self, op: str = "", inputs: tuple[Lazy | float, ...] = (), value: torch.Tensor | None = None
    ) -> None:
        """Record, or wrap a value."""
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


# A line is an operator and what it takes: a number, ("input", 0), the first input, or ("line", 2),
# the result of the third line. A program is its lines; the last one has the result.
Line = tuple[str, tuple[object, ...]]
Program = tuple[Line, ...]


class Compiler:
    """Turns programs into functions, and keeps count. It takes its time."""

    def __init__(self) -> None:
        """Begin without a program."""
        self.compiled: list[Program] = []
        self.cache: dict[Program, Callable[..., torch.Tensor]] = {}

    def compile(self, program: Program) -> Callable[..., torch.Tensor]:
        """Return a function of the inputs, which runs each line one time."""
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

    Go to what each takes from left to right, before it. A Lazy that is met again has the place that
    it had. One with a value is an input; what is behind it is not asked for. Inputs are numbered as
    they are met. The program holds no tensor.
    """
    # TODO: about twelve lines; a function within may call itself.
    raise NotImplementedError("trace")


def look(lazy: Lazy, compiler: Compiler) -> torch.Tensor:
    """Return the value, and remember it in `lazy`, whose inputs then become ().

    Each program is compiled once: see ``compiler.cache``. What has a value needs no program.
    """
    # TODO: about seven lines.
    raise NotImplementedError("look")
