"""Another solution: who uses what is told after the last bucket, as in PyTorch."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import distributed as dist
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence


def assign_buckets(sizes: Sequence[int], cap: int) -> list[list[int]]:
    """Return buckets of positions, from the last to the first, each closed at `cap` bytes."""
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
    """Call it within backward, as soon as that has computed everything. Given."""
    torch.autograd.Variable._execution_engine.queue_callback(callback)  # noqa: SLF001 - its only name


class _Bucket:
    """A flat tensor, of which each parameter has a view, and who of them is still waited for."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.flat = parameters[0].new_zeros(sum(p.numel() for p in parameters))
        pieces = self.flat.split([p.numel() for p in parameters])
        self.views = {p: piece.view_as(p) for p, piece in zip(parameters, pieces, strict=True)}
        self.missing: set[nn.Parameter] = set()


class DDP(nn.Module):
    """Calls a module, and averages the gradients of its parameters over all ranks."""

    def __init__(
        self, module: nn.Module, bucket_cap: int = 25 << 20, *, find_unused_parameters: bool = False
    ) -> None:
        super().__init__()
        self.module = module
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.detach(), 0)
        self._parameters_to_reduce = [p for p in module.parameters() if p.requires_grad]
        sizes = [p.nbytes for p in self._parameters_to_reduce]
        self._buckets = [
            _Bucket([self._parameters_to_reduce[position] for position in positions])
            for positions in assign_buckets(sizes, bucket_cap)
        ]
        self._bucket_of = {p: bucket for bucket in self._buckets for p in bucket.views}
        for parameter in self._parameters_to_reduce:
            parameter.register_post_accumulate_grad_hook(self._on_gradient)
        self._find_unused = find_unused_parameters
        self._syncs = True
        self._expects_gradients = False

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Call the module, and prepare for the backward that follows."""
        output = self.module(*args, **kwargs)
        if torch.is_grad_enabled():
            self._expects_gradients = self._syncs
            self._has_begun = self._tell_users = False
            self._used = _parameters_behind(output) if self._find_unused else None
            self._not_started = deque(self._buckets)
            self._works: list[dist.Work] = []
            for bucket in self._buckets:
                bucket.missing = set(bucket.views)
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let the gradients of what is called within accumulate, and send nothing."""
        before, self._syncs = self._syncs, False
        try:
            yield
        finally:
            self._syncs = before

    def _on_gradient(self, parameter: nn.Parameter) -> None:
        """Note that a gradient is ready; the first of them starts what backward has to do."""
        if not self._expects_gradients:
            return
        if not self._has_begun:
            self._has_begun = True
            at_end_of_backward(self._finish)
            if self._used is not None:
                self._begin_unused(self._used)
        self._mark_ready(parameter)

    def _begin_unused(self, used: set[torch.Tensor]) -> None:
        unused = [p for p in self._parameters_to_reduce if p not in used]
        flags = [p in used or p.grad is not None for p in self._parameters_to_reduce]
        self._users = torch.tensor(flags, dtype=torch.int32)
        self._tell_users = True
        for parameter in unused:
            self._mark_ready(parameter)

    def _mark_ready(self, parameter: nn.Parameter) -> None:
        bucket = self._bucket_of[parameter]
        view = bucket.views[parameter]
        if parameter.grad is None:
            view.zero_()
        else:
            # From here on it lives in the bucket, unless it has before.
            view.copy_(parameter.grad)
            parameter.grad = view
        bucket.missing.discard(parameter)
        # The order of the list is the same on all ranks; that of the gradients may not be.
        while self._not_started and not self._not_started[0].missing:
            self._reduce(self._not_started.popleft().flat.div_(dist.get_world_size()))
        if self._tell_users and not self._not_started:
            self._tell_users = False
            self._reduce(self._users)

    def _reduce(self, tensor: torch.Tensor) -> None:
        self._works.append(dist.all_reduce(tensor, async_op=True))

    def _finish(self) -> None:
        for work in self._works:
            work.wait()
        if self._used is not None:
            # Also those that this rank has not used, if another has.
            for parameter, users in zip(self._parameters_to_reduce, self._users, strict=True):
                if users:
                    parameter.grad = self._bucket_of[parameter].views[parameter]
        self._expects_gradients = False


def _parameters_behind(output: torch.Tensor) -> set[torch.Tensor]:
    """Return what the graph of a tensor ends at."""
    seen = set()
    waiting = [output.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return {node.variable for node in seen if hasattr(node, "variable")}
