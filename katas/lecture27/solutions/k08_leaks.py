"""Find a leak, in a snapshot and among live tensors."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


def owner(frames: Sequence[Mapping[str, Any]]) -> str:
    """Return the innermost line outside torch, as "train.py:12:step". Given."""
    for frame in frames:
        if "/torch/" not in frame["filename"]:
            return f"{frame['filename'].split('/')[-1]}:{frame['line']}:{frame['name']}"
    return "?"


def storages_in(tree: object) -> dict[StorageWeakRef, int]:
    """Return weak references to the storages of a tree's tensors, each with its size. Given.

    Two references to one storage are equal, even after it has been freed.
    """
    found = [x.untyped_storage() for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]
    return {StorageWeakRef(storage): storage.nbytes() for storage in found}


def growth(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, int]:
    """Return how many more bytes each line holds in `after`, largest growth first.

    A line holds the bytes requested for those of its blocks that a tensor uses. Leave out lines
    that hold as much as before, or less.
    """
    held: list[Counter[str]] = [Counter(), Counter()]
    for snapshot, lines in zip((before, after), held, strict=True):
        for segment in snapshot["segments"]:
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    lines[owner(block["frames"])] += block["requested_size"]
    return dict((held[1] - held[0]).most_common())


class Living(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Tracks the storages that operators make, and which of them are alive.

    All tensors are strided. Credit a storage to the operator that made it, with its size at that
    time. An operator does not make a storage that it got as an argument.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        # The operator's name and the number of bytes.
        self.made: dict[StorageWeakRef, tuple[str, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator, record the storages of its results, and return the results."""
        results = func(*args, **(kwargs or {}))
        old = storages_in((args, kwargs))
        for storage, size in storages_in(results).items():
            if storage not in old:
                self.made[storage] = str(func), size
        return results

    def living(self) -> Counter[str]:
        """Return the number of bytes in live storages, by the operator that created them.

        An operator's name is ``str(func)``, as in "aten.exp.default".
        """
        alive: Counter[str] = Counter()
        for storage, (name, size) in self.made.items():
            if not storage.expired():
                alive[name] += size
        return alive
