"""Clip gradients that are spread over several ranks.

Clipping divides by the norm of all gradients together. When they are sharded, no rank can compute
it alone, and the mean of the ranks' norms is not the norm:

    rank 0    gradient [3]    its norm 3
    rank 1    gradient [4]    its norm 4        together: 5

If each rank clips by its own norm, each scales its rows by a different factor, without any error.

1. `total_norm`: the norm of all gradients together, equal on all ranks, with one all-reduce of one
   number.
2. `clip_`: scale each gradient in place. About 12 lines in all.

Some gradients are replicated on each rank, such as those of a LayerNorm that is not worth sharding.
Count them once, however many ranks there are.

Begin on paper: which quantity can be summed over ranks, and what remains to be done afterwards?
Real life differs: for the infinity norm, PyTorch 2.13 raises on a rank without a row of a
parameter, and only there; and gloo's MAX loses a NaN unless rank 0 has it.
Afterwards read ``_get_total_norm`` in ``torch/nn/utils/clip_grad.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


def total_norm(
    sharded: Sequence[torch.Tensor], replicated: Sequence[torch.Tensor], norm_type: float
) -> torch.Tensor:
    """Return the norm of all gradients, a float64 scalar: (sum of ``|g| ** p``) ``** (1 / p)``.

    `sharded` are this rank's rows of each gradient, perhaps none; `replicated` are whole and equal
    on all ranks. All are float64. For `norm_type` inf, return the largest magnitude. The norm of no
    elements is 0.
    """
    # TODO: two cases, with one all_reduce each.
    raise NotImplementedError("total_norm")


def clip_(
    sharded: Sequence[torch.Tensor],
    replicated: Sequence[torch.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
) -> torch.Tensor:
    """Multiply each gradient by ``max_norm / (norm + 1e-6)``, but at most by 1.

    Return the norm before clipping.
    """
    # TODO: in place.
    raise NotImplementedError("clip_")
