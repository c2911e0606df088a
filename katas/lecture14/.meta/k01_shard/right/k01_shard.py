"""What one rank holds: imported at the top, with a mesh, and the local parts of the state dict."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

from torch import distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


if TYPE_CHECKING:
    from torch import nn


class Held(NamedTuple):
    """What a parameter says of itself, and what this rank has of it."""

    shape: tuple[int, ...]
    rows: int
    bytes: int


def held(model: nn.Module) -> dict[str, Held]:
    """Call ``fully_shard`` on `model` itself and return a `Held` for each parameter."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    fully_shard(model, mesh=mesh)
    parts = model.state_dict()
    names = {name for name, _ in model.named_parameters()}
    return {
        name: Held(part.shape, len(part.to_local()), part.to_local().untyped_storage().size())
        for name, part in parts.items()
        if name in names
    }
