"""A kernel's body is run once, by a handler that records it; the rest reads the record."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import sympy
import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Mapping
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
    """What operations mean: each goes to a method of its name, or else to ``default``. Given."""

    def default(self, name: str, args: tuple[Any, ...]) -> Any:
        """Return the value of ``ops.name(*args)``."""
        raise NotImplementedError(f"{type(self).__name__}.default, for {name}")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in OPERATIONS and name != "load":
            raise AttributeError(f"no operation is called {name!r}")
        return lambda *args: self.default(name, args)


class Ops:
    """``ops.add(a, b)`` means what the handler says that is installed now. Given."""

    def __init__(self) -> None:
        self.handlers: list[Handler] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not self.handlers:
            raise RuntimeError(f"ops.{name} was called, but no handler is installed")
        return getattr(self.handlers[-1], name)


ops = Ops()


@contextmanager
def handling(handler: Handler) -> Iterator[None]:
    """Install a handler for a while. Given."""
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
        """Return the place of element `index` in the flat memory."""
        return sum(i * step for i, step in zip(index, self.stride, strict=True))

    def make_loader(self) -> Callable[[Sequence[Any]], Any]:
        """Return the function from an index to the value there: it loads."""
        return lambda index: ops.load(self.name, self.indexer(index))


@dataclass(frozen=True)
class Pointwise:
    """Loops over `ranges`; the element at `index` is ``inner_fn(index)``."""

    ranges: tuple[int, ...]
    inner_fn: Callable[[Sequence[Any]], Any]

    @property
    def size(self) -> tuple[int, ...]:
        """The size of the result. Given."""
        return self.ranges

    @property
    def loops(self) -> tuple[int, ...]:
        """How often each loop runs. Given."""
        return self.ranges

    def body(self, variables: Sequence[Any]) -> Any:
        """Run the body for these values of the loops' variables. Given."""
        return self.inner_fn(variables)

    def make_loader(self) -> Callable[[Sequence[Any]], Any]:
        """Return the function from an index to the value there: it computes."""
        return self.inner_fn


@dataclass(frozen=True)
class Reduction:
    """Loops over `ranges`; in each, what `inner_fn` gives over `reduction_ranges` is reduced.

    Given. The element at `index` is the sum or the max of all ``inner_fn(index, rindex)``.
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
    """Return the loops' variables: ``i0``, ``i1``, ..., a reduction's ``r0``, ... last. Given."""
    outer = len(kernel.size)
    names = [f"i{n}" for n in range(outer)] + [f"r{n}" for n in range(len(kernel.loops) - outer)]
    return [sympy.Symbol(name, integer=True, nonnegative=True) for name in names]


class Count(NamedTuple):
    """What a kernel costs. Given."""

    flops: int
    reads: frozenset[tuple[str, Any]]
    bytes: int


def pointwise(name: str, *inputs: Buffer | Pointwise) -> Pointwise:
    """Return the loops of an operation over its inputs, broadcast, and inlined if they can be."""
    ranges = torch.broadcast_shapes(*[x.size for x in inputs])

    def inner_fn(index: Sequence[Any]) -> Any:
        values = []
        for x in inputs:
            # From the last dim to the first, as broadcasting matches them.
            pairs = zip(reversed(x.size), reversed(index), strict=False)
            place = [i if size > 1 else 0 * i for size, i in pairs]
            values.append(x.make_loader()(place[::-1]))
        return getattr(ops, name)(*values)

    return Pointwise(tuple(ranges), inner_fn)


class _Value:
    """One call of the body: what was called, on which values."""

    def __init__(self, name: str, args: tuple[Any, ...]) -> None:
        self.name = name
        self.args = args


class _Record(Handler):
    """A value is the call that gave it; calls are kept in order."""

    def __init__(self) -> None:
        self.values: list[_Value] = []

    def default(self, name: str, args: tuple[Any, ...]) -> _Value:
        self.values.append(_Value(name, args))
        return self.values[-1]


def _record(kernel: Pointwise | Reduction) -> tuple[list[_Value], _Value]:
    recorder = _Record()
    with handling(recorder):
        result = kernel.body(symbols(kernel))
    return recorder.values, result


def _merged(values: list[_Value]) -> tuple[list[_Value], dict[_Value, str]]:
    """Return the values that differ, and for every value the name of the one that is kept."""
    kept: dict[tuple[Any, ...], str] = {}
    names: dict[_Value, str] = {}
    result = []
    for value in values:
        parts = [names[x] if isinstance(x, _Value) else repr(x) for x in value.args]
        key = (value.name, *parts)
        if key not in kept:
            kept[key] = f"v{len(kept)}"
            result.append(value)
        names[value] = kept[key]
    return result, names


def evaluate(kernel: Pointwise | Reduction, memory: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the kernel's result, computed by torch, all iterations at once."""
    values, result = _record(kernel)
    grid = {
        str(symbol): torch.arange(times).view([-1] + [1] * (len(kernel.loops) - place - 1))
        for place, (symbol, times) in enumerate(zip(symbols(kernel), kernel.loops, strict=True))
    }
    known: dict[_Value, torch.Tensor] = {}
    for value in values:
        if value.name == "load":
            buffer, place = value.args
            index = sympy.lambdify(list(grid), place)(*grid.values())
            known[value] = memory[buffer][index]
        else:
            args = [known[x] if isinstance(x, _Value) else x for x in value.args]
            known[value] = OPERATIONS[value.name][0](*args)
    full = torch.broadcast_to(known[result], kernel.loops)
    if isinstance(kernel, Reduction):
        full = REDUCTIONS[kernel.kind][0](full.flatten(len(kernel.size)), -1)
    return full.clone(memory_format=torch.contiguous_format)


