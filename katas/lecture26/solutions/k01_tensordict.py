"""See what an episode is, and write a row of it.

A rollout has one tensor for each name, with a row for each step. ``episode[1]`` is step 1:
the same names, each with a view of its row. TorchRL's TensorDict works like this. Two lines look
alike, and only one reaches the episode:

    row = episode[1]
    row["reward"].fill_(3)               # episode["reward"] is now [0, 3, 0]
    row["reward"] = torch.tensor(3.0)    # the row has a new tensor, the episode does not

Write `record` and `tied`, about 7 lines.

Begin by trying these lines on an episode of zeros.
Afterwards read ``UntypedStorage`` in ``torch/storage.py``: who owns the memory of a view?
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import KeysView
    from collections.abc import Mapping

    import torch


class Rows:
    """Tensors by name that share their first dim. Given."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        self.tensors = dict(tensors)

    def __getitem__(self, key: str | int | slice) -> Any:
        """Return a name's tensor; for an int or a slice, Rows with a view of each tensor."""
        if isinstance(key, str):
            return self.tensors[key]
        return Rows({name: tensor[key] for name, tensor in self.tensors.items()})

    def __setitem__(self, name: str, value: torch.Tensor) -> None:
        """Put a tensor under a name."""
        self.tensors[name] = value

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self.tensors.keys()


def record(episode: Rows, index: int | slice, step: Mapping[str, torch.Tensor]) -> None:
    """Write the values of `step` into the rows at `index`; the episode keeps its tensors.

    A value may require grad. The episode gets its numbers without its history.
    """
    for name, value in step.items():
        episode[name][index] = value.detach()


def tied(row: Rows, episode: Rows) -> set[str]:
    """Return the names whose tensors in `row` and in `episode` share a storage.

    The row may have names that the episode does not have.
    """

    def memory(tensor: torch.Tensor) -> int:
        return tensor.untyped_storage().data_ptr()

    both = row.keys() & episode.keys()
    return {name for name in both if memory(row[name]) == memory(episode[name])}
