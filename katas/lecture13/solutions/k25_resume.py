"""Training whose steps depend on nothing that is not in its checkpoint."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch import nn


class Training:
    """A model, its optimizer, and their position in the data.

    `x` and `y` have n rows, the same on all ranks; n is a multiple of `batch`.
    """

    def __init__(self, x: torch.Tensor, y: torch.Tensor, batch: int) -> None:
        torch.manual_seed(0)
        self.x, self.y, self.batch = x, y, batch
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        # The losses of all steps so far.
        self.losses: list[float] = []
        # The order of the rows in this epoch.
        self.order = torch.tensor([], dtype=torch.int64)

    def rows(self) -> torch.Tensor:
        """Return the indices of this rank's rows in the next global batch; there may be none.

        At the start of an epoch, draw `order` with ``torch.randperm(n)``, the same on all
        ranks, and nothing else from the default generator. Step k of an epoch takes the k-th
        `batch` of that order.
        """
        begin = len(self.losses) * self.batch % len(self.x)
        if begin == 0:
            self.order = torch.randperm(len(self.x))
        return self.order[begin : begin + self.batch][dist.get_rank() :: dist.get_world_size()]

    def step(self) -> None:
        """Take one step on the next global batch, and append its loss to `losses`, on all ranks.

        The loss is the sum of ``(model(x) - y) ** 2`` over the global batch and all columns,
        divided by `batch`. Each gradient is the sum of the ranks' gradients.
        """
        rows = self.rows()
        self.optimizer.zero_grad()
        loss = (self.model(self.x[rows]) - self.y[rows]).square().sum() / self.batch
        loss.backward()
        total = loss.detach()
        for tensor in (total, *(parameter.grad for parameter in self.model.parameters())):
            dist.all_reduce(tensor)
        self.optimizer.step()
        self.losses.append(total.item())

    def state_dict(self) -> dict[str, Any]:
        """Return all that the next step depends on, except the data."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": torch.get_rng_state(),
            "losses": self.losses,
            "order": self.order,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from that state."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["generator"])
        self.losses, self.order = state["losses"], state["order"]
