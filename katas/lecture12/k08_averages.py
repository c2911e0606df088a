"""Average the weights of a run, and repair the buffers that go with them.

The average of the last models is often better than any one of them. But a model is more than its
parameters: with ``use_buffers=False``, ``AveragedModel`` takes its buffers from the last model.
That model's BatchNorm saw different activations from those of the averaged weights, here ``weight *
1``:

    step            1      2      3         averaged
    weight          1.0    2.0    6.0       3.0
    running_mean    0.10   0.29   0.86      0.86
    batch mean      1.0    2.0    6.0       3.0

Write three functions that work in place, about 25 lines in all.

1. `clip`: one factor for all gradients. An ``if`` on the norm would make the GPU wait: clamp.
2. `update`: SWA and EMA differ in one number, the weight of the new model.
3. `refresh`: recompute the running statistics for the current weights.

Begin on paper: the SWA of 1, 2 and 6, adding one at a time. What is the weight of the 6?
Afterwards open ``torch/optim/swa_utils.py``, in site-packages: find ``use_buffers``. What does it
do to ``num_batches_tracked``? Try it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Iterable


def clip(parameters: Iterable[nn.Parameter], max_norm: float) -> torch.Tensor:
    """Scale the gradients to a total 2-norm of at most `max_norm`; return the old norm.

    The factor is ``max_norm / (norm + 1e-6)``, but at most 1. Some parameters may lack a gradient,
    but not all.
    """
    # TODO: the norm of all gradients is the norm of their norms.
    raise NotImplementedError("clip")


def update(averaged: nn.Module, model: nn.Module, count: int, decay: float | None = None) -> None:
    """Add `model` to the average of `count` models of the same architecture.

    Without `decay`, all models have equal weight (SWA). With it, the old average has the weight
    `decay` (EMA), but the first model becomes the whole average. Copy the buffers from `model`.
    """
    # TODO: what is the weight of the new model?
    raise NotImplementedError("update")


def norms(model: nn.Module) -> list[nn.BatchNorm1d]:
    """Return the layers whose running statistics `refresh` recomputes. Given."""
    return [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm1d)]


def refresh(model: nn.Module, batches: Iterable[torch.Tensor]) -> None:
    """Make the running statistics of `norms` the plain mean over all batches.

    In training mode and with ``momentum`` None, a layer averages all batches since its last
    ``reset_running_stats()``. Restore each momentum and each module's mode, and build no graph.
    """
    # TODO: remember the momenta, run the batches, restore everything.
    raise NotImplementedError("refresh")
