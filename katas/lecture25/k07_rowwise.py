"""Train a table while backward still runs.

Adagrad keeps a number for each number of a table: a 100 GB table then takes 200 GB. Row-wise
Adagrad keeps one number per row. With g the row's gradient:

    state[row]  += mean of g * g over dim
    weight[row] -= lr * g / (sqrt(state[row]) + eps)          with the new state

And the gradients of all tables need not exist at the same time. A hook on the weight runs inside
backward, as soon as its gradient is complete: train there and drop the gradient. No optimizer, no
step.

1. `rowwise_adagrad`: the formula, for the rows of a sparse gradient.
2. `train_in_backward`: a state and a `register_post_accumulate_grad_hook` for each table.
   Together about 13 lines.

- A hook lives as long as its weight. If it refers to the weight or its table, they form a cycle.

Begin on paper: row 5 occurs twice, each time with a gradient of ones. Is its state 2 or 4?
Afterwards see ``register_post_accumulate_grad_hook`` in ``torch/_tensor.py``. FBGEMM fuses the
same formula into its backward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn


def rowwise_adagrad(
    weight: torch.Tensor, gradient: torch.Tensor, state: torch.Tensor, *, lr: float, eps: float
) -> None:
    """Change `weight`, [rows, dim], and `state`, [rows], in place by the rows of the gradient.

    `gradient` is a sparse tensor of the shape of `weight`. It may hold a row several times: add
    those up first. Do not change it. Read and write only rows that it holds; it may hold none.
    """
    # TODO
    raise NotImplementedError("rowwise_adagrad")


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
    # TODO
    raise NotImplementedError("train_in_backward")
