"""Find the training rows that are to blame for an answer."""

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

    def of_row(params: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return loss(torch.func.functional_call(model, params, (x[None],)), y[None])

    each = torch.func.vmap(torch.func.grad(of_row), in_dims=(None, 0, 0))(dict(weights), *rows)
    return torch.cat([each[name].flatten(1) for name in weights], 1).detach()


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
    found = []
    for weights, rate in checkpoints:
        ours, theirs = (gradients(model, weights, loss, rows) for rows in (test, train))
        found.append(rate * ours @ theirs.t())
    return torch.stack(found).sum(0)
