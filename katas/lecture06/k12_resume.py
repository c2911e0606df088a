"""Stop mid-epoch, and resume bit for bit.

The job is killed after batch 2. A checkpoint contains the model, but what about the data? You need
the order, the position in it, and the generator that draws crops and flips. And there is a trap,
because the loader works ahead:

    fetched     0 1 2 3 4      the generator has drawn for these
    delivered   0 1 2          the model has seen these

Resume after what was fetched, and 3 and 4 are lost. Resume at 3 with the generator as it is now,
and their crops change. So with each fetched batch, keep the generator's state after it.

Write three methods of `Loader`, about 18 lines.

1. `__iter__`: order, fetch ahead, deliver, record.
2. `state_dict` and `load_state_dict`.

Begin on paper: which two numbers and which state say where batch 3 begins?
Afterwards see ``DataLoader`` in ``torch/utils/data/dataloader.py``, in site-packages: it has no
``state_dict``; torchdata's StatefulDataLoader has one.
"""

from __future__ import annotations

from collections import deque
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
        """Yield the batches of this epoch that have not been delivered yet.

        The order is ``torch.randperm`` of a new generator with seed ``seed + epoch``. When you
        yield a batch, `ahead` batches are fetched and not yet delivered, counting that one, or as
        many as are left. After the last batch, the next epoch begins at batch 0.

        If an epoch was left early, the next call continues it, with the generator's state after the
        last delivered batch.
        """
        # TODO: fetched batches wait in a queue, each with the generator's state after it.
        raise NotImplementedError("Loader.__iter__")
        yield

    def state_dict(self) -> dict[str, Any]:
        """Return everything a new loader needs to resume; later deliveries must not change it."""
        # TODO: where does the next batch begin?
        raise NotImplementedError("Loader.state_dict")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state` was taken."""
        # TODO
        raise NotImplementedError("Loader.load_state_dict")
