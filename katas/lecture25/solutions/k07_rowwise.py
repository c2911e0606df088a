"""Train a table while backward still runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn


@torch.no_grad()
def rowwise_adagrad(
    weight: torch.Tensor, gradient: torch.Tensor, state: torch.Tensor, *, lr: float, eps: float
) -> None:
    """Change `weight`, [rows, dim], and `state`, [rows], in place by the rows of the gradient.

    `gradient` is a sparse tensor of the shape of `weight`. It may hold a row several times: add
    those up first. Do not change it. Read and write only rows that it holds; it may hold none.
    """
    gradient = gradient.coalesce()
    rows, values = gradient.indices()[0], gradient.values()
    state[rows] += values.square().mean(1)
    weight[rows] -= lr * values / (state[rows].sqrt() + eps)[:, None]


def train_in_backward(
    tables: Sequence[nn.Embedding | nn.EmbeddingBag], *, lr: float, eps: float = 1e-8
) -> list[torch.Tensor]:
    """Make each backward train these tables, and return their states, initially zeros.

    A state has one number per row, and the dtype and device of its table's weight. When a table's
    gradient is ready, train its rows, and set its weight's `grad` to None. Tables
    and states are freed with the last reference to them, without the garbage collector. The tables
    have sparse gradients. Also train under `backward(create_graph=True)`, when the hook runs with
    grad mode on.
    """
    states = []
    for table in tables:
        state = table.weight.detach().new_zeros(len(table.weight))

        def hook(weight: torch.Tensor, state: torch.Tensor = state) -> None:
            rowwise_adagrad(weight, weight.grad, state, lr=lr, eps=eps)
            weight.grad = None

        table.weight.register_post_accumulate_grad_hook(hook)
        states.append(state)
    return states
