"""Debug: six functions with the right value and the wrong gradient."""

from __future__ import annotations

import torch


def root(x: torch.Tensor) -> torch.Tensor:
    """Return the square root where x is positive, else 0 with a gradient of 0."""
    return torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0)


def length(x: torch.Tensor) -> torch.Tensor:
    """Return the Euclidean length of each row of a matrix; a row of zeros has gradient 0."""
    lengths: torch.Tensor = torch.linalg.vector_norm(x, dim=1)
    return lengths


def log_sigmoid(x: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the sigmoid, for any finite x; its gradient is sigmoid(-x)."""
    return torch.nn.functional.logsigmoid(x)


def rounded(x: torch.Tensor) -> torch.Tensor:
    """Return the nearest multiple of 1/4; the gradient passes through unchanged."""
    return x + ((x * 4).round() / 4 - x).detach()


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Return x, divided by the largest of its elements, which is positive and depends on x."""
    return x / x.max()


def attention(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the softmax of each row over the elements where the mask is True, and 0 elsewhere.

    A row without a True is all 0, and its scores have gradient 0.
    """
    some = mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~mask & some, -torch.inf).softmax(-1)
    return weights * some
