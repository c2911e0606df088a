"""Ask whether a map would look different if the network knew nothing."""

from __future__ import annotations

import copy

import torch
from torch import nn


def rank_correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return Spearman's rank correlation of two maps of the same shape; 0 if one is constant."""
    centred = []
    for values in (a.flatten(), b.flatten()):
        below = (values[:, None] > values).sum(1)
        ranks = (below + (values[:, None] == values).sum(1) / 2).double()
        centred.append(ranks - ranks.mean())
    size = centred[0].norm() * centred[1].norm()
    return (centred[0] @ centred[1] / size).item() if size else 0.0


def cascade(model: nn.Module, seed: int = 0) -> list[tuple[str, nn.Module]]:
    """Return copies with the last 1, 2, ... layers random, each named for the one randomized last.

    A layer is a module that has ``reset_parameters``; their order is that of ``named_modules``. Set
    the seed only once: two layers of the same shape get different weights. A layer randomized in
    one copy has the same weights in all later ones. Leave the model and the random state unchanged;
    the same seed gives the same copies again.
    """
    found, network = [], copy.deepcopy(model)
    layers = [pair for pair in network.named_modules() if hasattr(pair[1], "reset_parameters")]
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        for name, layer in reversed(layers):
            layer.reset_parameters()
            found.append((name, copy.deepcopy(network)))
    return found
