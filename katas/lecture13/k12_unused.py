"""Parameters that only some ranks use.

Rank 0 takes the left branch of a model, rank 1 the right one. Rank 0 waits for a gradient that no
hook will bring: DistributedDataParallel raises ``Expected to have finished reduction``. With
``find_unused_parameters=True`` it finds out before backward what the graph leads to:

    loss --> AddmmBackward0 --> TBackward0 --> AccumulateGrad    .variable: here is a parameter
              | .next_functions

1. `parameters_behind`: walk the graph.
2. `average_used`: the mean of gradients that some ranks do not have, in two all-reduces.

About 18 lines.

- A parameter that no rank has used keeps ``grad`` None. With zeros, an optimizer with weight decay
  would shrink it.

Begin with a question: rank 0 has no gradient. How can it know whether rank 1 has one?
Afterwards read ``Reducer::prepare_for_backward`` and ``global_unused`` in
``torch/csrc/distributed/c10d/reducer.cpp``.
Real life differs: DDP sends in buckets, and asks who uses what after the last bucket.
"""

from __future__ import annotations

import torch
from torch import distributed as dist
from torch import nn


def parameters_behind(output: torch.Tensor) -> set[torch.Tensor]:
    """Return the leaves in the graph of `output` that require gradients.

    Begin at ``output.grad_fn``; ``node.next_functions`` are pairs whose first element may be None.
    The graph may be a thousand nodes deep, and may reach a node in a thousand ways.
    """
    # TODO: which nodes have you seen, and which are waiting?
    raise NotImplementedError("parameters_behind")


def average_used(parameters: list[nn.Parameter]) -> None:
    """Replace each ``grad`` with its mean over all ranks, where at least one rank has a ``grad``.

    A rank without a ``grad`` contributes zeros, and gets the mean. Use two all-reduces: one int32
    flag for each parameter, then all gradients in one flat tensor. All parameters have one dtype.
    """
    # TODO: flags, a flat tensor, and back.
    raise NotImplementedError("average_used")
