"""Patch an activation, and see which layer carries the difference.

Two inputs, one that the model gets right and one that it does not. Run the second, but give one
layer's output the value that it had in the first. Does the answer come back?

    clean       x   ->  a  ->  b  ->  score  10
    corrupted   x'  ->  a' ->  b' ->  score   2
    patched     x'  ->  a  ->  b" ->  score   8       a restores (8 - 2) / (10 - 2) = 0.75

1. `run`: a forward that records each layer's output, and replaces some.
2. `restored`: patch one layer at a time: a forward for each.
3. `estimated`: all at once, to first order: one backward. About 22 lines in all.

The model may be frozen, and an in-place ReLU may come after a layer.

Begin on paper: the score is a * b, clean (2, 3), corrupted (-1, -1). What does each patch restore?
Afterwards read ``Module._call_impl`` in ``torch/nn/modules/module.py``, in site-packages. Real life
differs: in a language model the layers are thousands of heads, and the estimate, called attribution
patching, chooses the few that are actually patched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    from torch import nn


def run(
    model: nn.Module,
    layers: Mapping[str, nn.Module],
    x: torch.Tensor,
    put: Mapping[str, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Return ``model(x)``, a scalar, and the output of each layer, by name, in the order of calls.

    A layer named in `put` returns that value, which is recorded. Each layer runs once. Leave no
    hook behind, even if the model raises.
    """
    # TODO: a hook's result replaces the output.
    raise NotImplementedError("run")


def restored(
    model: nn.Module, layers: Mapping[str, nn.Module], clean: torch.Tensor, corrupted: torch.Tensor
) -> dict[str, float]:
    """For each layer, return (patched - corrupted) / (clean - corrupted), from the scores.

    Do not record a graph.
    """
    # TODO: len(layers) + 2 forwards, without a graph.
    raise NotImplementedError("restored")


def estimated(
    model: nn.Module, layers: Mapping[str, nn.Module], clean: torch.Tensor, corrupted: torch.Tensor
) -> dict[str, float]:
    """Return the same shares, to first order.

    Estimate patched - corrupted by the change of the layer's output, times the gradient of the
    score with respect to it in the corrupted run, summed.
    """
    # TODO: two forwards, and one torch.autograd.grad.
    raise NotImplementedError("estimated")
