"""A kernel's body is a function, and nobody has decided what running it means."""

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
        return self.inner_fn


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


class _Lines(Handler):
    """A value is a variable's name; each call is a line that assigns the next one."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def default(self, name: str, args: tuple[Any, ...]) -> str:
        variable = f"tmp{len(self.lines)}"
        self.lines.append(f"{variable} = ops.{name}({', '.join(map(str, args))})")
        return variable


def to_text(kernel: Pointwise | Reduction) -> str:
    """Return the body as text, a line for each call."""
    variables, handler = symbols(kernel), _Lines()
    with handling(handler):
        result = kernel.body(variables)
    head = f"def inner_fn({', '.join(map(str, variables))}):"
    return "\n    ".join([head, *handler.lines, f"return {result}"])
