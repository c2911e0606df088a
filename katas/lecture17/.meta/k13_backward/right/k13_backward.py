"""The same with indexing, and with operators that know the bad points."""

from __future__ import annotations

import torch


def root(x: torch.Tensor) -> torch.Tensor:
    """Return the square root where x is positive, else 0 with a gradient of 0."""
    positive = x > 0
    found = torch.zeros_like(x)
    found[positive] = x[positive].sqrt()
    return found


def length(x: torch.Tensor) -> torch.Tensor:
    """Return the Euclidean length of each row of a matrix; a row of zeros has gradient 0."""
    return root((x * x).sum(1))


def log_sigmoid(x: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the sigmoid, for any finite x; its gradient is sigmoid(-x)."""
    return -torch.logaddexp(torch.zeros_like(x), -x)


def rounded(x: torch.Tensor) -> torch.Tensor:
    """Return the nearest multiple of 1/4; the gradient passes through unchanged."""
    with torch.no_grad():
        moved = (x * 4).round() / 4 - x
    return x + moved


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Return x, divided by the largest of its elements, which is positive and depends on x."""
    return x / x.max()


def attention(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the softmax of each row over the elements where the mask is True, and 0 elsewhere.

    A row without a True is all 0, and its scores have gradient 0.
    """
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0.0)
