"""One stage of a pipeline: receive, compute, send, forward and backward."""

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
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    stored: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    sends: list[dist.Work] = []
    total = 0.0
    for kind, number in actions:
        if kind == "F":
            # A leaf of this stage's graph: backward leaves its gradient in .grad.
            given = receive(shape, rank - 1, number).requires_grad_() if rank else inputs[number]
            result = part(given)
            if rank == last:
                result = loss(result, number) / (len(actions) // 2)
                total += result.item()
            else:
                output = result.detach().contiguous()
                sends.append(dist.isend(output, rank + 1, tag=number))
            stored[number] = given, result
        else:
            given, result = stored.pop(number)
            result.backward(None if rank == last else receive(result.shape, rank + 1, number))
            if rank > 0:
                sends.append(dist.isend(given.grad, rank - 1, tag=number))
            # Else the last names for the graph would keep it until the next action.
            del given, result
    for send in sends:
        send.wait()
    return total if rank == last else None
