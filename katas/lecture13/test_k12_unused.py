"""Tests of k12_unused: what a graph leads to, and means of gradients that some ranks lack."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k12_unused import average_used
from katas.lecture13.k12_unused import parameters_behind
from plugins.kit import Call


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = [
    pytest.mark.backend("gloo"),
    # DistributedDataParallel imports it when it is first used.
    pytest.mark.ranks_import("torch._dynamo"),
]


class Branches(nn.Module):
    """Four layers, of which a forward uses some."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.ModuleDict({name: nn.Linear(2, 2) for name in "abcd"}).double()

    def forward(self, x: torch.Tensor, names: str) -> torch.Tensor:
        """Call the layers that are named."""
        for name in names:
            x = torch.tanh(self.layers[name](x))
        return x


def names_behind(model: Branches, output: torch.Tensor) -> list[str]:
    """Return the names of the parameters that your code finds."""
    found = parameters_behind(output)
    return [name for name, p in model.named_parameters() if any(p is each for each in found)]


def test_the_graph_leads_to_what_was_used() -> None:
    """Weights and biases of the layers that were called, and no others."""
    model = Branches()
    found = names_behind(model, model(torch.ones(1, 2).double(), "ca"))
    expected = [f"layers.{name}.{what}" for name in "ac" for what in ("weight", "bias")]
    same(found, expected, "parameters behind a forward through c and a")
    frozen = nn.Parameter(torch.ones(2), requires_grad=False)
    used = nn.Parameter(torch.ones(2))
    found_two = parameters_behind(frozen * used)
    same([each is used for each in found_two], [True], "leaves behind frozen * used: the one")


def test_the_graph_may_be_deep_and_wide() -> None:
    """Each node is visited once, and no function calls itself a thousand times."""
    model = Branches()
    x = model(torch.ones(1, 2).double(), "b")
    for _ in range(1500):
        x = x + 0
    for _ in range(40):
        x = (x + x) / 2
    same(names_behind(model, x), ["layers.b.weight", "layers.b.bias"], "behind a long graph")


def gradients(model: nn.Module) -> list[torch.Tensor | None]:
    """Return all gradients."""
    return [p.grad for p in model.parameters()]


def averaged(uses: list[list[str]]) -> list[list[Any]]:
    """Return your gradients of each round; ``uses[round][rank]`` names the layers."""
    found = []
    x = torch.tensor([[1.0, 2.0]]).double() + dist.get_rank()
    for names in uses:
        model = Branches()
        model(x, names[dist.get_rank()]).sum().backward()
        average_used(list(model.parameters()))
        found.append(gradients(model))
    return found


def theirs(uses: list[list[str]]) -> list[list[Any]]:
    """Return the gradients that DistributedDataParallel gives."""
    found = []
    x = torch.tensor([[1.0, 2.0]]).double() + dist.get_rank()
    for names in uses:
        model = Branches()
        ddp = DistributedDataParallel(model, find_unused_parameters=True)
        ddp(x, names[dist.get_rank()]).sum().backward()
        found.append(gradients(model))
    return found


def test_the_means_are_those_of_ddp(world: World) -> None:
    """Layers are used by both ranks, by one of them, or by none."""
    uses = [["abcd", "abcd"], ["ad", "bd"], ["a", "c"]]
    names = [name for name, _ in Branches().named_parameters()]
    yours, expected = (world(each, 2, uses, timeout=2 * SOON) for each in (averaged, theirs))
    for rank in range(2):
        for number, use in enumerate(uses):
            for name, mine, right in zip(
                names, yours[rank][number], expected[rank][number], strict=True
            ):
                what = f"{name} on rank {rank}; the ranks use {use}"
                assert (right is None) == (mine is None), (
                    f"{what}\nyours:     {mine}\nPyTorch's: {right}"
                )
                if right is not None:
                    close(mine, right, f"{what}, where expected is PyTorch's")


def once() -> list[bool]:
    """Average once, with gradients on only one rank; return which ones exist afterwards."""
    model = Branches()
    if dist.get_rank():
        model(torch.ones(1, 2).double(), "b").sum().backward()
    average_used(list(model.parameters()))
    return [grad is not None for grad in gradients(model)]


def test_two_messages_whatever_is_used(world: World) -> None:
    """Eight flags of 4 bytes and 24 float64, even from a rank that has no gradient."""
    results = world(once, 2, timeout=SOON)
    expected = (Call("all_reduce", 8 * 4), Call("all_reduce", 24 * 8))
    for rank, calls in enumerate(results.calls):
        same(calls, expected, f"what rank {rank} calls")
    used = [False, False, True, True, False, False, False, False]
    same(list(results), [used] * 2, "which parameters have a gradient: rank 1 has used b alone")
