"""Row-wise Adagrad by index_add_, its hooks by partial."""

from __future__ import annotations

from functools import partial
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
    rows, values = gradient.indices().flatten(), gradient.values()
    state.index_add_(0, rows, values.pow(2).sum(1) / weight.shape[1])
    step = values / (state.index_select(0, rows).sqrt() + eps).unsqueeze(1)
    weight.detach().index_add_(0, rows, step, alpha=-lr)


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
    states = [torch.zeros_like(table.weight[:, 0], requires_grad=False) for table in tables]
    for table, state in zip(tables, states, strict=True):
        table.weight.register_post_accumulate_grad_hook(partial(train, state, lr, eps))
    return states


def train(state: torch.Tensor, lr: float, eps: float, weight: torch.Tensor) -> None:
    """Train a weight by its gradient."""
    gradient, weight.grad = weight.grad, None
    if gradient is not None:
        rowwise_adagrad(weight, gradient, state, lr=lr, eps=eps)
