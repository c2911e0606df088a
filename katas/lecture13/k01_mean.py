"""The mean over four processes.

Data parallel training is this line, run by all ranks at once:

    rank 0    loss 1.0  --+                --> 2.5
    rank 1    loss 2.0  --+-- all_reduce --+-> 2.5
    rank 2    loss 3.0  --+                +-> 2.5
    rank 3    loss 4.0  --+                --> 2.5

Write `mean_over_ranks`, about three lines. ``dist.all_reduce(tensor)`` returns nothing: it leaves
the sum over the ranks in the tensor that you pass in. Whose tensor is that?

Begin with a question: what happens if rank 3 skips the call?
Afterwards read the docstring of ``all_reduce`` in ``torch/distributed/distributed_c10d.py``, in
site-packages.
"""

from __future__ import annotations

import torch
from torch import distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of the ranks' `x`, on each rank; `x` keeps its value.

    `x` has a floating-point dtype, the same shape on all ranks, and requires no gradient.
    """
    # TODO: sum a tensor of your own, then divide.
    raise NotImplementedError("mean_over_ranks")
