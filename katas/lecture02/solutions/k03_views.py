"""View or copy? Predict where fifteen expressions find their elements."""

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
    view, copy = True, False
    return {
        "select": Prediction(view, (4, 1), 12),
        "steps": Prediction(view, (12, 4, 2), 1),
        "list": Prediction(copy, (8, 4, 1), 0),
        "transpose": Prediction(view, (1, 4, 12), 0),
        # A step along the diagonal is a step along both dims at once.
        "diagonal": Prediction(view, (1, 16), 0),
        "expand": Prediction(view, (0, 12, 4, 1), 0),
        "repeat": Prediction(copy, (12, 4, 1), 0),
        # Strides cannot be negative, so reversing a dim takes a copy.
        "flip": Prediction(copy, (12, 4, 1), 0),
        "chunk": Prediction(view, (12, 4, 1), 8),
        "flatten a transpose": Prediction(copy, (1,), 0),
        # 4 is split into 2 by 2, which needs no copy.
        "reshape a transpose": Prediction(view, (12, 2, 1, 4), 0),
        "contiguous": Prediction(view, (12, 4, 1), 0),
        "contiguous transpose": Prediction(copy, (8, 4, 1), 0),
        # One int64 is two adjacent int32.
        "other bits": Prediction(view, (24, 8, 1), 0),
        # An elementwise result keeps the memory layout of its input, the transpose.
        "sum with zero": Prediction(copy, (12, 1, 4), 0),
    }
