"""Save two matrix products with `is`.

nn.MultiheadAttention projects its inputs before it attends, and its output afterwards. Count these
matrix products:

    mha(x, x, x)                        2
    mha(x, x.clone(), x.clone())        4

One product is the output's projection. The values are equal, and so is the result. But three
projections of one object take one product with three stacked weights, and `is` tells you whether
there is one object.

Write `project`, about 7 lines:

    x, x, x    1 product        x, m, m    2 products        otherwise    3

Begin with ``x[:] is x``.
Afterwards read ``_in_projection_packed`` in ``torch/nn/functional.py``, in site-packages.
"""

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
    # TODO: F.linear for inputs that are one object, separate for the rest.
    raise NotImplementedError("project")
