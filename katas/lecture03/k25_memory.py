"""Perf: sixteen blocks in the memory of eight.

A checkpoint around each block keeps one input per block. A single checkpoint around all blocks
keeps one input, but needs everything else at once in backward. The best is in between:

    blocks   1 2 3 4 | 5 6 7 8 | 9 ...        kept: one input for each segment,
    kept    x        x         x              and in backward the inside of one of them

Write `run` with the real thing, ``torch.utils.checkpoint.checkpoint``: about 5 lines.

- Pass ``use_reentrant=False``.

Begin on paper: how many tensors do n blocks in segments of s keep, and which s gives the fewest?
Afterwards see ``checkpoint_sequential`` in ``torch/utils/checkpoint.py``, in site-packages.
"""

from __future__ import annotations

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
    """Return ``chain(blocks, x)``, with a graph that keeps about 2 * sqrt(n) blocks' worth.

    n may be any number. Each block keeps as much as its input. The gradients are those of `chain`,
    and a block runs at most twice: once in forward, once in backward.
    """
    # TODO: how many blocks make a segment?
    raise NotImplementedError("run")
