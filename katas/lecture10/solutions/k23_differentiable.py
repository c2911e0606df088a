"""Put two graphs back under autograd."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.autograd.function import once_differentiable


if TYPE_CHECKING:
    from collections.abc import Callable


def differentiable(
    forward: Callable[..., Any], backward: Callable[..., Any], num_outputs: int
) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Return ``(*primals) -> outputs``, whose gradients are those that `backward` computes."""

    class Compiled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *primals: torch.Tensor) -> tuple[torch.Tensor, ...]:
            results = forward(*primals)
            ctx.save_for_backward(*results[num_outputs:])
            return results[:num_outputs]

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *tangents: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            return backward(*ctx.saved_tensors, *tangents)

    return Compiled.apply
