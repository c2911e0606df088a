"""Build lazy tensors: record until somebody looks."""

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
    """Return the value, and remember it in `lazy`, whose inputs then become ().

    Each program is compiled once: see ``compiler.cache``. What has a value needs no program.
    """
    if lazy.value is None:
        program, inputs = trace(lazy)
        if program not in compiler.cache:
            compiler.cache[program] = compiler.compile(program)
        lazy.value = compiler.cache[program](*inputs)
        lazy.inputs = ()
    return lazy.value
