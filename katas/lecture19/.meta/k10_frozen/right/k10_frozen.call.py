"""Debug: frozen is not still."""

from __future__ import annotations

from typing import Self

import torch
from torch import nn


class Frozen(nn.Module):
    """A pretrained tower that computes as in eval mode, whatever mode the model around it is in.

    Its output for a row depends only on that row, and using it changes nothing in it. Gradients
    pass through it to x.
    """

    def __init__(self, tower: nn.Module) -> None:
        super().__init__()
        self.tower = tower.requires_grad_(requires_grad=False).eval()

    def train(self, mode: bool = True) -> Self:  # noqa: FBT001, FBT002
        """Return this module; ``train()`` and ``eval()`` of an enclosing model call this method."""
        return super().train(mode=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the features."""
        features: torch.Tensor = self.tower(x)
        return features


def freeze(layer: nn.Module) -> None:
    """Freeze a layer that was already trained: from here on `update` leaves it exactly as it is."""
    layer.requires_grad_(requires_grad=False)
    layer.zero_grad()


def update(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """Take a step with the gradient of `loss`, added to gradients that are already there.

    The optimizer has the parameters of frozen layers too. Afterwards each ``.grad`` is None or 0.
    """
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)


def prompted(encoder: nn.Module, prompt: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return the encoder's output for the rows of `prompt`, followed by each of the samples `x`.

    The encoder is frozen and stays frozen. The prompt [length, dims] is learned; x is [samples,
    length, dims].
    """
    before = prompt.expand(len(x), *prompt.shape)
    y: torch.Tensor = encoder(torch.cat([before, x], dim=1))
    return y


def words(table: nn.Embedding, tokens: torch.Tensor) -> torch.Tensor:
    """Return the rows of `tokens`, each shortened to the table's ``max_norm`` if it is longer.

    Measure length in the table's ``norm_type``. Everything else works as in the table itself, but
    do not write to the table. A thawed table can be learned; you may choose the gradient of a
    shortened row.
    """
    copy = {"weight": table.weight.clone()}
    rows: torch.Tensor = torch.func.functional_call(table, copy, (tokens,))
    return rows
