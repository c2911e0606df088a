"""Stop mid-epoch, and resume bit for bit."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING
from typing import Any
from typing import Protocol

import torch


if TYPE_CHECKING:
    from collections.abc import Iterator


class Samples(Protocol):
    """A dataset whose samples are drawn at random."""

    def __len__(self) -> int: ...

    def sample(self, index: int, generator: torch.Generator) -> Any:
        """Return a sample, with crop and flip drawn from `generator`."""


class Loader:
    """Batches of `size` samples, reshuffled in each epoch; the last batch may be shorter."""

    def __init__(self, dataset: Samples, size: int, *, seed: int = 0, ahead: int = 2) -> None:
        self.dataset, self.size, self.seed, self.ahead = dataset, size, seed, ahead
        self.generator = torch.Generator().manual_seed(seed)
        # Where the next batch begins: its epoch, its index, and the generator's state before it.
        self.epoch, self.delivered, self.state = 0, 0, self.generator.get_state()

    def fetch(self, indices: list[int]) -> list[Any]:
        """Return the samples of a batch; this draws from ``self.generator``. Given."""
        return [self.dataset.sample(index, self.generator) for index in indices]

    def __iter__(self) -> Iterator[list[Any]]:
        """Yield the batches of this epoch that have not been delivered yet."""
        shuffle = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(len(self.dataset), generator=shuffle).tolist()
        # What was fetched and not delivered is fetched again.
        self.generator.set_state(self.state)
        starts = iter(range(self.delivered * self.size, len(order), self.size))
        waiting: deque[tuple[list[Any], torch.Tensor]] = deque()
        while True:
            for start in islice(starts, self.ahead - len(waiting)):
                batch = self.fetch(order[start : start + self.size])
                waiting.append((batch, self.generator.get_state()))
            if not waiting:
                break
            batch, self.state = waiting.popleft()
            self.delivered += 1
            yield batch
        self.epoch, self.delivered = self.epoch + 1, 0

    def state_dict(self) -> dict[str, Any]:
        """Return everything a new loader needs to resume; later deliveries must not change it."""
        return {"epoch": self.epoch, "delivered": self.delivered, "state": self.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state` was taken."""
        self.epoch, self.delivered, self.state = state["epoch"], state["delivered"], state["state"]
