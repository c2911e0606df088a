"""Find the training rows that are to blame for an answer.

A step on a training row changes the loss of a test row by -lr * (gradient of one) . (gradient of
the other), to first order. Add that up over some checkpoints of the training, and you have TracIn:

    influence[test, train] = sum over checkpoints of  lr * g_test . g_train

    > 0   a proponent: a step on this row lowered the test row's loss
    < 0   an opponent: a step raised it; wrong labels are among these

The influence of a row on itself is large where the model must memorize the row: a wrong label.

1. `gradients`: a gradient for each row, in one call, with ``vmap`` of ``grad``.
2. `influence`: for each checkpoint, gradients and one matrix product. About 14 lines in all.

Begin with ``torch.func.functional_call(model, weights, (x[None],))``: a loss of one row, as a
function of the weights.
Afterwards read ``vmap`` in ``torch/_functorch/apis.py``, in site-packages. Real life differs: for a
large model the gradients of all rows do not fit anywhere; Captum's ``TracInCP`` takes all
parameters, ``TracInCPFast`` only the last layer's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Mapping

    from torch import nn

    Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    Rows = tuple[torch.Tensor, torch.Tensor]


def gradients(
    model: nn.Module, weights: Mapping[str, torch.Tensor], loss: Loss, rows: Rows
) -> torch.Tensor:
    """Return the gradients [rows, parameters], flattened and joined in the order of `weights`.

    `rows` are x and y; ``loss(outputs, y)`` is the loss of a batch, here always one row. The
    model is run once, for all rows, with `weights` as its parameters; its own do not change.
    The result has no graph.
    """
    # TODO: torch.func.functional_call, grad, vmap.
    raise NotImplementedError("gradients")


def influence(
    model: nn.Module,
    checkpoints: Iterable[tuple[Mapping[str, torch.Tensor], float]],
    loss: Loss,
    train: Rows,
    test: Rows,
) -> torch.Tensor:
    """Return the influence [test rows, training rows], summed over checkpoints (weights, lr).

    The result has no graph, no matter what requires a gradient.
    """
    # TODO
    raise NotImplementedError("influence")
