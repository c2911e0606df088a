"""View or copy? Predict where fifteen expressions find their elements.

``y = x[:, [0, 1]]; y.zero_()`` leaves `x` alone, ``y = x[:, 0:2]; y.zero_()`` does not. You have
probably met this bug. Each expression in `EXPRESSIONS` starts from

    x = torch.arange(24).reshape(2, 3, 4)        # int64, strides (12, 4, 1), storage offset 0

Write down one `Prediction` for each, without running it.

- A view changes only strides and offset. If constant steps of 0 or more cannot reach the elements,
  they are copied.
- Strides and offset count elements of the *result's* dtype.
- The copies here are row-major, except the result of an elementwise operator, which keeps its
  input's order of dims in memory. (Others may also keep it: ``x.transpose(0, 2)[:, [0, 1]]``.)

Begin on paper: draw 24 positions, and mark those of ``x[..., 1::2]``. A failure shows the rule of
a wrong row, never the answer; your rows cannot call torch.
Afterwards: "Tensor Views" in the documentation, and ``aten/src/ATen/native/TensorShape.cpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Prediction:
    """Where the elements of a result are.

    `shares` is True for a result in the storage of `x` (a view, or `x` itself), False for a copy.
    """

    shares: bool
    strides: tuple[int, ...]
    offset: int


# Given: do not change.
EXPRESSIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "select": lambda x: x[1],
    "steps": lambda x: x[..., 1::2],
    "list": lambda x: x[:, [0, 1]],
    "transpose": lambda x: x.transpose(0, 2),
    "diagonal": lambda x: x.diagonal(0, 0, 1),
    "expand": lambda x: x.expand(5, 2, 3, 4),
    "repeat": lambda x: x.repeat(1, 1, 1),
    "flip": lambda x: x.flip(0),
    "chunk": lambda x: x.chunk(3, dim=1)[2],
    "flatten a transpose": lambda x: x.transpose(1, 2).flatten(),
    "reshape a transpose": lambda x: x.transpose(1, 2).reshape(2, 2, 2, 3),
    "contiguous": lambda x: x.contiguous(),
    "contiguous transpose": lambda x: x.transpose(0, 1).contiguous(),
    "other bits": lambda x: x.view(torch.int32),
    "sum with zero": lambda x: x.mT + 0,
}


def predictions() -> dict[str, Prediction]:
    """Return a `Prediction` for every name in `EXPRESSIONS`."""
    # TODO: 15 rows, return {"select": Prediction(shares=..., strides=(...), offset=...), ...}
    raise NotImplementedError("predictions")
