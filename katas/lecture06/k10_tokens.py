"""Windows of a token file that is larger than memory.

A corpus is one long sequence of 16-bit numbers on disk. Mapped into memory, it costs nothing until
you read it, and all workers share the pages that the system has read. There are three traps:

    x = torch.from_numpy(numpy.memmap(path, dtype="uint16", mode="c"))
    torch.nn.functional.embedding(x[:4], weight)      # RuntimeError: wants int64 or int32
    x.to(torch.int64)                                 # the whole file, times four, in memory
    pickle.dumps(dataset)                             # all bytes; for a spawned worker, a copy of
                                                      # them in shared memory

Write `Tokens`, about 14 lines.

1. `window`: a view, without copying anything.
2. `batch`: inputs, and the token after each of them, as int64.
3. Pickle the path, not the tokens.

Begin on paper: tokens 0 to 9, windows of 4. Where does window 1 begin, and how many are there?
Afterwards see ``from_file`` in ``torch/_torch_docs.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import torch


if TYPE_CHECKING:
    from pathlib import Path


class Tokens:
    """Consecutive windows of `size` tokens in a file of uint16; a shorter rest is dropped.

    Every token of a window is followed by another token of the file, so the last window needs one
    more token.
    """

    def __init__(self, path: Path, size: int) -> None:
        # TODO: map the file.
        raise NotImplementedError("Tokens")

    def __len__(self) -> int:
        """Return how many windows there are."""
        raise NotImplementedError("Tokens.__len__")

    def window(self, index: int) -> torch.Tensor:
        """Return window `index` and the token after it: (size + 1) uint16, a view of the file."""
        raise NotImplementedError("Tokens.window")

    def batch(self, indices: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets, int64 of shape (indices, size); a target is the next token."""
        raise NotImplementedError("Tokens.batch")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what to call, and with which arguments, to open this in another process."""
        # TODO: the class, and the tuple of its arguments.
        raise NotImplementedError("Tokens.__reduce__")
