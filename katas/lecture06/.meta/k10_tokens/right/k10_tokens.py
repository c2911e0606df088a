"""Windows of a token file: mapped by PyTorch itself, and cut by as_strided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch


class Tokens:
    """Windows of `size` tokens of a file of uint16."""

    def __init__(self, path: Path, size: int) -> None:
        self.arguments = (path, size)
        count = Path(path).stat().st_size // 2
        tokens = torch.from_file(str(path), shared=False, size=count, dtype=torch.uint16)
        self.windows = tokens.as_strided(((count - 1) // size, size + 1), (size, 1))

    def __len__(self) -> int:
        """Return how many windows there are."""
        return self.windows.shape[0]

    def window(self, index: int) -> torch.Tensor:
        """Return a row."""
        return self.windows[index]

    def batch(self, indices: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets."""
        chosen = self.windows.view(torch.int16)[torch.tensor(indices)].long() & 0xFFFF
        inputs, targets = chosen[:, :-1], chosen[:, 1:]
        return inputs, targets

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and its arguments."""
        return type(self), self.arguments
