"""All-reduce by recursive doubling: log2(n) exchanges.

A tree reduces, then broadcasts: twice log2(n) rounds. If both partners of a round exchange what
they have and both add it up, one pass is enough:

    round 1    0 <-> 1    2 <-> 3
    round 2    0 <-> 2    1 <-> 3

Write `all_reduce`, about 8 lines, with ``isend`` and ``recv``.

Begin in binary: who is the partner of rank 5 of 8 in each round?
Afterwards count: how many bytes does a rank send here, and in a ring? Then read ``all_reduce`` in
``torch/distributed/distributed_c10d.py``: it does not decide which algorithm gloo uses.
"""

from __future__ import annotations

import torch
from torch import distributed as dist


def all_reduce(tensor: torch.Tensor) -> None:
    """Replace the tensor with the sum over all ranks, whose number is a power of two.

    Exchange with the neighbour first, then at distance 2, 4, ... Begin both messages of a round
    before you wait, and add only when your own message has been sent.
    """
    # TODO: who is the partner in round k?
    raise NotImplementedError("all_reduce")
