"""A model that is called with other parameters.

How good is a model after one more step? And if it had begun elsewhere? The second question wants
the gradient through the step, and ``optimizer.step()`` has none by default: it writes. So call the
model with parameters that are the results of operators:

    w  ->  loss  ->  grad  ->  w - lr * grad  ->  loss of the stepped model  ->  gradient by w

That is what ``torch.func.functional_call(model, tensors, args)`` is for: the tensors stand in for
the parameters and buffers of those names, in this call. Write

1. `adapted`: some steps, with a graph behind them;
2. `meta_gradients`: where should the model begin, so that one step makes it good?

About 15 lines. Begin with a model of one Linear layer and zero steps.
Afterwards read ``_functional_call`` in ``torch/nn/utils/stateless.py``, in site-packages: what does
it do with the tensors when the call is over, or fails?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it
from torch.func import functional_call  # noqa: F401 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch import nn

    # Computes a scalar by calling what it is given, as one calls the model.
    Loss = Callable[[Callable[..., torch.Tensor]], torch.Tensor]


def adapted(model: nn.Module, loss: Loss, steps: int, lr: float) -> dict[str, torch.Tensor]:
    """Return the tensors of `model` after some steps of plain gradient descent on `loss`.

    These are the parameters that require a gradient, with a graph that leads back to those of
    `model`, through the gradients too, and copies of the buffers, which the calls may write to.
    The model itself is not changed, and no ``.grad`` is.
    """
    # TODO: loss(call), where call(*args) is the model with the present parameters.
    raise NotImplementedError("adapted")


def meta_gradients(
    model: nn.Module, tasks: Sequence[tuple[Loss, Loss]], lr: float
) -> dict[str, torch.Tensor]:
    """Return the gradients by the parameters of `model`, by name, of the mean loss after a step.

    A task has two losses: the step is made on the first, and the second judges its result. Each
    task begins at the parameters of `model`.
    """
    # TODO: one call of adapted for each task.
    raise NotImplementedError("meta_gradients")
