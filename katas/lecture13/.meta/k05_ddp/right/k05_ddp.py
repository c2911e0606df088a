"""DistributedDataParallel with counters, and a division at the end."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import distributed as dist
from torch import nn
from torch.distributed import ReduceOp


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence


def assign_buckets(sizes: Sequence[int], cap: int) -> list[list[int]]:
    """Start a new bucket behind each parameter that fills one."""
    buckets: list[list[int]] = [[]]
    total = 0
    for position in range(len(sizes) - 1, -1, -1):
        buckets[-1].append(position)
        total += sizes[position]
        if total >= cap:
            buckets.append([])
            total = 0
    return [bucket for bucket in buckets if bucket]


def at_end_of_backward(callback: Callable[[], None]) -> None:
    """Given."""
    torch.autograd.Variable._execution_engine.queue_callback(callback)  # noqa: SLF001 - its only name


class DDP(nn.Module):
    """Has lists with an entry for each parameter, or for each bucket."""

    def __init__(
        self, module: nn.Module, bucket_cap: int = 25 << 20, *, find_unused_parameters: bool = False
    ) -> None:
        super().__init__()
        self.module = module
        with torch.no_grad():
            for tensor in module.state_dict(keep_vars=True).values():
                dist.broadcast(tensor, 0)
        self.reduced = [p for p in module.parameters() if p.requires_grad]
        self.buckets = assign_buckets(
            [p.numel() * p.element_size() for p in self.reduced], bucket_cap
        )
        self.place, self.flats = {}, []
        for number, bucket in enumerate(self.buckets):
            ends = list(accumulate(self.reduced[i].numel() for i in bucket))
            first = self.reduced[bucket[0]]
            flat = torch.empty(ends[-1], dtype=first.dtype, device=first.device)
            for i, end in zip(bucket, ends, strict=True):
                view = flat[end - self.reduced[i].numel() : end].view(self.reduced[i].shape)
                self.place[i] = (number, view)
            self.flats.append(flat)
        self.number_of = {id(p): i for i, p in enumerate(self.reduced)}
        for i, p in enumerate(self.reduced):
            p.register_post_accumulate_grad_hook(partial(self.hook, i))
        self.finds = find_unused_parameters
        self.sync, self.armed = [True], None

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Make a new state for the backward that follows."""
        out = self.module(*args, **kwargs)
        if torch.is_grad_enabled():
            self.armed = None
            if self.sync[-1]:
                self.armed = {
                    "left": [len(bucket) for bucket in self.buckets],
                    "used": self.walk(out.grad_fn) if self.finds else None,
                    "begun": 0,
                    "works": [],
                    "flags": None,
                }
        return out

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Push and pop."""
        self.sync.append(False)
        try:
            yield
        finally:
            self.sync.pop()

    def walk(self, root: Any) -> set[int]:
        """Return the numbers of the parameters that a graph ends at."""
        found, done, stack = set(), set(), [root]
        while stack:
            node = stack.pop()
            if node is None or node in done:
                continue
            done.add(node)
            variable = getattr(node, "variable", None)
            if variable is not None and id(variable) in self.number_of:
                found.add(self.number_of[id(variable)])
            stack.extend(next_node for next_node, _ in node.next_functions)
        return found

    def hook(self, i: int, _: torch.Tensor) -> None:
        """Copy a gradient to its place."""
        state = self.armed
        if state is None:
            return
        if "queued" not in state:
            state["queued"] = True
            at_end_of_backward(self.finish)
            if state["used"] is not None:
                has = [
                    int(n in state["used"] or p.grad is not None)
                    for n, p in enumerate(self.reduced)
                ]
                state["flags"] = torch.tensor(has, dtype=torch.int32)
                state["works"].append(dist.all_reduce(state["flags"], async_op=True))
                for n in range(len(self.reduced)):
                    if n not in state["used"]:
                        self.ready(n)
        self.ready(i)

    def ready(self, i: int) -> None:
        """Count down, and begin what is complete."""
        state, p = self.armed, self.reduced[i]
        number, view = self.place[i]
        if p.grad is None:
            view.fill_(0)
        elif p.grad.data_ptr() != view.data_ptr():
            view.copy_(p.grad)
        if p.grad is not None:
            p.grad = view
        state["left"][number] -= 1
        while state["begun"] < len(self.flats) and state["left"][state["begun"]] == 0:
            flat = self.flats[state["begun"]]
            state["begun"] += 1
            state["works"].append(dist.all_reduce(flat, ReduceOp.SUM, async_op=True))

    def finish(self) -> None:
        """Wait, divide, and hand out."""
        state, self.armed = self.armed, None
        for work in state["works"]:
            work.wait()
        for flat in self.flats:
            flat.mul_(1 / dist.get_world_size())
        if state["flags"] is not None:
            for i in state["flags"].nonzero().flatten().tolist():
                self.reduced[i].grad = self.place[i][1]
