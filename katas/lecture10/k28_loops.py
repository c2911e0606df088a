"""A kernel's body is a function, and nobody has decided what running it means.

What lowering makes of an operator, in Inductor, is no syntax tree. It is a Python function of the
loops' variables that calls ``ops.load``, ``ops.mul`` and so on. A *handler*, installed while the
body runs, decides what each call means: one computes, one prints, one writes code.

    pointwise("mul", x, row)           def inner_fn(i0, i1):
    with the handler that prints           tmp0 = ops.load(x, 4*i0 + i1)
                                           tmp1 = ops.load(row, i1)
                                           tmp2 = ops.mul(tmp0, tmp1)
                                           return tmp2

To put a producer into its consumer is to call its function: no buffer in between.

1. The loaders: of a `Buffer` (it loads), of a `Pointwise` (it computes).
2. `pointwise`: broadcasting is a matter of indices. No handler is installed then.
3. `to_text`: a handler whose values are names.

About 25 lines. Open ``loops.py`` beside this file for `Handler`, ``ops`` and `handling`, all above
`Buffer`; what comes below is the answer, but for `Reduction` and `symbols`: open it afterwards.

Begin on paper: at which index is a (4,) row asked for element (i0, i1)?
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
        """Return the place of element `index`: the sum of index times stride, 0 without dims."""
        # TODO: the index and the strides give one number, or one expression.
        raise NotImplementedError("Buffer.indexer")

    def make_loader(self) -> Callable[[Sequence[Any]], Any]:
        """Return the function from an index to ``ops.load(name, place)``."""
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


def pointwise(name: str, *inputs: Buffer | Pointwise) -> Pointwise:
    """Return the loops of ``ops.name`` over inputs of broadcastable sizes.

    The body asks each input's loader, in order, at an index with as many entries as the input has
    dims, and with 0 for a dim of size 1. Nothing is computed yet.
    """
    # TODO: work out the ranges, and how each input's loader is asked at an index of them.
    raise NotImplementedError("pointwise")


def to_text(kernel: Pointwise | Reduction) -> str:
    """Return the body as in the picture, a line for each call, also for a repeated one.

    The variables are ``symbols(kernel)``, a value is the name of its variable, arguments are
    written by ``str``. There is no last newline, and the body runs once, under a handler that is
    gone after.
    """
    # TODO: a handler whose values are the names of variables.
    raise NotImplementedError("to_text")
