"""Fill the bubble of a pipeline with gradients that are not urgent.

The previous stage waits for the gradient of your input, I. Only the optimizer waits for the
gradients of your weights, W. Yet ``backward()`` computes both before it returns either. For four
ranks, with one slot per action (a B of 1F1B is I and W, two slots):

    1F1B     9 idle slots on each rank
    yours    3, storing no more micro-batches than rank 0 of 1F1B

1. `LaterWeight`: a linear layer whose backward computes the gradient of its input, and appends a
   function that computes the weight's later.
2. `order`: F, I and W of one rank. A micro-batch is stored from F until its W: no rank may ever
   store more micro-batches than there are ranks.

Begin by drawing the last rank of two, with four micro-batches: F0 I0 F1, and what next?
Afterwards read ``ScheduleInterleavedZeroBubble`` in ``torch/distributed/pipelining/schedules.py``,
and how ``stage_backward_weight`` finds W in any graph, in ``_backward.py`` next to it.
"""

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
        # TODO: later is not a tensor.
        raise NotImplementedError("forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Return the gradient of x, and append a function to `later`.

        When called, it adds the weight's gradient to ``weight.grad``, which may be None; autograd
        must not record that.
        """
        # TODO: one product now, one later.
        raise NotImplementedError("backward")


def order(rank: int, ranks: int, count: int) -> list[Action]:
    """Return what a rank does with `count` >= `ranks` micro-batches; its stage is `rank`."""
    # TODO: F as early as in 1F1B, I as early as possible; how many I are ahead of their W?
    raise NotImplementedError("order")
