"""Levels: ``grad`` of ``vmap`` of ``grad``, on a stack of interpreters.

In ``grad(lambda z: vmap(grad(f))(z).sum())``, all from torch.func, how does an ``x * y`` in f know
which transform it belongs to? Print an x inside f:

    GradTrackingTensor(lvl=3, value=BatchedTensor(lvl=2, bdim=0, value=GradTrackingTensor(lvl=1, ...

Each transform in progress is an interpreter on a stack. An operator goes to the top one, which
unwraps the values of its own level and calls the operator again, for the next one down:

    [Grad 1, Vmap 2, Grad 3]  x * y  ->  [Grad 1, Vmap 2]  x * y  ->  [Grad 1] ...  ->  torch.mul

Build that; operators, their formulas and the wrapper are given.
1. `apply`, `lowered` and `owns`: the top interpreter first, then the next one down.
2. `Vmap.process` and `vmap`: the batch is dim 0; expand values without one.
3. `Grad.process` and `backward`: a tape, read in reverse.
4. Nest them: this needs no further code.

Begin on paper: ``grad(lambda x: x * grad(lambda y: x * y)(x))`` at 2. Which x has which level?
Afterwards read `lower` and `process` in ``torch/_functorch/pyfunctorch.py`` in site-packages.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


# The transforms in progress; the last one is the top.
STACK: list[Interpreter] = []


# Given, down to `entered`.
KERNELS: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
    "sin": torch.sin,
    "cos": torch.cos,
}


@dataclass(frozen=True)
class Op:
    """An operator; "sum" and "expand" use `dim`, and "expand" adds it, with this size.

    Operands do not broadcast: pass two of the same shape.
    """

    name: str
    dim: int = 0
    size: int = 0

    def kernel(self, *x: torch.Tensor) -> torch.Tensor:
        """Compute the operator on tensors."""
        if self.name == "sum":
            return x[0].sum(self.dim)
        if self.name == "expand":
            return x[0].unsqueeze(self.dim).repeat_interleave(self.size, self.dim)
        return KERNELS[self.name](*x)

    def batched(self) -> Op:
        """Return this operator for inputs with a batch dim in front."""
        return replace(self, dim=self.dim + 1)

    def formula(self, g: Any, *x: Any) -> tuple[Any, ...]:
        """Return the gradient of each input, given the output's gradient and the inputs."""
        if self.name == "add":
            return g, g
        if self.name == "mul":
            return g * x[1], g * x[0]
        if self.name == "sin":
            return (g * apply(Op("cos"), x[0]),)
        if self.name == "cos":
            return (g * apply(Op("sin"), x[0]) * -1.0,)
        if self.name == "sum":
            return (apply(Op("expand", self.dim, x[0].shape[self.dim]), g),)
        return (apply(Op("sum", self.dim), g),)


@dataclass(frozen=True, eq=False)
class Wrapped:
    """A value of one level; it wraps a tensor, or a value of a lower level."""

    level: int
    value: Any
    batched: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape that a function sees, without the batch."""
        return tuple(self.value.shape)[int(self.batched) :]

    def sum(self, dim: int) -> Any:
        """Sum over a dim."""
        return apply(Op("sum", dim % len(self.shape)), self)

    def sin(self) -> Any:
        """Return the sine."""
        return apply(Op("sin"), self)

    def cos(self) -> Any:
        """Return the cosine."""
        return apply(Op("cos"), self)

    def __add__(self, other: Any) -> Any:
        return apply(Op("add"), self, tensor(other, self.shape))

    def __mul__(self, other: Any) -> Any:
        return apply(Op("mul"), self, tensor(other, self.shape))

    __radd__, __rmul__ = __add__, __mul__


def tensor(value: Any, shape: tuple[int, ...]) -> Any:
    """Turn a number into a tensor of this shape."""
    number = isinstance(value, int | float)
    return torch.full(shape, value, dtype=torch.float64) if number else value


@contextmanager
def entered(interpreter: Any) -> Iterator[Any]:
    """Put an interpreter on the stack while its function runs."""
    STACK.append(interpreter)
    interpreter.level = len(STACK)
    try:
        yield interpreter
    finally:
        STACK.pop()


def apply(op: Op, *values: Any) -> Any:
    """Let the top interpreter process an operator; if the stack is empty, compute the operator."""
    # TODO: two cases.
    raise NotImplementedError("apply")


@contextmanager
def lowered() -> Iterator[None]:
    """Take the top interpreter off the stack, and put it back afterwards, even after an error."""
    # TODO: do the reverse of `entered`.
    raise NotImplementedError("lowered")
    yield


class Interpreter:
    """A transform in progress."""

    level = 0

    def owns(self, value: Any) -> bool:
        """Whether a value is wrapped at exactly this level."""
        # TODO: one line.
        raise NotImplementedError("owns")

    def process(self, op: Op, *values: Any) -> Any:
        """Return the result of an operator, wrapped at this level."""
        raise NotImplementedError(f"process of {type(self).__name__}")


class Vmap(Interpreter):
    """A batch of this size; the wrapped values have the batch as their dim 0."""

    def __init__(self, size: int) -> None:
        self.size = size

    def process(self, op: Op, *values: Any) -> Any:
        """Unwrap values of this level and expand the rest; lowered, apply the batched operator."""
        # TODO: the batch of the result is its dim 0.
        raise NotImplementedError("process of Vmap")


def vmap(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function for a batch: its input and output have one more leading dim."""
    # TODO: like `grad` below; expand a result of another level, or a plain tensor.
    raise NotImplementedError("vmap")


class Grad(Interpreter):
    """A tape: an entry (result, op, values) for each operator, in order."""

    def __init__(self) -> None:
        self.tape: list[tuple[Wrapped, Op, tuple[Any, ...]]] = []

    def opened(self, values: tuple[Any, ...]) -> list[Any]:
        """Given: unwrap the values of this level."""
        return [value.value if self.owns(value) else value for value in values]

    def process(self, op: Op, *values: Any) -> Any:
        """Unwrap values of this level; lowered, apply the operator; record it on the tape."""
        # TODO: wrap the result, and record that wrapper on the tape.
        raise NotImplementedError("process of Grad")

    def backward(self, y: Any, x: Wrapped) -> Any:
        """Return the gradient of y, a number, with respect to x: zeros if y does not depend on x.

        backward runs with this interpreter off the stack; pass unwrapped values to the formulas.
        """
        # TODO: a dict from wrappers to gradients; sum the contributions to a value used twice;
        # zeros are torch.zeros(x.shape, dtype=torch.float64).
        raise NotImplementedError("backward")


def grad(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Given: return the function's gradient; the function returns a number."""

    def gradient(x: Any) -> Any:
        with entered(Grad()) as top:
            wrapped = Wrapped(top.level, x)
            y = function(wrapped)
        return top.backward(y, wrapped)

    return gradient
