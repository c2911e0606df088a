"""All pairs, with and without the pairs.

A recommender such as DLRM takes the dot product of each pair of feature vectors. `bmm` computes all
n * n of them; the model keeps those below the diagonal:

    . . . .
    0 . . .        the order of the result, n = 4
    1 2 . .
    3 4 5 .

A factorisation machine needs only their sum, which takes no product of a pair.

1. `interactions`, by `bmm` and `torch.tril_indices`.
2. `interaction_sum`. About 5 lines, no loop.

Begin on paper: multiply (a + b + c) by itself.
Afterwards see ``tril_indices`` in ``torch/_torch_docs.py``.
"""

from __future__ import annotations

import torch


def interactions(features: torch.Tensor) -> torch.Tensor:
    """Return the dot product of each pair of features: [batch, n * (n - 1) / 2].

    `features` is [batch, n, dim]. Pairs are in the order of the brief; a feature does not pair
    with itself. `batch`, n and `dim` may be 0, and n may be 1.
    """
    # TODO
    raise NotImplementedError("interactions")


def interaction_sum(features: torch.Tensor) -> torch.Tensor:
    """Return the sum of `interactions` for each sample of [batch, n, dim]: [batch].

    Create no tensor with more elements than `features`, unless n or `dim` is 0.
    """
    # TODO
    raise NotImplementedError("interaction_sum")
