"""Run one stage of a pipeline.

Rank 0 runs the first part of the model and sends its output to rank 1, and so on; in backward each
rank sends the gradient of its input. A schedule (k18) says in which order:

    ("F", i)    receive, forward, send
    ("B", i)    receive a gradient, backward, send one

Write `run_stage`, about 25 lines. `receive` is given.

- Send with ``dist.isend(tensor, to, tag=i)``, and wait for all sends at the end: ``dist.send``
  waits for the other side, which may be sending, too.
- Once a micro-batch's backward is done, keep nothing that it needed.

Begin by drawing two stages of 1F1B: where would two ``dist.send`` wait for each other?
Afterwards read ``backward_one_chunk`` in ``torch/distributed/pipelining/stage.py``, in
site-packages. Lecture 14 continues with interleaved and zero-bubble schedules.
Real life differs: NCCL has no tags, so PyTorch's stages rely on the order of messages.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

import torch
from torch import distributed as dist
from torch import nn


Action = tuple[str, int]


def receive(shape: Sequence[int], source: int, number: int) -> torch.Tensor:
    """Return what a rank sends for a micro-batch, as float32, once it has arrived. Given."""
    received = torch.empty(tuple(shape))
    dist.recv(received, source, tag=number)
    return received


def run_stage(
    part: nn.Module,
    actions: Sequence[Action],
    shape: Sequence[int],
    inputs: Sequence[torch.Tensor],
    loss: Callable[[torch.Tensor, int], torch.Tensor],
) -> float | None:
    """Run the actions of this rank's stage; return the loss of the batch on the last rank.

    - `part` maps a tensor to a tensor. This rank's inputs have the shape `shape`; on rank 0 they
      are ``inputs[i]``, whose gradient nobody needs. Only contiguous tensors can be sent.
    - ``loss(output, i)`` is the mean loss of micro-batch i, for the last rank; the loss of the
      batch is the mean over the micro-batches. The other ranks return None.
    - Add the gradient of the batch's loss to each parameter's ``grad``.
    """
    # TODO: what has to be kept from a forward until its backward?
    raise NotImplementedError("run_stage")
