"""Clip a gradient that lies in pieces on several ranks.

Clipping divides by the norm of all gradients together. When they are sharded, no rank can compute
it alone, and a mean of the ranks' norms is another number:

    rank 0    gradient [3]    its norm 3
    rank 1    gradient [4]    its norm 4        of both: 5

Clip by the rank's own norm, and each rank scales its rows by a different factor. There is no error.

1. `total_norm`: the norm of all gradients together, the same on all ranks, by one all-reduce of one
   number.
2. `clip_`: scale each gradient in place. About 12 lines in all.

Some gradients are whole on each rank, as those of a LayerNorm that is not worth sharding. They
count once, however many ranks there are.

Begin on paper: which sum can be added up over ranks, and what is to be done after that?
Real life differs: with an infinite norm and a rank that has no row of a parameter, PyTorch 2.13
raises, on that rank alone; and gloo's MAX loses a NaN unless rank 0 has it.
Afterwards read ``_get_total_norm`` in ``torch/nn/utils/clip_grad.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Sequence


def total_norm(
    sharded: Sequence[torch.Tensor], replicated: Sequence[torch.Tensor], norm_type: float
) -> torch.Tensor:
    """Return the norm of all gradients, a float64 scalar: (sum of ``|g| ** p``) ``** (1 / p)``.

    `sharded` are this rank's rows of each gradient, perhaps none; `replicated` are whole, and
    equal on all ranks; float64. For `norm_type` inf it is the largest magnitude. Without an element
    the norm is 0.
    """
    # TODO: two cases, and one all_reduce in each.
    raise NotImplementedError("total_norm")


def clip_(
    sharded: Sequence[torch.Tensor],
    replicated: Sequence[torch.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
) -> torch.Tensor:
    """Multiply each gradient by ``max_norm / (norm + 1e-6)``, but by at most 1.

    Return the norm from before.
    """
    # TODO: in place.
    raise NotImplementedError("clip_")
