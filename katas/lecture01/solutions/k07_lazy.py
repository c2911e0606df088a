"""Build lazy tensors: record until somebody looks."""

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
    lines: list[Line] = []
    inputs: list[torch.Tensor] = []
    places: dict[Lazy, tuple[str, int]] = {}

    def visit(each: Lazy | float) -> object:
        if not isinstance(each, Lazy):
            return each
        if each not in places:
            if each.value is not None:
                places[each] = ("input", len(inputs))
                inputs.append(each.value)
            else:
                line = (each.op, tuple(visit(source) for source in each.inputs))
                places[each] = ("line", len(lines))
                lines.append(line)
        return places[each]

    visit(lazy)
    return tuple(lines), inputs


def look(lazy: Lazy, compiler: Compiler) -> torch.Tensor:
    """Return the value; store it in `lazy`, and set its inputs to ().

    Compile each program once, and keep it in ``compiler.cache``. A Lazy with a value needs no
    program.
    """
    if lazy.value is None:
        program, inputs = trace(lazy)
        if program not in compiler.cache:
            compiler.cache[program] = compiler.compile(program)
        lazy.value = compiler.cache[program](*inputs)
        lazy.inputs = ()
    return lazy.value
