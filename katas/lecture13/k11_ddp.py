"""DistributedDataParallel: gradients are averaged while backward still runs.

Each rank has a copy of the model and its part of the batch. Averaging each gradient by itself takes
many small messages; waiting for the end of backward leaves the network idle. So gradients travel in
buckets, each as soon as it is full:

    backward   last layer | middle layer | first layer | wait
    network               | bucket 0     | bucket 1    | bucket 2

Build that in four steps, about 40 lines. Each turns a group of tests green.

1. `assign_buckets`.
2. Equal copies, hooks that fill buckets, and the mean of each gradient.
3. Reductions that begin while backward runs, in the same order on all ranks: a full bucket waits
   for those before it.
4. `forward` decides whether backward sends.

In a hook, start and return. Wait in `at_end_of_backward`.

Begin on paper: rank 1 calls its layers in a different order. Which buckets are full first?
Afterwards read ``mark_variable_ready`` in ``torch/csrc/distributed/c10d/reducer.cpp``.
Real life differs: DDP also broadcasts buffers in each forward, rebuilds its buckets after the first
backward, and finds parameters that a rank does not use (k12).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import distributed as dist
from torch import nn


def assign_buckets(sizes: Sequence[int], cap: int) -> list[list[int]]:
    """Return buckets of parameter indices, from last to first, each closed at `cap` bytes.

    Parameter i has a gradient of ``sizes[i]`` bytes. Backward computes roughly the last one first,
    so the first bucket begins with the last index. A bucket is closed as soon as it holds `cap`
    bytes or more, including the gradient that fills it. No bucket is empty.
    """
    # TODO: a bucket is closed once it holds the cap or more.
    raise NotImplementedError("assign_buckets")


def at_end_of_backward(callback: Callable[[], None]) -> None:
    """Call a function at the end of backward, once it has computed everything. Given.

    This works only while backward runs: in a hook.
    """
    torch.autograd.Variable._execution_engine.queue_callback(callback)  # noqa: SLF001 - its only name


class Bucket:
    """A flat tensor, with a view for each parameter, and the parameters still missing. Given."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.flat = parameters[0].new_zeros(sum(p.numel() for p in parameters))
        pieces = self.flat.split([p.numel() for p in parameters])
        self.views = {p: piece.view_as(p) for p, piece in zip(parameters, pieces, strict=True)}
        self.missing: set[nn.Parameter] = set()


class DDP(nn.Module):
    """Calls a module, and averages the gradients of its parameters over all ranks.

    - Once ``loss.backward()`` has returned, the ``grad`` of each parameter that requires one is
      the mean over the ranks, and a view of its bucket. ``zero_grad()`` may set it to None or
      write zeros; a gradient that is still there accumulates, as without DDP.
    - Each bucket is one tensor, created once, and one ``dist.all_reduce(..., async_op=True)`` in
      each backward.
    - Each forward is followed by one backward, or by none. A forward under ``torch.no_grad()`` may
      come between the two, and changes nothing. Every forward uses every parameter.
    - A backward of `module` alone sends nothing, unless a DDP forward still waits for its backward:
      then it counts as that backward, as in PyTorch.
    """

    def __init__(self, module: nn.Module, bucket_cap: int = 25 << 20) -> None:
        """Copy the values of rank 0, and prepare the buckets of `bucket_cap` bytes.

        All parameters and buffers are copied, frozen ones too; they are contiguous, and the
        parameters stay the same objects. Those that require gradients have one dtype and one
        device. A gradient is ready when a hook of ``register_post_accumulate_grad_hook`` runs.
        """
        super().__init__()
        self.module = module
        self.syncs = True
        # TODO: the values of rank 0, the buckets, and a hook on each parameter.
        raise NotImplementedError("DDP")

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Call the module, and prepare for the backward that follows, unless there is none.

        If `syncs` is False, that backward sends nothing, and leaves in ``grad`` what this rank
        has accumulated. The next backward that sends averages all of it. The forward decides, as in
        PyTorch, not the place where backward is called.
        """
        # TODO: which buckets wait for which gradients? Does backward send?
        raise NotImplementedError("DDP.forward")

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let the gradients of forwards inside the block accumulate, and send nothing. Given."""
        before, self.syncs = self.syncs, False
        try:
            yield
        finally:
            self.syncs = before

    # TODO: what a hook does, and what the end of backward does.
