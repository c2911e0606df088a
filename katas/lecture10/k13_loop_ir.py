"""Loop IR: a kernel's body is a function, and a handler says what running it means.

What lowering makes of an operator, in Inductor, is no syntax tree. The body of a kernel is a
Python function of the loops' variables that calls ``ops.load``, ``ops.add``, ``ops.exp`` and so
on. What a call does is decided by the handler that is installed while the body runs: one computes,
one prints, one counts, one writes code. To look into a body is to run it. To put a producer into
its consumer is to call its function: the value in between then never gets a buffer.

``ops``, ``Handler``, ``handling``, ``Reduction``, ``symbols`` and two tables are given; read them
first, and leave them as they are. All data is float64. A body computes an index from the loops'
variables by ``+`` and ``*`` only. Write three methods and five functions; put your handlers
(subclasses of ``Handler``) where you like.

- ``Buffer.indexer(index)``: the sum of index times stride over the dims (0 without dims).
  ``Buffer.make_loader()``: the function of an index that returns ``ops.load(name, place)``.
  ``Pointwise.make_loader()``: the function of an index that computes the value there.
- ``pointwise(name, *inputs)``: the loops of operation `name` over inputs of broadcastable sizes:
  the body asks each input's loader, in order, at an index with as many entries as the input has
  dims, and with 0 for a dim of size 1. A ``Pointwise`` input is so inlined. ``pointwise`` itself
  calls no ``ops``: no handler is installed then.
- ``evaluate(kernel, memory)``: a new contiguous tensor of size ``kernel.size``. `memory` holds the
  flat tensor (1-d) of each buffer, and is not changed. Each call in the body is one call of the
  torch function from the table, for all iterations at once, at most as large as the loops.
- ``to_text(kernel)``: the body, one line for each call, nothing left out, twice what is twice::

      def inner_fn(i0, r0):
          tmp0 = ops.load(x, 4*i0 + r0)
          tmp1 = ops.constant(0.5)
          tmp2 = ops.mul(tmp0, tmp1)
          return tmp2

  The variables are ``symbols(kernel)``; arguments are written by ``str``; there is no last newline,
  and the reduction itself is not a part of the body.
- ``count(kernel)``: a ``Count``. A call with the same name and arguments as an earlier one counts
  no more (0.0 and -0.0 are not the same argument). `flops`: calls other than ``load`` and
  ``constant``, and one for the step of a reduction, times the number of iterations of all loops.
  `reads`: the pairs (name, place) of ``ops.load``, with the places as the body gives them for
  ``symbols(kernel)``. `bytes`: 8 for each element of the result, and for each read 8 times the
  product of the lengths of the loops whose variables are in the place: a loop that does not move
  the place reads it from a cache.
- ``to_python(kernel, output)``: Python source of a function ``kernel(memory)`` that fills `output`
  (a ``Buffer`` of the result's size), where ``memory[name]`` is a flat list of floats. It has one
  ``for`` loop for each of ``kernel.loops``, in that order, and no other; it computes each distinct
  call once in an iteration, by the expressions of the tables, and stores once for each element.
  Of names that are not its own it uses ``memory``, ``math``, ``range``, ``float``, ``max``, ``min``
  and ``abs``, and imports nothing.

Each of the last four runs the body once, whatever the sizes, with a handler of its own installed,
and leaves none installed, also if the body raises.

A body that is inlined twice runs twice: in a chain ``y = y + y`` of n steps, 2 to the n times.
That is why Inductor also *realizes*: it puts a value into a buffer if too much is read or computed
for it, and every reduction. Deciding that is out of scope, as are empty loops of a max,
``reduction_ranges`` without entries, NaN, overflow, and a ``ge`` that is not asked for by
``where``. About 80 lines. Use nothing from ``torch._inductor``, and neither compile nor trace.

In PyTorch: ``torch/_inductor/ir.py`` (``Pointwise``, ``Reduction``, ``Loops.inner_fn_str``),
``torch/_inductor/virtualized.py`` (``V.ops``), ``torch/_inductor/ops_handler.py``
(``DefaultHandler``, ``KernelFormatterHandler``, ``OpCounterCSE``),
``torch/_inductor/dependencies.py`` (``MemoryDep``, whose ``get_numel`` is the product above), and
``torch/_inductor/loop_body.py`` (``LoopBody``: for the scheduler, a handler records the body once,
as an FX graph, which is what runs from then on).
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
        # TODO: the index and the strides give one number, or one expression.
        raise NotImplementedError("Buffer.indexer")

    def make_loader(self) -> Callable[[Sequence[Any]], Any]:
        """Return the function from an index to the value there: it loads."""
        # TODO: return a function that asks ops for it.
        raise NotImplementedError("Buffer.make_loader")


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
        # TODO: there is nothing in memory to load.
        raise NotImplementedError("Pointwise.make_loader")


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
    # TODO: work out the ranges, and how each input's loader is asked at an index of them.
    raise NotImplementedError("pointwise")


def evaluate(kernel: Pointwise | Reduction, memory: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the kernel's result, computed by torch, all iterations at once."""
    # TODO: a handler whose values are tensors; index variables are tensors as well.
    raise NotImplementedError("evaluate")


def to_text(kernel: Pointwise | Reduction) -> str:
    """Return the body as text, a line for each call."""
    # TODO: a handler whose values are the names of variables.
    raise NotImplementedError("to_text")


def count(kernel: Pointwise | Reduction) -> Count:
    """Return what the kernel computes, reads, and moves between memory and processor."""
    # TODO: a handler that knows what was asked before.
    raise NotImplementedError("count")


def to_python(kernel: Pointwise | Reduction, output: Buffer) -> str:
    """Return the source of ``kernel(memory)``: loops over numbers that fill `output`."""
    # TODO: the loops, and in them a line for each distinct call.
    raise NotImplementedError("to_python")
