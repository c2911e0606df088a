"""A kernel's body is a function, and nobody has decided what running it means.

In Inductor an operator is not lowered to a syntax tree, but to a Python function of the
loops' variables that calls ``ops.load``, ``ops.mul`` and so on. A *handler*, installed while the
body runs, decides what each call means: one computes, one prints, one writes code.

    pointwise("mul", x, row)           def inner_fn(i0, i1):
    with the handler that prints           tmp0 = ops.load(x, 4*i0 + i1)
                                           tmp1 = ops.load(row, i1)
                                           tmp2 = ops.mul(tmp0, tmp1)
                                           return tmp2

To put a producer into its consumer, call its function: there is no buffer in between.

1. The loaders of a `Buffer` (it loads) and of a `Pointwise` (it computes).
2. `pointwise`: broadcasting is a matter of indices. No handler is installed yet.
3. `to_text`: a handler whose values are names.

About 25 lines. Open ``loops.py`` next to this file for `Handler`, ``ops`` and `handling`, all above
`Buffer`; what is below, except `Reduction` and `symbols`, is the answer: read it afterwards.

Begin on paper: for element (i0, i1), at which index is a (4,) row read?
Afterwards read ``Pointwise`` in ``torch/_inductor/ir.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import torch

from katas.lecture10.loops import Handler
from katas.lecture10.loops import handling
from katas.lecture10.loops import ops
from katas.lecture10.loops import symbols


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from katas.lecture10.loops import Reduction


@dataclass(frozen=True)
class Buffer:
    """A float64 tensor in memory, known by name. Its memory is flat."""

    name: str
    size: tuple[int, ...]
    stride: tuple[int, ...]

    def indexer(self, index: Sequence[Any]) -> Any:
        """Return the position of element `index`: the sum of index times stride, 0 without dims."""
        # TODO: turn the index and the strides into one number, or one expression.
        raise NotImplementedError("Buffer.indexer")

    def make_loader(self) -> Callable[[Sequence[Any]], Any]:
        """Return a function that takes an index and calls ``ops.load(name, position)``."""
        # TODO: return a function that calls ops.load.
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
        """Return a function that takes an index and computes the value there."""
        # TODO: there is nothing in memory to load.
        raise NotImplementedError("Pointwise.make_loader")


def pointwise(name: str, *inputs: Buffer | Pointwise) -> Pointwise:
    """Return the loops of ``ops.name`` over inputs of broadcastable sizes.

    The body calls each input's loader, in order, at an index with as many entries as the input has
    dims, and with 0 for a dim of size 1. Nothing is computed yet.
    """
    # TODO: work out the ranges, and the index at which each input's loader is called.
    raise NotImplementedError("pointwise")


def to_text(kernel: Pointwise | Reduction) -> str:
    """Return the body as in the picture, one line for each call, even a repeated one.

    The variables are ``symbols(kernel)``, a value is the name of its variable, arguments are
    written by ``str``. Add no final newline, and run the body once, under a handler that is removed
    afterwards.
    """
    # TODO: a handler whose values are the names of variables.
    raise NotImplementedError("to_text")
