"""Write masks and scores for FlexAttention."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    Mask = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
    Score = Callable[
        [torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor
    ]


def causal(b: torch.Tensor, h: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Return whether the key is not after the query. Given."""
    del b, h
    return k <= q


def window(size: int) -> Mask:
    """Return the mask of a query's own key and those before it, `size` keys in all."""
    return lambda _b, _h, q, k: (k <= q) & (q - k < size)


def prefix(lengths: torch.Tensor) -> Mask:
    """Return a causal mask in which every query also sees the first ``lengths[b]`` keys.

    `lengths` is [batch].
    """
    return lambda b, _h, q, k: (k <= q) | (k < lengths[b])


def document(ids: torch.Tensor) -> Mask:
    """Return a causal mask within documents: token i of sample b is in document ``ids[b, i]``."""
    return lambda b, _h, q, k: (k <= q) & (ids[b, q] == ids[b, k])


def alibi(slopes: torch.Tensor) -> Score:
    """Return the score minus ``slopes[h]`` times the distance between query and key.

    A key may be on either side of the query. A score function is called with the score, b, h, q
    and k.
    """
    return lambda score, _b, h, q, k: score - slopes[h] * (q - k).abs()


def shifted(mask: Mask, offset: torch.Tensor) -> Mask:
    """Return a mask whose query i is query ``offset + i`` of `mask`; `offset` has no dims.

    The function reads `offset` when it is called: if `offset` was changed in place, use the new
    value.
    """
    return lambda b, h, q, k: mask(b, h, q + offset, k)
