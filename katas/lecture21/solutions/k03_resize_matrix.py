"""A resize is a matrix, and its backward is the transpose."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.nn.functional import interpolate


if TYPE_CHECKING:
    from collections.abc import Callable

    Resize = Callable[[torch.Tensor], torch.Tensor]


def resizer(length: int, mode: str, **options: Any) -> Resize:
    """Return a function that resizes each row of a matrix [rows, size] to `length` (given)."""
    return lambda x: interpolate(x[:, None, None], (1, length), mode=mode, **options)[:, 0, 0]


def forward(resize: Resize, size: int) -> torch.Tensor:
    """Return the float64 matrix R, [length, size], of the resize, from its forward alone."""
    return resize(torch.eye(size, dtype=torch.float64)).T


def backward(resize: Resize, size: int) -> torch.Tensor:
    """Return the float64 matrix R, [length, size], from the backward alone.

    The values of y may be wrong; only its shape is used.
    """
    length = len(forward(resize, size))
    x = torch.zeros(length, size, dtype=torch.float64, requires_grad=True)
    (rows,) = torch.autograd.grad(resize(x), x, torch.eye(length))
    return rows


def resized(image: torch.Tensor, down: torch.Tensor, across: torch.Tensor) -> torch.Tensor:
    """Return an image [..., h, w] as [..., H, W].

    `down`, [H, h], resizes its columns, and `across`, [W, w], its rows.
    """
    return down @ image @ across.T


def gradient(grad: torch.Tensor, down: torch.Tensor, across: torch.Tensor) -> torch.Tensor:
    """Return the gradient of `image`, [..., h, w], from that of the result, without autograd."""
    return down.T @ grad @ across


def unread(matrix: torch.Tensor) -> list[int]:
    """Return the inputs that no output reads, in ascending order."""
    return [j for j, column in enumerate(matrix.T) if not column.any()]
