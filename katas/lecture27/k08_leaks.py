"""Find a leak, in a snapshot and among live tensors.

The run ends at step 4000, out of memory. On a GPU the allocator knows which lines hold the memory.
This is the format of ``torch.cuda.memory._snapshot()``, which the tests imitate:

    segments          from cudaMalloc
      blocks          size, requested_size, state, frames (innermost first)
                      active_allocated | active_pending_free | inactive

The CPU has no snapshot, so you watch the operators: a mode sees each result, and a weak reference
to its storage shows later whether it has been freed.

Write two parts, about 18 lines.

- `growth`: which lines hold more memory than before?
- `Living`: record each storage that an operator makes, without keeping it alive.

Begin on paper: ``y = x[0]; del x``. Which of the two tensors is alive, and how many bytes does it
hold?
Afterwards read ``StorageWeakRef`` in ``torch/multiprocessing/reductions.py``, in site-packages.

Real life differs: without ``_record_memory_history(stacks="python")`` beforehand the frames are
empty, or have C++ in front. The docstring of `_snapshot` and ``torch/csrc/cuda/Module.cpp``, which
writes it, use different names for the second state.
"""

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
    # TODO: owner(block["frames"]); one Counter minus another keeps only positive counts.
    raise NotImplementedError("growth")


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
        # TODO: a storage is new if no argument has it.
        raise NotImplementedError("Living.__torch_dispatch__")

    def living(self) -> Counter[str]:
        """Return the number of bytes in live storages, by the operator that created them.

        An operator's name is ``str(func)``, as in "aten.exp.default".
        """
        # TODO: ask each storage whether it is expired().
        raise NotImplementedError("Living.living")
