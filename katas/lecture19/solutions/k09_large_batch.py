"""A large contrastive batch in little memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch import nn


def embed(tower: nn.Module, x: torch.Tensor, chunk: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return the embeddings of all rows, without a graph, and the RNG's state before each chunk.

    The tower sees at most `chunk` rows at a time, in order; the last chunk may be smaller. Do not
    change the tower's mode. The RNG is the CPU's.
    """
    parts, states = [], []
    with torch.no_grad():
        for part in x.split(chunk):
            states.append(torch.get_rng_state())
            parts.append(tower(part))
    return torch.cat(parts), states


def slopes(
    loss: Callable[..., torch.Tensor], *embeddings: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return loss(*embeddings) without a graph, and its gradient with respect to each embedding.

    The loss may have parameters of its own, such as a scale: they get their ``.grad`` here.
    Do not modify the given embeddings.
    """
    leaves = [each.detach().requires_grad_() for each in embeddings]
    value = loss(*leaves)
    value.backward()
    return value.detach(), [leaf.grad for leaf in leaves if leaf.grad is not None]


def replay(
    tower: nn.Module,
    x: torch.Tensor,
    chunk: int,
    states: Sequence[torch.Tensor],
    gradient: torch.Tensor,
) -> None:
    """Embed again, with a graph, and add to each parameter's ``.grad``.

    `gradient` is the gradient for all embeddings. Afterwards the RNG is as it was before, and the
    tower's mode does not change.
    """
    rows = zip(x.split(chunk), states, gradient.split(chunk), strict=True)
    with torch.random.fork_rng(devices=()):
        for part, state, slope in rows:
            torch.set_rng_state(state)
            torch.autograd.backward(tower(part), slope)


def step(
    loss: Callable[..., torch.Tensor],
    towers: Sequence[nn.Module],
    inputs: Sequence[torch.Tensor],
    chunk: int,
) -> torch.Tensor:
    """Return the loss of the whole batch, and add its gradient to each parameter's ``.grad``.

    Tower k embeds input k. A tower may occur twice.
    """
    first = [embed(tower, x, chunk) for tower, x in zip(towers, inputs, strict=True)]
    value, gradients = slopes(loss, *(embeddings for embeddings, _ in first))
    for tower, x, (_, states), gradient in zip(towers, inputs, first, gradients, strict=True):
        replay(tower, x, chunk, states, gradient)
    return value
