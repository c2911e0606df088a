"""Ask whether a map would look different if the network knew nothing.

A map may persuade everybody and show edges of the image, whatever the network learned. The test
is cheap: make layers random, from the last one down, and compare the maps.

    network          conv1   conv2   head        its map against the trained one's
    trained          ok      ok      ok          1.00
    1 layer random   ok      ok      random      low, for a map that reads the network
    2 layers random  ok      random  random
    3 layers random  random  random  random      an edge detector still has 1.00

Maps differ in scale, so compare ranks: Spearman's rank correlation. Equal values share the mean
of their ranks.

1. `rank_correlation`: ranks, then the correlation of the ranks.
2. `cascade`: the networks of the table. About 18 lines in all.

Begin on paper: what are the ranks of 10, 20, 20, 30? Afterwards read ``Linear.reset_parameters`` in
``torch/nn/modules/linear.py``, in site-packages. Real life differs: Adebayo and others, who asked
this in 2018, also trained on random labels. Guided backpropagation and Guided Grad-CAM failed.
"""

from __future__ import annotations

import copy

import torch
from torch import nn


def rank_correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return Spearman's rank correlation of two maps of the same shape; 0 if one is constant."""
    # TODO: compare every value with every other.
    raise NotImplementedError("rank_correlation")


def cascade(model: nn.Module, seed: int = 0) -> list[tuple[str, nn.Module]]:
    """Return copies with the last 1, 2, ... layers random, each named for the one randomized last.

    A layer is a module that has ``reset_parameters``; their order is that of ``named_modules``. Set
    the seed only once: two layers of the same shape get different weights. A layer randomized in
    one copy has the same weights in all later ones. Leave the model and the random state unchanged;
    the same seed gives the same copies again.
    """
    # TODO: torch.random.fork_rng, and copy.deepcopy.
    raise NotImplementedError("cascade")
