"""Fill the bubble of a pipeline with gradients that are not urgent."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    # "F", "I" or "W", the stage, the micro-batch.
    Action = tuple[str, int, int]


class LaterWeight(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """``x @ weight.t()``; x is (n, k), weight is (m, k), and both require gradients."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, later: list[Callable[[], None]]
    ) -> torch.Tensor:
        """Return the product, and keep what backward needs."""
        ctx.save_for_backward(x, weight)
        ctx.later = later
        return x @ weight.t()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Return the gradient of x, and append a function to `later`."""
        x, weight = ctx.saved_tensors

        def accumulate() -> None:
            with torch.no_grad():
                gradient = grad.t() @ x
                weight.grad = gradient if weight.grad is None else weight.grad + gradient

        ctx.later.append(accumulate)
        return grad @ weight, None, None


def order(rank: int, ranks: int, count: int) -> list[Action]:
    """Return what a rank does with `count` >= `ranks` micro-batches; its stage is `rank`."""
    lead = ranks - 1 - rank
    actions = [("F", rank, number) for number in range(lead)]
    for number in range(count + rank):
        turn = [("F", number + lead), ("I", number), ("W", number - rank)]
        actions += [(kind, rank, each) for kind, each in turn if 0 <= each < count]
    return actions
