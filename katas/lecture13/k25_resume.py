"""Continue from a checkpoint, with a different number of ranks, as if nothing had happened.

Three ranks train, one dies in the middle of an epoch, two go on. The loss curve must not show it:

    step      0    1    2    3    4   5 ...
    ranks     3    3    3    2    2   2           one curve

Model and weights are not enough. What else does the next step depend on?

1. `rows`: each global batch is the same, whatever the number of ranks; rank r of s takes its rows
   r, r + s, r + 2 s, ...
2. `step`: sums over the ranks.
3. `state_dict` and `load_state_dict`: all that the next step depends on.

About 25 lines.

Begin with a list: which objects of `Training` change in a step? And what changes outside of it, in
PyTorch?
Afterwards read ``Stateful`` in ``torch/distributed/checkpoint/stateful.py``, in site-packages.
Real life differs: the data loader's workers have a state as well, and a checkpoint is sharded.
"""

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
        # TODO: where in the epoch are we? len(self.losses) steps are done.
        raise NotImplementedError("rows")

    def step(self) -> None:
        """Take one step on the next global batch, and append its loss to `losses`, on all ranks.

        The loss is the sum of ``(model(x) - y) ** 2`` over the global batch and all columns,
        divided by `batch`. Each gradient is the sum of the ranks' gradients.
        """
        # TODO: this rank's part of the loss, then sums over the ranks.
        raise NotImplementedError("step")

    def state_dict(self) -> dict[str, Any]:
        """Return all that the next step depends on, except the data.

        ``torch.load`` will read it with its defaults, so it holds tensors, numbers, lists and dicts
        only.
        """
        # TODO: five things.
        raise NotImplementedError("state_dict")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from that state."""
        # TODO: the same five.
        raise NotImplementedError("load_state_dict")
