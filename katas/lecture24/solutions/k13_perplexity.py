"""Measure a language model without its logits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy
from torch.nn.functional import linear
from torch.utils.checkpoint import checkpoint


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
    loss = hidden.new_zeros(())
    for rows, words in zip(hidden.split(size), target.split(size), strict=True):
        loss = loss + checkpoint(part, rows, weight, words, use_reentrant=False)
    return loss, int((target != IGNORED).sum())


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
