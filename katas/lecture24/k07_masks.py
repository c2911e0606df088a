"""Write masks and scores for FlexAttention.

A mask is a function that says for (batch, head, query, key) whether the pair is allowed; a score
function changes a pair's score. So a new kind of attention is a few lines of Python, and no new
kernel:

    mask = create_block_mask(window(4), None, None, L, S, device="cpu")
    flex_attention(q, k, v, score_mod=alibi(slopes), block_mask=mask)

Each function below returns such a function; `causal` is given.

1. `window`, `prefix`, `document`: three masks.
2. `alibi`: a score function. It subtracts a slope times the distance: distant keys weigh less.
3. `shifted`: the mask of a decode step, whose query 0 is the token at a position held in a tensor.
About 15 lines. q, k, b and h are tensors without values: no `if`, no `and`.

Begin on paper: a cache of 16 keys, and one query. What does `causal` let it see?
Afterwards read ``torch/nn/attention/flex_attention.py``, in site-packages. Real life differs: masks
are compiled, one kernel for each; and on a CPU no input may require a gradient.
"""

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
    # TODO
    raise NotImplementedError("window")


def prefix(lengths: torch.Tensor) -> Mask:
    """Return a causal mask in which every query also sees the first ``lengths[b]`` keys.

    `lengths` is [batch].
    """
    # TODO
    raise NotImplementedError("prefix")


def document(ids: torch.Tensor) -> Mask:
    """Return a causal mask within documents: token i of sample b is in document ``ids[b, i]``."""
    # TODO
    raise NotImplementedError("document")


def alibi(slopes: torch.Tensor) -> Score:
    """Return the score minus ``slopes[h]`` times the distance between query and key.

    A key may be on either side of the query. A score function is called with the score, b, h, q
    and k.
    """
    # TODO
    raise NotImplementedError("alibi")


def shifted(mask: Mask, offset: torch.Tensor) -> Mask:
    """Return a mask whose query i is query ``offset + i`` of `mask`; `offset` has no dims.

    The function reads `offset` when it is called: if `offset` was changed in place, use the new
    value.
    """
    # TODO
    raise NotImplementedError("shifted")
