"""A large contrastive batch in little memory.

Gradients accumulated over eight batches of 4 pairs are not those of a batch of 32: each image sees
3 wrong captions, not 31. But the loss sees only embeddings, and these are small. What fills memory
is the towers' graph.

    1 embed     x -> chunk -> tower -> e        no graph, and the CPU RNG's state is kept
    2 slopes    all e -> loss -> d loss / d e   only the graph of the loss
    3 replay    x -> chunk -> tower -> e        again, with a graph, and backward from
                                                d loss / d e, chunk by chunk

The result is the gradient of the whole batch: in float64 to twelve digits. It costs a second
forward. `step` does all three, for any number of towers.

About 20 lines in all. Begin on paper: a tower has dropout. Which numbers must the second forward
draw, and which should the next step draw?
Afterwards read ``CheckpointFunction`` in ``torch/utils/checkpoint.py``, in site-packages: what does
it keep, and what does it restore? How short is `step` if you call ``checkpoint`` for each chunk?
Real life differs: a BatchNorm would see chunks, and move its mean twice; a GPU has its own
generator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch import nn


def embed(tower: nn.Module, x: torch.Tensor, chunk: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return the embeddings of all rows, without a graph, and the RNG's state before each chunk.

    The tower sees at most `chunk` rows at a time, in order; the last chunk may be smaller. Do not
    change the tower's mode. The RNG is the CPU's.
    """
    # TODO: torch.get_rng_state.
    raise NotImplementedError("embed")


def slopes(
    loss: Callable[..., torch.Tensor], *embeddings: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return loss(*embeddings) without a graph, and its gradient with respect to each embedding.

    The loss may have parameters of its own, such as a scale: they get their ``.grad`` here.
    Do not modify the given embeddings.
    """
    # TODO: backward stops at a leaf.
    raise NotImplementedError("slopes")


def replay(
    tower: nn.Module,
    x: torch.Tensor,
    chunk: int,
    states: Sequence[torch.Tensor],
    gradient: torch.Tensor,
) -> None:
    """Embed again, with a graph, and add to each parameter's ``.grad``.

    `gradient` is the gradient for all embeddings. Afterwards the RNG is as it was before, and the
    tower's mode does not change.
    """
    # TODO: torch.random.fork_rng. One chunk's graph at a time.
    raise NotImplementedError("replay")


def step(
    loss: Callable[..., torch.Tensor],
    towers: Sequence[nn.Module],
    inputs: Sequence[torch.Tensor],
    chunk: int,
) -> torch.Tensor:
    """Return the loss of the whole batch, and add its gradient to each parameter's ``.grad``.

    Tower k embeds input k. A tower may occur twice.
    """
    # TODO: all of the first pass before any of the second.
    raise NotImplementedError("step")
