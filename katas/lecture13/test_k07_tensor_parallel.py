"""Tests of k07_tensor_parallel: sums and their gradients, parts of layers, and what travels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any
from unittest import mock

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn import functional as F

from katas.lecture13.k07_tensor_parallel import ColumnParallelLinear
from katas.lecture13.k07_tensor_parallel import RowParallelLinear
from katas.lecture13.k07_tensor_parallel import copy_to_ranks
from katas.lecture13.k07_tensor_parallel import cross_entropy
from katas.lecture13.k07_tensor_parallel import shard
from katas.lecture13.k07_tensor_parallel import sum_over_ranks
from plugins.kit import Call


if TYPE_CHECKING:
    from plugins.kit import World


# PyTorch's tensor parallelism, and what it imports when it is first used.
THEIRS = "torch.distributed.tensor.parallel"
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import(THEIRS, "torch._dynamo")]


def mlp(hidden: int = 8, *, bias: bool = True) -> nn.Sequential:
    """Return the MLP of a transformer: 4 features, `hidden` of them, 4 again."""
    torch.manual_seed(5)
    first, second = nn.Linear(4, hidden, bias=bias), nn.Linear(hidden, 4, bias=bias)
    return nn.Sequential(first, nn.GELU(), second).double()


def split(whole: nn.Sequential) -> nn.Sequential:
    """Return this rank's part of an MLP."""
    first, gelu, second = whole
    return nn.Sequential(ColumnParallelLinear(first), gelu, RowParallelLinear(second))


def parts(tensor: torch.Tensor, size: int, dim: int) -> list[torch.Tensor]:
    """Return what ``torch.chunk`` makes of a tensor, and then empty parts."""
    chunks = list(tensor.chunk(size, dim))
    return chunks + [tensor.narrow(dim, 0, 0)] * (size - len(chunks))


def shards(tensor: torch.Tensor, dims: tuple[int, ...]) -> list[tuple[torch.Tensor, Any]]:
    """Return the parts of a tensor, and for each what is known of its memory."""
    found = []
    for dim in dims:
        part = shard(tensor, dim)
        memory = part.untyped_storage()
        own = memory.data_ptr() != tensor.untyped_storage().data_ptr() or not part.numel()
        facts = (part.is_contiguous(), own, memory.nbytes(), part.requires_grad)
        found.append((part.detach(), facts))
    return found


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_part_is_cut_as_by_chunk(world: World, size: int) -> None:
    """Of 6 by 5 numbers; the last rank of four gets no row of 6, if three have two each."""
    # A transpose, whose clone is a transpose.
    tensor = nn.Parameter(torch.randn(5, 6).double().t())
    for rank, found in enumerate(world(shards, size, tensor, (0, 1, -1))):
        for dim, (part, (contiguous, own, nbytes, asks)) in zip((0, 1, -1), found, strict=True):
            expected = parts(tensor.detach(), size, dim)[rank]
            assert torch.equal(expected, part), f"dim {dim} on rank {rank}: {part}"
            assert contiguous
            assert own, "the part is a view: it keeps the whole tensor in memory"
            assert 8 * part.numel() == nbytes, f"{nbytes} bytes for {part.numel()} numbers"
            assert not asks, "a part requires no gradient; the parameter made of it will"


def functions() -> dict[str, Any]:
    """Return what both functions make of tensors that tell the ranks apart."""
    rank = dist.get_rank()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    copy = copy_to_ranks(x)
    given = torch.tensor([10.0, 20.0]) * (rank + 1)
    before = given.clone()
    copy.backward(given)

    y = torch.tensor([[1.0, 5.0], [2.0, 7.0]], requires_grad=True)
    mine = y * (rank + 1)
    part = mine.t()
    total = sum_over_ranks(part)
    contiguous = sum_over_ranks(mine)
    kept = torch.equal(mine, y * (rank + 1))
    handed = torch.tensor([[1.0, 0.0], [2.0, 3.0]])
    (grad,) = torch.autograd.grad(total, part, handed)
    return {
        "copy": copy.tolist(),
        "copy's gradient": x.grad.tolist(),
        "what was handed to backward of copy": torch.equal(before, given),
        "sum": total.tolist(),
        "contiguous sum": contiguous.tolist(),
        "the part is as it was": kept,
        "sum's gradient": grad.tolist(),
        "what was handed to backward of sum": handed.tolist(),
    }


def test_a_copy_has_the_sum_of_the_gradients(world: World) -> None:
    """Forward sends nothing; the gradient that comes in is not written to."""
    for found in world(functions, 3):
        assert [1, 2] == found["copy"]
        assert [60, 120] == found["copy's gradient"], "10 + 20 + 30: one for each rank"
        assert found["what was handed to backward of copy"], (
            "all_reduce works in place: others may use this gradient too"
        )


