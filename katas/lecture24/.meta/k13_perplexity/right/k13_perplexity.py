"""Measure a language model without its logits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.nn.functional import linear


if TYPE_CHECKING:
    from collections.abc import Iterable


IGNORED = -100


def part(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the summed loss of some tokens, computed from their logits: given.

    A target of -100 does not count.
    """
    return cross_entropy(linear(hidden, weight), target, ignore_index=IGNORED, reduction="sum")


def total(
    hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor, size: int
) -> tuple[torch.Tensor, int]:
    """Return the summed loss of hidden [n, dim], and the number of tokens that count.

    `weight` is [words, dim], `target` int64 [n]. No result in forward or backward holds the logits
    of more than `size` tokens. `hidden` and `weight` get their gradients.
    """
    return Chunked.apply(hidden, weight, target, size), int((target != IGNORED).sum())


class Chunked(torch.autograd.Function):
    """The gradients are made in forward, chunk by chunk; backward only scales them."""

    @staticmethod
    def forward(
        ctx: Any, hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor, size: int
    ) -> torch.Tensor:
        """Return the summed loss."""
        loss = hidden.new_zeros(())
        towards, upon = torch.zeros_like(hidden), torch.zeros_like(weight)
        for start in range(0, len(hidden), size):
            rows, words = hidden[start : start + size], target[start : start + size]
            kept = words != IGNORED
            words = words.clamp(min=0)[:, None]
            logs = torch.log_softmax(rows @ weight.T, 1)
            loss = loss - (logs.gather(1, words)[:, 0] * kept).sum()
            grad = logs.exp()
            grad.scatter_add_(1, words, -torch.ones_like(words).to(grad))
            grad = grad * kept[:, None]
            towards[start : start + size] = grad @ weight
            upon += grad.T @ rows
        ctx.save_for_backward(towards, upon)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return the gradients of hidden and weight."""
        towards, upon = ctx.saved_tensors
        return grad * towards, grad * upon, None, None


def perplexity(
    batches: Iterable[tuple[torch.Tensor, torch.Tensor]], weight: torch.Tensor, size: int
) -> float:
    """Return the perplexity of batches of hidden and target; at least one token counts."""
    loss, tokens = 0.0, 0
    with torch.no_grad():
        for hidden, target in batches:
            one, count = total(hidden, weight, target, size)
            loss += one.item()
            tokens += count
    return math.exp(loss / tokens)