def to_text(kernel: Pointwise | Reduction) -> str:
    """Return the body as text, a line for each call."""
    values, result = _record(kernel)
    names = {value: f"tmp{number}" for number, value in enumerate(values)}
    text = f"def inner_fn({', '.join(str(symbol) for symbol in symbols(kernel))}):\n"
    for value in values:
        args = ", ".join(names[x] if isinstance(x, _Value) else str(x) for x in value.args)
        text += f"    {names[value]} = ops.{value.name}({args})\n"
    return text + f"    return {names[result]}"


def count(kernel: Pointwise | Reduction) -> Count:
    """Return what the kernel computes, reads, and moves between memory and processor."""
    values, _ = _merged(_record(kernel)[0])
    iterations, elements = prod(kernel.loops), prod(kernel.size)
    flops = iterations if len(kernel.loops) > len(kernel.size) else 0
    reads = set()
    for value in values:
        if value.name == "load":
            buffer, place = value.args
            reads.add((buffer, place))
            moved = [
                times
                for symbol, times in zip(symbols(kernel), kernel.loops, strict=True)
                if sympy.sympify(place).has(symbol)
            ]
            elements += prod(moved)
        elif value.name != "constant":
            flops += iterations
    return Count(flops, frozenset(reads), 8 * elements)


def to_python(kernel: Pointwise | Reduction, output: Buffer) -> str:
    """Return the source of ``kernel(memory)``: loops over numbers that fill `output`."""
    values, result = _record(kernel)
    kept, names = _merged(values)
    last = names[result]
    lines = []
    for value in kept:
        args = [names[x] if isinstance(x, _Value) else x for x in value.args]
        if value.name == "load":
            lines.append(f"{names[value]} = memory[{args[0]!r}][{args[1]}]")
        else:
            lines.append(f"{names[value]} = {OPERATIONS[value.name][1].format(*args)}")
    variables, outer = symbols(kernel), len(kernel.size)
    if isinstance(kernel, Reduction):
        _, start, step = REDUCTIONS[kernel.kind]
        lines.append(f"result = {step.format('result', last)}")
        for place in reversed(range(outer, len(variables))):
            lines = _loop(variables[place], kernel.loops[place], lines)
        lines.insert(0, f"result = {start}")
        last = "result"
    lines.append(f"memory[{output.name!r}][{output.indexer(variables[:outer])}] = {last}")
    for place in reversed(range(outer)):
        lines = _loop(variables[place], kernel.loops[place], lines)
    return "\n    ".join(["def kernel(memory):", *lines])


def _loop(variable: sympy.Symbol, times: int, lines: list[str]) -> list[str]:
    return [f"for {variable} in range({times}):", *(f"    {line}" for line in lines)]