def test_a_sum_hands_its_gradient_on(world: World) -> None:
    """It is whole on each rank; the parts, which may be contiguous or not, are not written to."""
    for found in world(functions, 3):
        assert [[6, 12], [30, 42]] == found["sum"], "1 + 2 + 3 times the transpose"
        assert [[6, 30], [12, 42]] == found["contiguous sum"]
        assert found["the part is as it was"], "all_reduce works in place"
        assert [[1, 0], [2, 3]] == found["sum's gradient"], (
            "each rank goes on with the whole sum, and has the whole gradient"
        )
        assert [[1, 0], [2, 3]] == found["what was handed to backward of sum"]


def one_layer(bias: bool, x: torch.Tensor) -> dict[str, Any]:  # noqa: FBT001 - it is passed on
    """Return what both halves of a split MLP make of x, and their parameters."""
    first, _, second = whole = mlp(7, bias=bias)
    before = {name: value.clone() for name, value in whole.state_dict().items()}
    column, row = ColumnParallelLinear(first), RowParallelLinear(second)
    inner = shard(first(x), -1)
    with torch.no_grad():
        results = column(x), row(inner)
        for parameter in (*column.parameters(), *row.parameters()):
            parameter.zero_()
    after = whole.state_dict()
    kept = [
        all(torch.equal(before[name], after[name]) for name in before if name.startswith(layer))
        for layer in ("0.", "2.")
    ]
    named = [sorted(name for name, _ in layer.named_parameters()) for layer in (column, row)]
    shapes = [tuple(layer.weight.shape) for layer in (column, row)]
    return {"results": results, "kept": kept, "named": named, "shapes": shapes}


@pytest.mark.parametrize("bias", [True, False])
def test_a_column_parallel_layer_computes_some_outputs(world: World, bias: bool) -> None:  # noqa: FBT001 - a parameter
    """Its results side by side are those of the unsplit layer, which is not changed."""
    x = torch.randn(2, 3, 4).double()
    results = world(one_layer, 3, bias, x)
    for found, features in zip(results, (3, 3, 1), strict=True):
        assert (features, 4) == found["shapes"][0]
        assert [["bias", "weight"], ["weight"]][not bias] == found["named"][0]
        assert found["kept"][0], "the parameters are copies of parts of the unsplit layer's"
    beside = torch.cat([found["results"][0] for found in results], -1)
    torch.testing.assert_close(beside, mlp(7, bias=bias)[0](x))


@pytest.mark.parametrize("bias", [True, False])
def test_a_row_parallel_layer_computes_a_part_of_each_sum(world: World, bias: bool) -> None:  # noqa: FBT001 - a parameter
    """With one bias, not one for each rank."""
    x = torch.randn(2, 3, 4).double()
    first, _, second = mlp(7, bias=bias)
    expected = second(first(x))
    for found, features in zip(world(one_layer, 3, bias, x), (3, 3, 1), strict=True):
        assert (4, features) == found["shapes"][1]
        assert [["bias", "weight"], ["weight"]][not bias] == found["named"][1]
        assert found["kept"][1], "the parameters are copies, also that of the bias"
        torch.testing.assert_close(found["results"][1], expected)


