"""What a batch is: samples turned around.

A dataset returns samples; the model wants batches. In between stands ``collate``, and surprises:

    from torch.utils.data import default_collate
    print(default_collate([("cat", 0.5), ("dog", 1.5)]))
    # [('cat', 'dog'), tensor([0.5000, 1.5000], dtype=torch.float64)]

Two pairs became a list of two, and the numbers have another dtype than weights by default. Write
`collate` from nothing, about 7 lines of recursion; tensors are given.

Real life differs: PyTorch's refuses what it does not know, and keeps named tuples.
Begin on paper: three samples ``{"x": tensor, "y": (1, "a")}`` in, one dict out.
Afterwards open ``torch/utils/data/_utils/collate.py`` in site-packages.
"""

from __future__ import annotations

from typing import Any

import torch


def collate(samples: list[Any]) -> Any:
    """Return the batch of these samples, one or more of a kind.

    - Tensors of one shape: stacked.
    - Numbers: one tensor; int gives int64, float float64, bool bool.
    - Dicts with equal keys: a dict of batches, in the order of the first sample's keys.
    - Tuples, or lists, of one length: a list with a batch for each position.
    - Text and bytes: the samples in a list.
    """
    first = samples[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(samples)
    # TODO: the other kinds; as here, the first sample says which it is.
    raise NotImplementedError("collate")
