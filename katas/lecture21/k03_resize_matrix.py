"""A resize is a matrix, and its backward is the transpose.

No weight of a resize depends on a pixel's value, so each output is a weighted sum of inputs. Four
pixels to two, with ``nearest``:

    y = R x      R = 1 0 0 0        row i: what output i reads
                     0 0 1 0        column j: who reads input j; nobody reads inputs 1 and 3

Nobody shows you R. Read it off, from outside, in two ways:

1. `forward`: resize a one-hot input, and you see a column.
2. `backward`: the gradient of one output is a row. Rows of a batch are resized independently, so
   one call of ``torch.autograd.grad`` gives all rows.
3. `resized` and `gradient`: an image has one matrix for each direction.
4. `unread`: the inputs that no output reads. They get no gradient either.

About 8 lines.

Begin with ``print(resizer(3, "bilinear")(torch.eye(7)))``: what does it lack?
Afterwards find ``upsample_bilinear2d`` in ``tools/autograd/derivatives.yaml``, in PyTorch's
repository. Real life differs: kernels compute the weights and store no matrix.
"""

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
    # TODO: one call.
    raise NotImplementedError("forward")


def backward(resize: Resize, size: int) -> torch.Tensor:
    """Return the float64 matrix R, [length, size], from the backward alone.

    The values of y may be wrong; only its shape is used.
    """
    # TODO: find the length first.
    raise NotImplementedError("backward")


def resized(image: torch.Tensor, down: torch.Tensor, across: torch.Tensor) -> torch.Tensor:
    """Return an image [..., h, w] as [..., H, W].

    `down`, [H, h], resizes its columns, and `across`, [W, w], its rows.
    """
    # TODO
    raise NotImplementedError("resized")


def gradient(grad: torch.Tensor, down: torch.Tensor, across: torch.Tensor) -> torch.Tensor:
    """Return the gradient of `image`, [..., h, w], from that of the result, without autograd."""
    # TODO: transposes.
    raise NotImplementedError("gradient")


def unread(matrix: torch.Tensor) -> list[int]:
    """Return the inputs that no output reads, in ascending order."""
    # TODO
    raise NotImplementedError("unread")
