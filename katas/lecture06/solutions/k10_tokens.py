"""Windows of a token file that is larger than memory."""

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
        self.path, self.size = path, size
        # Copy on write: PyTorch has no tensors that cannot be written to.
        self.tokens = torch.from_numpy(np.memmap(path, dtype=np.uint16, mode="c"))

    def __len__(self) -> int:
        """Return how many windows there are."""
        return (len(self.tokens) - 1) // self.size

    def window(self, index: int) -> torch.Tensor:
        """Return window `index` and the token after it: (size + 1) uint16, a view of the file."""
        return self.tokens[index * self.size : (index + 1) * self.size + 1]

    def batch(self, indices: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets, int64 of shape (indices, size); a target is the next token."""
        rows = torch.stack([self.window(index) for index in indices]).to(torch.int64)
        return rows[:, :-1], rows[:, 1:]

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what to call, and with which arguments, to open this in another process."""
        return Tokens, (self.path, self.size)
