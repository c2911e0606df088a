"""What one rank holds: a model after fully_shard."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple


if TYPE_CHECKING:
    from torch import nn


class Held(NamedTuple):
    """The shape that a parameter reports, and the part of it that this rank holds."""

    shape: tuple[int, ...]
    rows: int
    bytes: int


def held(model: nn.Module) -> dict[str, Held]:
    """Call ``fully_shard`` on `model` itself and return a `Held` for each parameter."""
    from torch.distributed.fsdp import fully_shard  # noqa: PLC0415 - takes a second

    fully_shard(model)
    found: dict[str, Any] = dict(model.named_parameters())
    for name, p in found.items():
        local = p.to_local()
        found[name] = Held(tuple(p.shape), local.shape[0], local.untyped_storage().nbytes())
    return found
