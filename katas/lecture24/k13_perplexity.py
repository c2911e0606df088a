"""Measure a language model without its logits.

The largest tensor of a language model is often not a weight: 8,192 tokens times 128,000 words
are a billion logits. The loss is one number for each token, and does not need all tokens at once.

    hidden [n, dim] -> logits [n, words] -> loss [n] -> one number

1. `total`: go through the tokens in chunks of `size`. A loop alone is not enough: autograd keeps
   the logits of each chunk for backward. Recompute them in backward instead.
2. `perplexity`: exp of the mean loss per token, over all batches. Keep nothing for backward.

About 12 lines.

Begin on paper: batches of 1 and 9 tokens have mean losses 3 and 1. What is the mean per token?
Afterwards read ``checkpoint`` in ``torch/utils/checkpoint.py``.
Real life differs: ``torch.nn.functional.linear_cross_entropy`` does it in PyTorch 2.13, in chunks
if its options ask for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    # TODO: chunk by chunk; what happens to the logits of each chunk?
    raise NotImplementedError("total")


def perplexity(
    batches: Iterable[tuple[torch.Tensor, torch.Tensor]], weight: torch.Tensor, size: int
) -> float:
    """Return the perplexity of batches of hidden and target; at least one token counts."""
    # TODO: what is a mean per token, over batches of different lengths?
    raise NotImplementedError("perplexity")
