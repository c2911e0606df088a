"""Stop a run, and resume it bit for bit."""

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
    """Return everything that the next steps of `run` depend on; do not change the run."""
    state = {
        "model": run.model.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "scheduler": run.scheduler.state_dict(),
        "order": run.order,
        "shuffle": run.shuffle.get_state(),
        "noise": run.noise.bit_generator.state,
        "random": random.getstate(),
        "torch": torch.get_rng_state(),
    }
    # State dicts hold the tensors themselves, and the next step writes to them.
    return copy.deepcopy(state)


def load(run: Run, state: dict[str, Any]) -> None:
    """Make `run`, new or used, continue from where `state` was saved; do not change `state`."""
    # An optimizer takes over the tensors that it loads.
    state = copy.deepcopy(state)
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.scheduler.load_state_dict(state["scheduler"])
    run.order = state["order"]
    run.shuffle.set_state(state["shuffle"])
    run.noise.bit_generator.state = state["noise"]
    random.setstate(state["random"])
    torch.set_rng_state(state["torch"])
