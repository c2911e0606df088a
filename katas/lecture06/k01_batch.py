"""What a batch is: samples, transposed.

A dataset returns samples; the model wants batches. ``collate`` builds them, with surprises:

    from torch.utils.data import default_collate
    print(default_collate([("cat", 0.5), ("dog", 1.5)]))
    # [('cat', 'dog'), tensor([0.5000, 1.5000], dtype=torch.float64)]

Two pairs became a list of two, and the dtype of the numbers is not that of your weights. Write
`collate` from scratch, about 7 lines of recursion; the tensor case is given.

Real life differs: PyTorch's version rejects unknown types, and keeps named tuples.
Begin on paper: three samples ``{"x": tensor, "y": (1, "a")}`` in, one dict out.
Afterwards open ``torch/utils/data/_utils/collate.py`` in site-packages.
"""

from __future__ import annotations

from typing import Any

import torch


def collate(samples: list[Any]) -> Any:
    """Return the batch of one or more samples, all of the same kind.

    - Tensors of the same shape: stacked.
    - Numbers: one tensor; int gives int64, float float64, bool bool.
    - Dicts with equal keys: a dict of batches, in the order of the first sample's keys.
    - Tuples, or lists, of the same length: a list with a batch for each position.
    - Text and bytes: the list of samples.
    """
    first = samples[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(samples)
    # TODO: the other kinds; the type of the first sample decides, as it does here.
    raise NotImplementedError("collate")
