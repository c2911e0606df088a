"""Stop a run, and resume it bit for bit.

You resume with the weights and the optimizer, and the curve changes. Is that noise? As long as the
two curves differ, you cannot tell a bug from a resume. Here is ``Run(0)``:

    uninterrupted    11.71  1.96  1.04   1.04  0.59  1.71
    resumed          11.71  1.96  1.04 | 5.70  0.32  3.11

Write `save` and `load`, about 20 lines. A run that loads a state continues as the old one would
have, to the last bit, even in another process.

- The state goes through ``torch.save`` and ``torch.load``, so use tensors, numbers, strings, and
  dicts, lists and tuples of these. A generator is none of these; its state is.
- The old run keeps training, and the state must not change. Two runs may load the same state.

Real life differs: a GPU has its own generator, and a different number of threads or version of
PyTorch may change the last bits, whatever you save.

Begin on paper: mark everything that `Run.step` reads and earlier steps change.
Afterwards read ``_cast`` and ``_process_value_according_to_param_policy`` in
``torch/optim/optimizer.py``, in site-packages. One says "Make a deep copy". Does it?
"""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import torch
from torch import nn


DATA = torch.arange(40, dtype=torch.float64).sqrt().sin().reshape(10, 4)


class Run:
    """A small training run on `DATA`. Given: do not change."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        random.seed(seed)
        self.noise = np.random.default_rng(seed)
        self.shuffle = torch.Generator().manual_seed(seed)
        self.order: list[int] = []
        layers = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1)
        self.model = nn.Sequential(*layers).double()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 4, gamma=0.5)

    def step(self) -> float:
        """Train on the next four samples of a shuffled epoch, or on those that are left."""
        if not self.order:
            self.order = torch.randperm(len(DATA), generator=self.shuffle).tolist()
        x = DATA[self.order[:4]]
        del self.order[:4]
        target = x.sum(1, keepdim=True)
        if random.random() < 0.5:  # noqa: S311
            x = x.flip(1)
        x = x + 0.1 * torch.from_numpy(self.noise.normal(size=x.shape))
        loss = (self.model(x) - target).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return float(loss.detach())


def save(run: Run) -> dict[str, Any]:
    """Return everything that the next steps of `run` depend on; do not change the run.

    You need not save the model's mode: it is always training.
    """
    # TODO: eight entries, some of which do not belong to `run`.
    raise NotImplementedError("save")


def load(run: Run, state: dict[str, Any]) -> None:
    """Make `run`, new or used, continue from where `state` was saved; do not change `state`."""
    # TODO: restore eight entries. Do the run and `state` now share tensors?
    raise NotImplementedError("load")
