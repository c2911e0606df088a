"""View or copy? Predict where twenty-one expressions find their elements.

All of them start from the same tensor::

    x = torch.arange(24).reshape(2, 3, 4)        # int64, strides (12, 4, 1), storage offset 0

For each expression in `EXPRESSIONS` (given, do not change it) write down, without running it,

- `shares`: True if the result looks at the storage of `x` (a view, or `x` itself), False if
  its elements were copied into a storage of their own,
- `strides`: the strides of the result, in elements of the result's dtype,
- `offset`: its storage offset, likewise.

Basic indexing (an int, a slice, ``None``, ``...``) only moves and scales strides, so it is a
view; the dim of size 1 that ``None`` adds gets the stride times the size of the dim behind it,
though nothing ever steps through it. Indexing by a list or a mask collects elements, so it
copies. ``reshape`` and ``flatten`` are views where strides allow it (kata k08 works that out). A
fresh result has strides of its own, usually row-major ones; operators that work element by
element keep the order of the dims of their input in memory. Indexing by a list along a dim gives
a row-major result here.

Return one `Prediction` for every name. 21 lines, pencil and paper: the tests run PyTorch, and take
it away while they read yours.

In PyTorch: ``torch/_tensor_docs.py`` says which methods are views, and "Tensor Views" in the
documentation lists them; ``aten/src/ATen/native/TensorShape.cpp`` (``transpose``, ``select``,
``expand``, ``reshape``) is where the strides are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Prediction:
    """Where a result finds its elements."""

    shares: bool
    strides: tuple[int, ...]
    offset: int


# Given: do not change.
EXPRESSIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "select": lambda x: x[1],
    "slice": lambda x: x[:, 1:],
    "steps": lambda x: x[..., 1::2],
    "list": lambda x: x[:, [0, 1]],
    "mask": lambda x: x[x > 3],
    "newaxis": lambda x: x[:, None],
    "transpose": lambda x: x.transpose(0, 2),
    "diagonal": lambda x: x.diagonal(0, 0, 1),
    "expand": lambda x: x.expand(5, 2, 3, 4),
    "repeat": lambda x: x.repeat(1, 1, 1),
    "flip": lambda x: x.flip(0),
    "chunk": lambda x: x.chunk(3, dim=1)[2],
    "reshape": lambda x: x.reshape(6, 4),
    "flatten a transpose": lambda x: x.transpose(1, 2).flatten(),
    "reshape a transpose": lambda x: x.transpose(1, 2).reshape(2, 2, 2, 3),
    "contiguous": lambda x: x.contiguous(),
    "contiguous transpose": lambda x: x.transpose(0, 1).contiguous(),
    "same dtype": lambda x: x.to(torch.int64),
    "other dtype": lambda x: x.to(torch.float32),
    "other bits": lambda x: x.view(torch.int32),
    "sum with zero": lambda x: x.mT + 0,
}


def predictions() -> dict[str, Prediction]:
    """Return a `Prediction` for every name in `EXPRESSIONS`."""
    # TODO: return {"select": Prediction(shares=..., strides=(...), offset=...), ...}
    raise NotImplementedError("predictions")
