"""Send each token to its expert, and back: all-to-all.

A mixture of experts has an expert on each rank, and a router that sends each token to one of them.
How many tokens go from one rank to another changes in every step:

    rank 0    a b c d   -> 0 1 1 1        rank 0 gets   a       e f
    rank 1    e f g     -> 0 0 1          rank 1 gets   b c d   g

So the ranks swap counts first, then tokens, and afterwards results, back to their places.

Write `exchange_tokens`, about 12 lines: ``dist.all_to_all_single`` three times.

- Rows that go to the same rank must be adjacent: sort by expert, and undo that at the end.

Begin with the example: which three numbers does rank 1 need before it can allocate?
Afterwards read ``all_to_all_single`` in ``torch/distributed/distributed_c10d.py``, and its
``input_split_sizes``.
Real life differs: experts have a capacity, and tokens beyond it are dropped.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import distributed as dist


def exchange_tokens(
    tokens: torch.Tensor,
    experts: torch.Tensor,
    expert: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Return each token's result from ``expert``, run on the rank that ``experts[row]`` names.

    `tokens` are (rows, features), a different number of rows on each rank, perhaps none. Call
    `expert`, this rank's own, once, with all tokens that arrive, those of rank 0 first, in their
    order; it keeps their shape. The results are in the order of `tokens`. No autograd.
    """
    # TODO: sort, swap counts, swap tokens, compute, swap back, unsort.
    raise NotImplementedError("exchange_tokens")
