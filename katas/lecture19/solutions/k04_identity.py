"""Save two matrix products with `is`."""

from __future__ import annotations

import torch
from torch.nn import functional as F


def separate(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """Return the projected query, key and value, with three products. Given."""
    each = zip((query, key, value), weight.chunk(3), bias.chunk(3), strict=True)
    return tuple(F.linear(*parts) for parts in each)


def project(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """Return what `separate` returns, with one, two or three products.

    Inputs are [..., width]. The weight, [3 * width, width], and the bias stack the parts of query,
    key and value, in this order.
    """
    if key is not value:
        return separate(query, key, value, weight, bias)
    if query is key:
        return F.linear(query, weight, bias).chunk(3, -1)
    first = query.shape[-1]
    projected = F.linear(query, weight[:first], bias[:first])
    return projected, *F.linear(key, weight[first:], bias[first:]).chunk(2, -1)
