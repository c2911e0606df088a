"""Fill the bubble of a pipeline: the product when it is called, and actions chosen one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    Action = tuple[str, int, int]


class LaterWeight(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """``x @ weight.t()``; x is (n, k), weight (m, k), and both want a gradient."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, later: list[Callable[[], None]]
    ) -> torch.Tensor:
        """Return the product, and keep what backward needs."""
        ctx.save_for_backward(x, weight)
        ctx.later = later
        return torch.nn.functional.linear(x, weight)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Return the gradient of x, and append a function to `later`."""
        x, weight = ctx.saved_tensors

        def accumulate() -> None:
            gradient = torch.einsum("nm,nk->mk", grad.detach(), x.detach())
            if weight.grad is None:
                weight.grad = gradient
            else:
                weight.grad += gradient

        ctx.later.append(accumulate)
        return torch.mm(grad, weight), None, None


def order(rank: int, ranks: int, count: int) -> list[Action]:
    """Return what a rank does with `count` micro-batches, at least `ranks`; its stage is `rank`."""
    actions: list[Action] = []
    lead = ranks - 1 - rank
    forwards = inputs = weights = 0
    while weights < count:
        if forwards < min(count, inputs + lead + 1) and forwards - weights < ranks:
            actions.append(("F", rank, forwards))
            forwards += 1
        elif inputs < forwards:
            actions.append(("I", rank, inputs))
            inputs += 1
            if inputs - weights > rank:
                actions.append(("W", rank, weights))
                weights += 1
        else:
            actions.append(("W", rank, weights))
            weights += 1
    return actions
