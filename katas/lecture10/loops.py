"""Given to the katas on loops: the operations, the handlers, and what a kernel is.

Until you have solved k28, read only what is above `Buffer`: `Buffer`, `Pointwise` and `pointwise`
are its answer. `Distinct` is the answer to k30.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import sympy
import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence


# An operation's name, the function that computes it, and the Python expression that does.
OPERATIONS: dict[str, tuple[Callable[..., torch.Tensor], str]] = {
    "constant": (lambda value: torch.tensor(value, dtype=torch.float64), "float('{0}')"),
    "add": (torch.add, "{0} + {1}"),
    "sub": (torch.sub, "{0} - {1}"),
    "mul": (torch.mul, "{0} * {1}"),
    "truediv": (torch.true_divide, "{0} / {1}"),
    "maximum": (torch.maximum, "max({0}, {1})"),
    "minimum": (torch.minimum, "min({0}, {1})"),
    "ge": (torch.ge, "{0} >= {1}"),
    "where": (torch.where, "{1} if {0} else {2}"),
    "neg": (torch.neg, "-{0}"),
    "abs": (torch.abs, "abs({0})"),
    "exp": (torch.exp, "math.exp({0})"),
    "log": (torch.log, "math.log({0})"),
    "sqrt": (torch.sqrt, "math.sqrt({0})"),
    "tanh": (torch.tanh, "math.tanh({0})"),
    "erf": (torch.erf, "math.erf({0})"),
}


# A reduction's name, the function that computes it, where it starts, and one step of it.
REDUCTIONS: dict[str, tuple[Callable[..., torch.Tensor], str, str]] = {
    "sum": (torch.sum, "0.0", "{0} + {1}"),
    "max": (torch.amax, "float('-inf')", "max({0}, {1})"),
}


class Handler:
    """Gives operations a meaning: each calls the method of its name, or else ``default``."""

    def default(self, name: str, args: tuple[Any, ...]) -> Any:
        """Return the value of ``ops.name(*args)``."""
        raise NotImplementedError(f"{type(self).__name__}.default, for {name}")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in OPERATIONS and name != "load":
            raise AttributeError(f"no operation is called {name!r}")
        return lambda *args: self.default(name, args)


class Ops:
    """Passes ``ops.add(a, b)`` on to the handler that is currently installed."""

    def __init__(self) -> None:
        self.handlers: list[Handler] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not self.handlers:
            raise RuntimeError(f"ops.{name} was called, but no handler is installed")
        return getattr(self.handlers[-1], name)


ops = Ops()


@contextmanager
def handling(handler: Handler) -> Iterator[None]:
    """Install a handler while the block runs."""
    ops.handlers.append(handler)
    try:
        yield
    finally:
        ops.handlers.pop()


@dataclass(frozen=True)
class Buffer:
    """A float64 tensor in memory, known by name. Its memory is flat."""

    name: str
    size: tuple[int, ...]
    stride: tuple[int, ...]

    def indexer(self, index: Sequence[Any]) -> Any:
        """Return the position of element `index` in the flat memory."""
        return sum(i * step for i, step in zip(index, self.stride, strict=True))

    def make_loader(self) -> Callable[[Sequence[Any]], Any]:
        """Return a function that takes an index and loads the value there."""
        return lambda index: ops.load(self.name, self.indexer(index))


@dataclass(frozen=True)
class Pointwise:
    """Loops over `ranges`; the element at `index` is ``inner_fn(index)``."""

    ranges: tuple[int, ...]
    inner_fn: Callable[[Sequence[Any]], Any]

    @property
    def size(self) -> tuple[int, ...]:
        """The size of the result."""
        return self.ranges

    @property
    def loops(self) -> tuple[int, ...]:
        """How often each loop runs."""
        return self.ranges

    def body(self, variables: Sequence[Any]) -> Any:
        """Run the body for these values of the loops' variables."""
        return self.inner_fn(variables)

    def make_loader(self) -> Callable[[Sequence[Any]], Any]:
        """Return a function that takes an index and computes the value there."""
        return self.inner_fn


@dataclass(frozen=True)
class Reduction:
    """Loops over `ranges`; in each, what `inner_fn` gives over `reduction_ranges` is reduced.

    The element at `index` is the sum or the max of all ``inner_fn(index, rindex)``.
    """

    ranges: tuple[int, ...]
    reduction_ranges: tuple[int, ...]
    kind: str
    inner_fn: Callable[[Sequence[Any], Sequence[Any]], Any]

    @property
    def size(self) -> tuple[int, ...]:
        """The size of the result."""
        return self.ranges

    @property
    def loops(self) -> tuple[int, ...]:
        """How often each loop runs, the outer ones first."""
        return self.ranges + self.reduction_ranges

    def body(self, variables: Sequence[Any]) -> Any:
        """Run the body for these values of the loops' variables."""
        outer = len(self.ranges)
        return self.inner_fn(variables[:outer], variables[outer:])


def symbols(kernel: Pointwise | Reduction) -> list[sympy.Symbol]:
    """Return the loops' variables: ``i0``, ``i1``, ..., a reduction's ``r0``, ... last."""
    outer = len(kernel.size)
    names = [f"i{n}" for n in range(outer)] + [f"r{n}" for n in range(len(kernel.loops) - outer)]
    return [sympy.Symbol(name, integer=True, nonnegative=True) for name in names]


class Count(NamedTuple):
    """What a kernel costs."""

    flops: int
    reads: frozenset[tuple[str, Any]]
    bytes: int


def pointwise(name: str, *inputs: Buffer | Pointwise) -> Pointwise:
    """Return the loops of an operation over its inputs, broadcast, and inlined if they can be."""
    ranges = tuple(torch.broadcast_shapes(*(x.size for x in inputs)))

    def loader(x: Buffer | Pointwise) -> Callable[[Sequence[Any]], Any]:
        load, missing = x.make_loader(), len(ranges) - len(x.size)
        return lambda index: load(
            [0 if size == 1 else i for size, i in zip(x.size, index[missing:], strict=True)]
        )

    loaders = [loader(x) for x in inputs]
    # Nothing is computed here: which handler runs the body, and when, is not known yet.
    return Pointwise(ranges, lambda index: getattr(ops, name)(*(load(index) for load in loaders)))


class Distinct(Handler):
    """A value is a variable's name; a repeated call gets the same name again."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.known: dict[str, str] = {}

    def default(self, name: str, args: tuple[Any, ...]) -> str:
        """Return the name of a call: a repeated one gets its old name."""
        # Keyed by its text: 0.0 == -0.0 in Python, but they are two constants.
        call = f"{name} {[str(arg) for arg in args]}"
        if call not in self.known:
            self.known[call] = f"tmp{len(self.calls)}"
            self.calls.append((name, args))
        return self.known[call]
