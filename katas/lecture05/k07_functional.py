"""Call a model with different parameters.

How good is a model after one more step? What if it had started elsewhere? The second question needs
the gradient through the step, and ``optimizer.step()`` has none by default, because it writes in
place. So call the model with parameters that are results of operators:

    w  ->  loss  ->  grad  ->  w - lr * grad  ->  loss of the stepped model  ->  gradient of w

That is what ``torch.func.functional_call(model, tensors, args)`` is for: the tensors replace the
parameters and buffers of those names, in this call. Write

1. `adapted`: take some steps, and record their graph;
2. `meta_gradients`: where should the model start, so that one step makes it good?

About 15 lines. Begin with a model of one Linear layer and zero steps.
Afterwards read ``_functional_call`` in ``torch/nn/utils/stateless.py``, in site-packages: what does
it do with the tensors when the call returns or fails?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.func import functional_call


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch import nn

    # Computes a scalar by calling its argument as it would call the model.
    Loss = Callable[[Callable[..., torch.Tensor]], torch.Tensor]


def adapted(model: nn.Module, loss: Loss, steps: int, lr: float) -> dict[str, torch.Tensor]:
    """Return the tensors of `model` after some steps of plain gradient descent on `loss`.

    Return the parameters that require a gradient, with a graph back to those of `model`, including
    through the gradients, and copies of the buffers, which the calls may write to. Change neither
    the model nor any ``.grad``.
    """
    # TODO: loss(call), where call(*args) runs the model with the current parameters.
    raise NotImplementedError("adapted")


def meta_gradients(
    model: nn.Module, tasks: Sequence[tuple[Loss, Loss]], lr: float
) -> dict[str, torch.Tensor]:
    """Return the gradients of the mean loss after a step, by parameter name of `model`.

    A task has two losses: take the step on the first, and evaluate the result with the second. Each
    task starts from the parameters of `model`.
    """
    # TODO: one call of adapted for each task.
    raise NotImplementedError("meta_gradients")
