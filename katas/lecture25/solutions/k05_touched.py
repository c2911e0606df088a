"""Pay for the rows that a step touches."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Callable


class Meter(TorchDispatchMode):
    """Counts operators, and the bytes of results that share no memory with an argument. Given."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator, and count."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.operators += 1
        old = {part.data_ptr() for each in (*args, *kwargs.values()) for part in storages(each)}
        self.bytes += sum(it.nbytes() for it in storages(result) if it.data_ptr() not in old)
        return result


def storages(value: Any) -> list[torch.UntypedStorage]:
    """Return the storages of a tensor, or of a sequence of tensors. Given."""
    if isinstance(value, tuple | list):
        return [it for each in value for it in storages(each)]
    if not isinstance(value, torch.Tensor):
        return []
    # The indices and values of a sparse tensor; `_values` does not check whether it is coalesced.
    parts = [value._indices(), value._values()] if value.is_sparse else [value]  # noqa: SLF001
    return [part.untyped_storage() for part in parts]


def pooled(table: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Return the sum of each bag's rows: [bags, dim].

    Bag b is ids[offsets[b] : offsets[b + 1]]; the last bag runs to the end; a bag may be empty.
    The table's gradient is dense. Do not allocate a row for each id.
    """
    return F.embedding_bag(ids, table, offsets, mode="sum")


def step(
    table: torch.Tensor,
    ids: torch.Tensor,
    offsets: torch.Tensor,
    loss: Callable[[torch.Tensor], torch.Tensor],
    *,
    lr: float,
    decay: float,
) -> torch.Tensor:
    """Take one step of SGD on `loss(pooled(table, ids, offsets))`, and return the loss, detached.

    Each row that occurs changes by -lr * (its gradient + decay * row), once, however often it
    occurs; other rows do not change. `table` requires no gradient and is changed in place. Call
    `loss` and `backward` once: parameters in `loss` get their gradients; leave those as they are.
    `ids` may be empty. Allocate nothing as large as the table, and no row for each id.
    """
    rows, places = ids.unique(return_inverse=True)
    small = table[rows].requires_grad_()
    value = loss(pooled(small, places, offsets))
    value.backward()
    table[rows] -= lr * (small.grad + decay * small.detach())
    return value.detach()
