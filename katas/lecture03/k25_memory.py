"""Perf: sixteen blocks in the memory of eight.

A checkpoint around each block keeps an input for each. One around all keeps a single input, and
needs all the rest together in backward. The best lies between:

    blocks   1 2 3 4 | 5 6 7 8 | 9 ...        kept: an input for each segment,
    kept    x        x         x              and in backward the inside of one of them

Write `run` with the real thing, ``torch.utils.checkpoint.checkpoint``: about 5 lines.

- Say ``use_reentrant=False``.

Begin on paper: n blocks in segments of s. How many tensors is that, for which s the fewest?
Afterwards see ``checkpoint_sequential`` in ``torch/utils/checkpoint.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it
from torch.utils.checkpoint import checkpoint  # noqa: F401 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    Block = Callable[[torch.Tensor], torch.Tensor]


def chain(blocks: Sequence[Block], x: torch.Tensor) -> torch.Tensor:
    """Return what the blocks make of `x`, one after the other. Given."""
    for block in blocks:
        x = block(x)
    return x


def run(blocks: Sequence[Block], x: torch.Tensor) -> torch.Tensor:
    """Return ``chain(blocks, x)``, with a graph that keeps about 2 * sqrt(n) blocks' worth.

    There are n blocks, any number. Each keeps as much as it gets. The gradients are those of
    `chain`, and a block runs at most twice: in forward, and in backward.
    """
    # TODO: segments of how many blocks?
    raise NotImplementedError("run")
