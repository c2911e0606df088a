"""Tests of k15_tensor_parallel: both functions, both layers, training and PyTorch's own."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k15_tensor_parallel import ColumnParallel
from katas.lecture13.k15_tensor_parallel import Copy
from katas.lecture13.k15_tensor_parallel import RowParallel
from katas.lecture13.k15_tensor_parallel import Sum
from katas.lecture13.k15_tensor_parallel import parallelized
from plugins.kit import Call


if TYPE_CHECKING:
    from plugins.kit import World


THEIRS = "torch.distributed.tensor.parallel"
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import(THEIRS)]


def mlp(hidden: int = 6) -> nn.Sequential:
    """Return the unsplit layers, the same on all ranks."""
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 4)).double()


def split(hidden: int = 6) -> nn.Sequential:
    """Return this rank's part of the layers."""
    first, middle, second = mlp(hidden)
    return nn.Sequential(ColumnParallel(first), middle, RowParallel(second))


def batch() -> torch.Tensor:
    """Return five rows."""
    return (torch.arange(20.0).double().view(5, 4) / 7).sin()


def copied() -> tuple[list[float], list[float], list[float]]:
    """Return a copy, its gradient, and the gradient that was passed in."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    given = torch.tensor([10.0, 20.0]) * (dist.get_rank() + 1)
    copy = Copy.apply(x)
    copy.backward(given)
    return copy.tolist(), x.grad.tolist(), (given / (dist.get_rank() + 1)).tolist()


def test_a_copy_has_the_sum_of_the_gradients(world: World) -> None:
    """Forward sends nothing; the incoming gradient is not written to."""
    for copy, grad, given in world(copied, 3, timeout=SOON):
        same(copy, [1, 2], "forward returns x")
        same(grad, [60, 120], "10 + 20 + 30, one from each rank, and twice that")
        same(given, [10, 20], "the gradient that backward was given, divided by rank + 1")


def summed() -> tuple[list[Any], ...]:
    """Return a sum, this rank's summand, and the summand's gradient."""
    part = torch.tensor([[1.0, 5.0], [2.0, 7.0]], requires_grad=True)
    mine = (part * (dist.get_rank() + 1)).t()
    total = Sum.apply(mine)
    (grad,) = torch.autograd.grad(total, mine, torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
    return total.tolist(), (mine / (dist.get_rank() + 1)).tolist(), grad.tolist()


def test_a_sum_hands_its_gradient_on(world: World) -> None:
    """The gradient is whole on each rank; the summands are not written to."""
    for total, mine, grad in world(summed, 3, timeout=SOON):
        same(total, [[6, 12], [30, 42]], "1 + 2 + 3 times a transpose")
        same(mine, [[1, 2], [5, 7]], "this rank's part afterwards, divided by rank + 1")
        same(grad, [[1, 0], [2, 3]], "its gradient: each rank has the whole one already")


def halves() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the results of both layers for inputs that all ranks know."""
    first, middle, second = mlp()
    inner = middle(first(batch()))
    mine = inner.chunk(dist.get_world_size(), -1)[dist.get_rank()]
    with torch.no_grad():
        return ColumnParallel(first)(batch()), RowParallel(second)(mine)


def test_each_layer_is_a_part_of_the_unsplit_one(world: World) -> None:
    """Columns side by side give the first layer's output; sums, with one bias, the second's."""
    results = world(halves, 3, timeout=SOON)
    with torch.no_grad():
        first, middle, second = mlp()
        inner = first(batch())
        whole = second(middle(inner))
    close(torch.cat([each[0] for each in results], -1), inner, "all ranks' columns, side by side")
    for rank, (_, total) in enumerate(results):
        close(total, whole, f"RowParallel on rank {rank}: the sum of all parts, and one bias")


def backward(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return the result of a module, and all gradients of a loss."""
    x = batch().requires_grad_()
    y = module(x)
    # x is also used outside the module, as in a transformer's residual connection.
    (y + x).square().sum().backward()
    grads = {name: p.grad for name, p in module.named_parameters()}
    return {"result": y.detach(), "x": x.grad, **grads}


def split_backward(hidden: int) -> dict[str, torch.Tensor]:
    """Return the result and the gradients of this rank's part."""
    return backward(split(hidden))


def test_gradients_are_parts_of_those_of_the_unsplit_layers(world: World) -> None:
    """Only the gradients of x and the second bias are whole. Parts are of unequal size."""
    expected = backward(mlp(7))
    cut = {"0.weight": 0, "0.bias": 0, "2.weight": 1}
    for rank, found in enumerate(world(split_backward, 3, 7, timeout=SOON)):
        for name, value in expected.items():
            part = value.chunk(3, cut[name])[rank] if name in cut else value
            close(found[name], part, f"{name}, of the gradients on rank {rank}")


def forward_alone() -> None:
    """Call a split MLP, and its backward with an x that requires no gradient."""
    split()(batch()).sum().backward()


def test_one_sum_in_forward_and_one_in_backward(world: World) -> None:
    """The result and the gradient of x are summed, 160 bytes each; nothing else is sent."""
    once = Call("all_reduce", 8 * 5 * 4)
    same(world(split_backward, 2, 6, timeout=SOON).calls[1], (once, once), "forward and backward")
    why = "x requires no gradient, so nobody needs the sum in backward"
    same(world(forward_alone, 2, timeout=SOON).calls[1], (once,), why)


def theirs() -> tuple[dict[str, Any], list[str]]:
    """Return what PyTorch's styles give, as plain tensors, and the placements of parameters."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = parallelized(mlp(), mesh)
    found = backward(model)
    placed = [str(getattr(p, "placements", "whole")) for p in model.parameters()]
    return {name: getattr(x, "to_local", lambda x=x: x)() for name, x in found.items()}, placed


def test_the_epilogue_gives_the_same(world: World) -> None:
    """The same parts, results and gradients, from a plan of two lines."""
    ours = world(split_backward, 2, 6, timeout=SOON)
    for rank, (found, placed) in enumerate(world(theirs, 2, timeout=2 * SOON)):
        cut = ["(Shard(dim=0),)", "(Shard(dim=0),)", "(Shard(dim=1),)", "(Replicate(),)"]
        same(placed, cut, "the placements of both weights and biases, in their order")
        for name, value in ours[rank].items():
            close(found[name], value, f"{name} on rank {rank}, by parallelized and by your layers")
