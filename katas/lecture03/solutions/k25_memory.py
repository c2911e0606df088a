"""Perf: sixteen blocks in the memory of eight."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch.utils.checkpoint import checkpoint


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    Block = Callable[[torch.Tensor], torch.Tensor]


def chain(blocks: Sequence[Block], x: torch.Tensor) -> torch.Tensor:
    """Apply the blocks to `x` one after another. Given."""
    for block in blocks:
        x = block(x)
    return x


def run(blocks: Sequence[Block], x: torch.Tensor) -> torch.Tensor:
    """Return ``chain(blocks, x)``, with a graph that keeps about 2 * sqrt(n) blocks' worth."""
    size = max(1, round(len(blocks) ** 0.5))
    for start in range(0, len(blocks), size):
        # Bound now: a lambda would see the last segment when backward calls it.
        segment = partial(chain, blocks[start : start + size])
        x = checkpoint(segment, x, use_reentrant=False)
    return x
