"""Tests of k06_zero: compared with bytes measured on ranks of PyTorch's sharded training."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from katas.lecture14 import k06_zero as kata
from katas.lecture14.k06_zero import LAYERS
from katas.lecture14.k06_zero import RANKS
from katas.lecture14.k06_zero import WIDTH
from katas.lecture14.k06_zero import Held
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.kit import World


FSDP = "torch.distributed.fsdp"
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import(FSDP, "torch._dynamo")]
MEASURED: list[dict[str, Held]] = []
RULES = {
    "zero1": {
        "parameters": "each rank computes all layers, with whole parameters",
        "gradients": "all gradients are reduced on all ranks, and stay there",
        "moments": "a rank updates a part of the parameters, with two moments for each element",
    },
    "zero2": {
        "parameters": "between forward and backward they are as in zero1",
        "gradients": "a rank keeps what its part of the parameters needs",
        "moments": "as in zero1",
    },
    "zero3": {
        "parameters": "a layer is whole only while it computes",
        "gradients": "as in zero2",
        "moments": "as in zero1",
    },
    "zero2_bf16": {
        "parameters": "what is gathered for computing is in param_dtype",
        "gradients": "the optimizer works on float32 shards, and so it gets float32 gradients",
        "moments": "they are those of the float32 shards",
    },
    "zero3_bf16": {
        "parameters": "what stays is the shard: in which dtype is the copy that Adam updates?",
        "gradients": "the optimizer works on float32 shards, and so it gets float32 gradients",
        "moments": "they are those of the float32 shards",
    },
}


def size_of(tensors: Iterable[Any]) -> int:
    """Return the bytes of these tensors on this rank; a DTensor counts its local part."""
    return sum((each.to_local() if hasattr(each, "to_local") else each).nbytes for each in tensors)


def measure(name: str) -> Held:
    """Train one step in this mode, and measure."""
    model: Any = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))
    adam = torch.optim.Adam
    if name == "zero1":
        trained: Any = DistributedDataParallel(model)
        with warnings.catch_warnings():
            # From TorchScript, which compiles other optimizers.
            warnings.simplefilter("ignore")
            zero = import_module("torch.distributed.optim")
        optimizer: Any = zero.ZeroRedundancyOptimizer(model.parameters(), adam)
    else:
        fsdp = import_module(FSDP)
        dtype = torch.bfloat16 if name.endswith("bf16") else None
        for layer in (*model, model):
            fsdp.fully_shard(
                layer,
                reshard_after_forward=name.startswith("zero3"),
                mp_policy=fsdp.MixedPrecisionPolicy(param_dtype=dtype),
            )
        trained, optimizer = model, adam(model.parameters())
    loss = trained(torch.ones(2, WIDTH)).float().sum()
    parameters = size_of(model.parameters())
    loss.backward()
    gradients = size_of(p.grad for p in model.parameters())
    optimizer.step()
    states = getattr(optimizer, "optim", optimizer).state.values()
    moments = size_of(state[key] for state in states for key in ("exp_avg", "exp_avg_sq"))
    return Held(parameters, gradients, moments)


def measure_all() -> dict[str, Held]:
    """Train one step in each mode."""
    return {name: measure(name) for name in RULES}


def measured(world: World) -> list[dict[str, Held]]:
    """Return the numbers of each rank, measured once for all rows."""
    if not MEASURED:
        MEASURED.extend(world(measure_all, RANKS, timeout=50))
    return MEASURED


def predicted() -> dict[str, tuple[object, ...]]:
    """Return your rows, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.held(), fresh.held()
        assert rows == again, "`held` returns different rows when called again"
        return {name: tuple(row) for name, row in rows.items()}


def test_every_row_is_there() -> None:
    """One row for each mode and no others; your rows cannot call torch."""
    yours = set(predicted())
    assert yours == set(RULES), f"you return rows {sorted(yours)}, expected {sorted(RULES)}"


@pytest.mark.parametrize("name", RULES)
def test_row(world: World, name: str) -> None:
    """The three numbers of a row, on each of four ranks."""
    row = predicted()[name]
    assert [int] * 3 == [type(each) for each in row], f"{name}: yours {row}, expected integers"
    for rank, found in enumerate(measured(world)):
        right = found[name]
        for what, yours in zip(Held._fields, row, strict=True):
            assert yours == getattr(right, what), (
                f"{name}: your row has {yours} bytes of {what}, but rank {rank} holds a different"
                f" number in PyTorch. {RULES[name][what]}"
            )