def whole_backward(module: nn.Module, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the result of a module, and all gradients of a loss."""
    x = x.clone().requires_grad_()
    y = module(x)
    # x is used beside the module, too, as where a transformer goes around its MLP.
    (y + x).square().sum().backward()
    grads = {name: p.grad for name, p in module.named_parameters()}
    return {"result": y.detach(), "x": x.grad, **grads}


def split_backward(hidden: int, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the same of this rank's part of an MLP."""
    return whole_backward(split(mlp(hidden)), x)


@pytest.mark.parametrize(("size", "hidden"), [(2, 8), (3, 7), (4, 5)])
def test_gradients_are_parts_of_those_of_the_unsplit_layers(
    world: World, size: int, hidden: int
) -> None:
    """The gradient of x, and of the second bias, are whole on each rank; with empty parts too."""
    x = torch.randn(5, 4).double()
    expected = whole_backward(mlp(hidden), x)
    cut = {"0.weight": 0, "0.bias": 0, "2.weight": 1}
    for rank, found in enumerate(world(split_backward, size, hidden, x)):
        assert expected.keys() == found.keys()
        for name, value in expected.items():
            part = parts(value, size, cut[name])[rank] if name in cut else value
            torch.testing.assert_close(
                found[name],
                part,
                msg=lambda text, name=name, rank=rank: f"{name} on rank {rank}: {text}",
            )


def both(x: torch.Tensor) -> tuple[list[Any], list[Any]]:
    """Return results, gradients and an uneven part from PyTorch's tensor parallelism and ours."""
    parallel, tensor = import_module(THEIRS), torch.distributed.tensor
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    theirs = whole_backward(parallel.parallelize_module(mlp(6), mesh, plan), x)
    local = [v.to_local() if isinstance(v, tensor.DTensor) else v for v in theirs.values()]
    uneven = tensor.distribute_tensor(x, mesh, [tensor.Shard(0)]).to_local()
    return [*local, uneven], [*whole_backward(split(mlp(6)), x).values(), shard(x, 0)]


def test_it_is_pytorch_s_tensor_parallelism(world: World) -> None:
    """The same parts, with the same results and gradients."""
    for theirs, ours in world(both, 3, torch.randn(5, 4).double()):
        torch.testing.assert_close(ours, theirs)


def forward_alone(x: torch.Tensor) -> None:
    """Call a split MLP."""
    split(mlp())(x)


def without_gradient(x: torch.Tensor) -> None:
    """Call a split MLP and its backward, with an x that requires no gradient."""
    split(mlp())(x).sum().backward()


def test_one_sum_in_forward_and_one_in_backward(world: World) -> None:
    """Of the result and of the gradient of x; nothing between the layers, nothing of weights."""
    x = torch.randn(5, 4).double()
    once = Call("all_reduce", 8 * 5 * 4)

    assert (once,) == world(forward_alone, 2, x).calls[0]
    assert (once, once) == world(split_backward, 2, 8, x).calls[1]
    assert (once,) == world(without_gradient, 2, x).calls[0], (
        "x requires no gradient: nobody needs the sum in backward"
    )


def train(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    """Return the losses of a split MLP."""
    return steps(split(mlp(7)), x, y)


def steps(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> list[Any]:
    """Return the loss of each of ten steps of descent."""
    losses = []
    for _ in range(10):
        module.zero_grad()
        loss = F.mse_loss(module(x), y)
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.sub_(0.3 * parameter.grad)
    return losses


def test_training_is_that_of_the_unsplit_layers(world: World) -> None:
    """Step after step, without any reduction of gradients."""
    x, y = torch.randn(6, 4).double(), torch.randn(6, 4).double()
    expected = steps(mlp(7), x, y)
    for losses in world(train, 3, x, y):
        assert pytest.approx(expected, rel=1e-10) == losses


def entropy(logits: torch.Tensor, target: torch.Tensor) -> tuple[float, torch.Tensor]:
    """Return the loss and this rank's part of its gradient."""
    size, rank = dist.get_world_size(), dist.get_rank()
    part = logits.chunk(size, 1)[rank].clone().requires_grad_()
    before = part.detach().clone()
    loss = cross_entropy(part, target, rank * -(-logits.size(1) // size))
    # Half of it, lest a gradient of 1 hide what is done with the one that comes in.
    (loss / 2).backward()
    assert torch.equal(before, part), "the logits are written to"
    return loss.item(), part.grad


@pytest.mark.parametrize("size", [1, 3])
def test_the_cross_entropy_is_that_of_all_classes(world: World, size: int) -> None:
    """On each rank, and each gets the gradient of its own logits."""
    whole = torch.randn(6, 8).double().requires_grad_()
    # Every class is a target but one; the last rank of three has two classes.
    target = torch.tensor([0, 2, 3, 5, 6, 7])
    expected = F.cross_entropy(whole, target)
    (expected / 2).backward()
    results = world(entropy, size, whole.detach(), target)
    for loss, _ in results:
        assert pytest.approx(expected.item(), rel=1e-12) == loss
    torch.testing.assert_close(torch.cat([grad for _, grad in results], 1), whole.grad)


def test_large_logits_overflow_nothing(world: World) -> None:
    """The greatest of all ranks is subtracted on each: they are far from each other."""
    whole = torch.tensor([[1000.0, 3.0, -1000.0, 990.0], [-5000.0, -5001.0, -5000.0, -5003.0]])
    target = torch.tensor([3, 0])
    expected = F.cross_entropy(whole.double(), target).item()
    for loss, grad in world(entropy, 2, whole.double(), target):
        assert pytest.approx(expected, rel=1e-12) == loss
        assert bool(grad.isfinite().all())


def test_three_numbers_of_each_row_travel(world: World) -> None:
    """Not the logits, and nothing in backward."""
    results = world(entropy, 2, torch.randn(6, 8).double(), torch.arange(6))
    for calls in results.calls:
        assert {"all_reduce"} == {call.name for call in calls}
        assert len(calls) <= 3, f"{len(calls)} all-reduces"
        assert sum(call.bytes for call in calls) <= 3 * 6 * 8


def without_torch(x: torch.Tensor) -> bool:
    """Return whether all of it works where there are no DTensors."""
    made = mock.Mock(side_effect=AssertionError("torch.distributed.tensor does this kata's work"))
    with mock.patch("torch.distributed.tensor.DTensor.__new__", made):
        split_backward(8, x)
        entropy(x, torch.arange(len(x)) % 4)
    return True


def test_nothing_ready_made_is_called(world: World) -> None:
    """Neither in the layers, nor in the loss, forward and backward."""
    assert [True, True] == world(without_torch, 2, torch.randn(5, 4).double())
