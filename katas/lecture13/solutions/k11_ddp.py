"""DistributedDataParallel: a bucket is reduced when its last gradient is ready."""

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
    buckets: list[list[int]] = []
    held = cap
    for position in reversed(range(len(sizes))):
        if held >= cap:
            buckets.append([])
            held = 0
        buckets[-1].append(position)
        held += sizes[position]
    return buckets


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
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.detach(), 0)
        parameters = [p for p in module.parameters() if p.requires_grad]
        self._buckets = [
            Bucket([parameters[position] for position in positions])
            for positions in assign_buckets([p.nbytes for p in parameters], bucket_cap)
        ]
        self._bucket_of = {p: bucket for bucket in self._buckets for p in bucket.views}
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self._on_gradient)
        self._expects_gradients = False

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Call the module, and prepare for the backward that follows, unless there is none.

        If `syncs` is False, that backward sends nothing, and leaves in ``grad`` what this rank
        has accumulated. The next backward that sends averages all of it. The forward decides, as in
        PyTorch, not the place where backward is called.
        """
        if torch.is_grad_enabled():
            self._expects_gradients = self.syncs
            self._not_started = deque(self._buckets)
            self._works: list[dist.Work] = []
            for bucket in self._buckets:
                bucket.missing = set(bucket.views)
        return self.module(*args, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let the gradients of forwards inside the block accumulate, and send nothing. Given."""
        before, self.syncs = self.syncs, False
        try:
            yield
        finally:
            self.syncs = before

    def _on_gradient(self, parameter: nn.Parameter) -> None:
        """Note that a gradient is ready; begin the buckets that are full, in their order."""
        if not self._expects_gradients:
            return
        bucket = self._bucket_of[parameter]
        view = bucket.views[parameter]
        # From here on it lives in the bucket, unless it has before.
        parameter.grad = view.copy_(parameter.grad)
        bucket.missing.discard(parameter)
        # The order of the list is the same on all ranks; that of the gradients may not be.
        while self._not_started and not self._not_started[0].missing:
            flat = self._not_started.popleft().flat.div_(dist.get_world_size())
            self._works.append(dist.all_reduce(flat, async_op=True))
            if not self._not_started:
                at_end_of_backward(self._finish)

    def _finish(self) -> None:
        for work in self._works:
            work.wait()
