"""Tests of k01_shard: what your sharded model holds on each of a few ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import pytest
import torch
from torch import distributed as dist
from torch import nn

from katas.lecture14.k01_shard import held


if TYPE_CHECKING:
    from plugins.kit import World


THEIRS = "torch.distributed.fsdp"
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import(THEIRS, "torch._dynamo")]


def layer(dtype: torch.dtype = torch.float32) -> nn.Module:
    """Return the layer of the brief."""
    return nn.Linear(3, 5, dtype=dtype)


def deep() -> nn.Module:
    """Return layers whose parameters have 7, 1 and 2 rows, with a buffer and a scale."""
    model: Any = nn.Sequential(nn.Linear(2, 7), nn.BatchNorm1d(7), nn.Linear(7, 1, bias=False))
    model.scale = nn.Parameter(torch.ones(2, 2))
    model.double()
    return cast("nn.Module", model)


def look(model: nn.Module) -> dict[str, Any]:
    """Shard a model on this rank; return your description and the facts."""
    from torch.distributed.fsdp import FSDPModule  # noqa: PLC0415 - takes a second

    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    said = held(model)
    sharded = isinstance(model, FSDPModule)
    parts: dict[str, Any] = {}
    for name, p in model.named_parameters():
        every: Any = p
        local = every.to_local() if hasattr(p, "to_local") else p
        rows = before[name].chunk(dist.get_world_size())
        mine = rows[dist.get_rank()] if dist.get_rank() < len(rows) else before[name][:0]
        kept = torch.equal(local.detach(), mine)
        parts[name] = (tuple(p.shape), local.shape[0], local.untyped_storage().nbytes(), kept)
    return {"said": said, "sharded": sharded, "parts": parts}


def compare(world: World, model: nn.Module, size: int, place: int, why: str) -> Any:
    """Compare one entry of each `Held` with the parameter itself, on each rank."""
    __tracebackhide__ = True
    results = world(look, size, model)
    for rank, found in enumerate(results):
        assert found["sharded"], (
            f"rank {rank}: the model is not an FSDPModule after your call: call fully_shard(model)"
        )
        for name, theirs in found["parts"].items():
            yours = found["said"].get(name)
            assert yours is not None, (
                f"rank {rank}: your result lacks {name}; it has {found['said']}"
            )
            assert theirs[place] == yours[place], (
                f"rank {rank}, {name}: yours {yours[place]!r}, PyTorch's {theirs[place]!r}. {why}"
            )
    return results


def test_the_shape_is_that_of_the_whole(world: World) -> None:
    """A DTensor reports the shape of what all ranks have together."""
    compare(world, layer(), 2, 0, "p.shape is the shape before sharding, as a tuple")


def test_the_rows_of_a_rank(world: World) -> None:
    """Five rows over two ranks become three and two, as with torch.chunk."""
    compare(world, layer(), 2, 1, "p.to_local() is the plain tensor of this rank")


def test_the_bytes_of_a_rank(world: World) -> None:
    """A gather takes the same size from each rank, so shorter parts are padded to the longest."""
    why = "ask the storage behind the part: it may be larger than the part (untyped_storage())"
    compare(world, layer(torch.float64), 2, 2, why)


def test_a_rank_without_rows(world: World) -> None:
    """Parameters of 7, 1 and 2 rows over three ranks: some ranks have no row, but still bytes.

    Buffers are not parameters: fully_shard leaves them whole on each rank.
    """
    results = compare(world, deep(), 3, 1, "on a rank without a row, rows is 0")
    for rank, found in enumerate(results):
        said, parts = found["said"], found["parts"]
        assert parts.keys() == said.keys(), f"yours {sorted(said)}, PyTorch's {sorted(parts)}"
        sizes = {name: (each.bytes, parts[name][2]) for name, each in said.items()}
        wrong = {name: pair for name, pair in sizes.items() if pair[0] != pair[1]}
        assert not wrong, f"rank {rank}, bytes as (yours, PyTorch's): {wrong}"


def test_the_model_is_sharded(world: World) -> None:
    """fully_shard was called on the root: its own parameters are sharded, with their values."""
    why = "the root has a parameter of its own, `scale`"
    for rank, found in enumerate(compare(world, deep(), 2, 1, why)):
        lost = [name for name, part in found["parts"].items() if not part[3]]
        assert not lost, f"rank {rank}: these parameters do not hold this rank's rows: {lost}"


def test_nothing_is_sent(world: World) -> None:
    """Each rank slices its own copy, so nothing is gathered before the first forward."""
    results = world(look, 2, layer())
    for rank, calls in enumerate(results.calls):
        assert not calls, (
            f"rank {rank}: your code calls {[call.name for call in calls]}, expected no collective;"
            " to_local() sends nothing, full_tensor() gathers"
        )
    assert results[0]["said"], f"expected the weight and the bias, yours {results[0]['said']}"
