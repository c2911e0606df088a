"""Attention by hand, to the twelfth digit."""

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
    if enable_gqa:
        share = q.shape[-3] // k.shape[-3]
        k, v = k.repeat_interleave(share, -3), v.repeat_interleave(share, -3)
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -torch.inf)
    elif mask is not None:
        scores = scores + mask
    top = scores.detach().amax(-1, keepdim=True)
    weights = (scores - top.masked_fill(top == -torch.inf, 0.0)).exp()
    total = weights.sum(-1, keepdim=True)
    return weights @ v / total.masked_fill(total == 0, 1.0)
