"""A dropout mask that belongs to the sample.

Run the same batch on two ranks and on four: the masks differ, and so does the loss. A generator
hands out numbers in order, and a row's place in that order changed.

    one generator per rank    row 5 gets the 6th numbers, or the 2nd
    one generator per row     row 5 gets what its key says, anywhere

Write `dropout`, about 5 lines.

Begin with ``torch.rand(3, generator=torch.Generator().manual_seed(7))``, twice.
Afterwards read ``OffsetBasedRNGTracker`` in ``torch/distributed/tensor/_random.py``, in
site-packages: DTensor does it with offsets.
"""

from __future__ import annotations

import torch


def dropout(x: torch.Tensor, p: float, keys: torch.Tensor) -> torch.Tensor:
    """Return x (rows, features), with elements of each row dropped as ``keys[row]`` says.

    For each row draw ``torch.rand(features, dtype=torch.float64)`` from a generator with its key as
    the seed: below p the element becomes 0, elsewhere it is divided by 1 - p. x may have no rows.
    Do not use the global generator.
    """
    # TODO: a generator for each row.
    raise NotImplementedError("dropout")
