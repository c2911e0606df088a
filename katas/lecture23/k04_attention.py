"""Attention by hand, to the twelfth digit.

Everybody can write softmax(q k' / sqrt(d)) v. That agrees with PyTorch until somebody passes a
padded row, eight query heads for two key heads, or a custom scale:

    q     [..., H, L, E]
    k     [..., G, S, E]       S keys for L queries
    v     [..., G, S, Ev]      the result is [..., H, L, Ev]

Write `attend`, about 12 lines, to match ``scaled_dot_product_attention`` in float32 and float64.

- A bool mask is True where a query may look. A float mask is added to the scaled scores.
- A query that may look nowhere gets 0, and its gradients are 0. The obvious code gives NaN.
- With `enable_gqa`, H is a multiple of G, and neighbouring query heads share a key head.

Begin on paper: what is softmax of [-inf, -inf], and what should you divide by instead?
Afterwards see ``scaled_dot_product_attention`` in ``torch/nn/functional.py``, in site-packages: its
docstring contains a version of these lines.
"""

from __future__ import annotations

import torch


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    mask: torch.Tensor | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Return what each query [..., H, L, E] reads from v: the values, weighted over the S keys.

    `mask` is broadcast to [..., H, L, S]; `scale` is 1 / sqrt(E) unless it is given. Without
    `enable_gqa`, leading dims broadcast.
    """
    # TODO
    raise NotImplementedError("attend")
