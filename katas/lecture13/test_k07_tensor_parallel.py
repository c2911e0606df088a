"""Tests of k07_tensor_parallel: sums and their gradients, parts of layers, and what travels."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn import functional as F

from katas.lecture13 import k07_tensor_parallel
from katas.lecture13.k07_tensor_parallel import ColumnParallelLinear
from katas.lecture13.k07_tensor_parallel import RowParallelLinear
from katas.lecture13.k07_tensor_parallel import copy_to_ranks
from katas.lecture13.k07_tensor_parallel import cross_entropy
from katas.lecture13.k07_tensor_parallel import shard
from katas.lecture13.k07_tensor_parallel import sum_over_ranks
from plugins.kit import Call
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import World


# PyTorch's tensor parallelism, and what it imports when it is first used.
THEIRS = "torch.distributed.tensor.parallel"
pytestmark = [
    pytest.mark.backend("gloo"),
    pytest.mark.ranks_import(THEIRS, "torch._dynamo", "numpy.random"),
]


def close(found: Any, expected: Any, where: str, **tolerances: float) -> None:
    """Compare tensors, of float64 to twelve digits; infinities and NaN must be the same."""
    torch.testing.assert_close(
        found,
        expected,
        **{"rtol": 1e-11, "atol": 1e-12} | tolerances,
        equal_nan=True,
        msg=lambda text: f"{where}: {text}",
    )


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
        with unchanged(tensor=tensor):
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
            where = f"this part, dim {dim} on rank {rank}, is not torch.chunk's"
            close(part, expected, where, rtol=0.0, atol=0.0)
            assert contiguous, f"the part of dim {dim} on rank {rank} of yours is not contiguous"
            assert own, "the part is a view: it keeps the whole tensor in memory"
            assert 8 * part.numel() == nbytes, f"{nbytes} bytes for {part.numel()} numbers"
            assert not asks, "a part requires no gradient; the parameter made of it will"


def copied() -> tuple[list[float], list[float]]:
    """Return a copy, and its gradient of tensors that tell the ranks apart."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    given = torch.tensor([10.0, 20.0]) * (dist.get_rank() + 1)
    with unchanged(but={"grad"}, x=x, given=given):
        copy = copy_to_ranks(x)
        # Beside the copy, x is used by this rank alone.
        torch.autograd.backward([copy, x.clone()], [given, torch.ones(2)])
    return copy.tolist(), x.grad.tolist()


def summed() -> dict[str, Any]:
    """Return sums of tensors that tell the ranks apart, and the gradient of one."""
    y = torch.tensor([[1.0, 5.0], [2.0, 7.0]], requires_grad=True)
    mine = y * (dist.get_rank() + 1)
    part = mine.t()
    handed = torch.tensor([[1.0, 0.0], [2.0, 3.0]])
    with unchanged(part=part, mine=mine, handed=handed):
        total = sum_over_ranks(part)
        contiguous = sum_over_ranks(mine)
        (grad,) = torch.autograd.grad(total, part, handed)
    return {
        "sum": total.tolist(),
        "contiguous sum": contiguous.tolist(),
        "sum's gradient": grad.tolist(),
    }


def test_a_copy_has_the_sum_of_the_gradients(world: World) -> None:
    """Forward sends nothing; the gradient that comes in is not written to."""
    for copy, grad in world(copied, 3):
        assert [1, 2] == copy, f"forward returns x, [1, 2]; yours: {copy}"
        assert [61, 121] == grad, (
            f"10 + 20 + 30, one from each rank, and twice that; and 1 of what is no use of the "
            f"copy, which is not summed; yours: {grad}"
        )


def test_a_sum_hands_its_gradient_on(world: World) -> None:
    """It is whole on each rank; the parts, which may be contiguous or not, are not written to."""
    for found in world(summed, 3):
        for name, expected in (
            # 1 + 2 + 3 times the transpose, or the tensor itself.
            ("sum", [[6, 12], [30, 42]]),
            ("contiguous sum", [[6, 30], [12, 42]]),
            # Each rank goes on with the whole sum, and has the whole gradient.
            ("sum's gradient", [[1, 0], [2, 3]]),
        ):
            assert expected == found[name], f"{name}, yours: {found[name]}; expected: {expected}"


def one_layer(bias: bool, x: torch.Tensor) -> dict[str, Any]:  # noqa: FBT001 - it is passed on
    """Return what both halves of a split MLP make of x, and their parameters."""
    first, _, second = mlp(7, bias=bias)
    kept = []
    inner = shard(first(x), -1)
    with unchanged(x=x, inner=inner), torch.no_grad():
        column, row = ColumnParallelLinear(first), RowParallelLinear(second)
        results = column(x), row(inner)
    for layer, unsplit in ((column, first), (row, second)):
        memory = {p.untyped_storage().data_ptr() for p in layer.parameters()}
        kept.append(not any(p.untyped_storage().data_ptr() in memory for p in unsplit.parameters()))
    named = [sorted(name for name, _ in layer.named_parameters()) for layer in (column, row)]
    shapes = [tuple(layer.weight.shape) for layer in (column, row)]
    return {"results": results, "kept": kept, "named": named, "shapes": shapes}


@pytest.mark.parametrize("bias", [True, False])
def test_a_column_parallel_layer_computes_some_outputs(world: World, bias: bool) -> None:  # noqa: FBT001 - a parameter
    """Its results side by side are those of the unsplit layer, which is not changed."""
    x = torch.randn(2, 3, 4).double()
    results = world(one_layer, 3, bias, x)
    for found, features in zip(results, (3, 3, 1), strict=True):
        check_layer(found, 0, (features, 4), bias=bias)
    beside = torch.cat([found["results"][0] for found in results], -1)
    close(beside, mlp(7, bias=bias)[0](x), "all ranks' results, side by side")


def check_layer(found: dict[str, Any], which: int, shape: tuple[int, int], *, bias: bool) -> None:
    """Check the parameters of a part of a layer."""
    mine, named = found["shapes"][which], found["named"][which]
    assert shape == mine, f"the weight's part has the shape {shape}, as (out, in); yours: {mine}"
    assert [["bias", "weight"], ["weight"]][not bias] == named, f"parameters of yours: {named}"
    assert found["kept"][which], "parameters of yours share memory with the unsplit layer's"


@pytest.mark.parametrize("bias", [True, False])
def test_a_row_parallel_layer_computes_a_part_of_each_sum(world: World, bias: bool) -> None:  # noqa: FBT001 - a parameter
    """With one bias, not one for each rank."""
    x = torch.randn(2, 3, 4).double()
    first, _, second = mlp(7, bias=bias)
    expected = second(first(x))
    for found, features in zip(world(one_layer, 3, bias, x), (3, 3, 1), strict=True):
        check_layer(found, 1, (4, features), bias=bias)
        close(found["results"][1], expected, "the sum of all ranks' parts, and one bias")


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
        assert expected.keys() == found.keys(), f"parameters of yours: {list(found)}"
        for name, value in expected.items():
            part = parts(value, size, cut[name])[rank] if name in cut else value
            close(found[name], part, f"{name} on rank {rank}")


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
        close(ours, theirs, "results, gradients and a part, yours and PyTorch's")


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

    for job, expected, why in (
        (forward_alone, (once,), "forward: the result"),
        (partial(split_backward, 8), (once, once), "forward and backward: then the gradient of x"),
        (without_gradient, (once,), "x requires no gradient: nobody needs the sum in backward"),
    ):
        found = world(job, 2, x).calls[1]
        assert expected == found, f"{why}\nyours:    {found}\nexpected: {expected}"


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
    for rank, losses in enumerate(world(train, 3, x, y)):
        close(losses, expected, f"the losses of ten steps on rank {rank}")


def entropy(logits: torch.Tensor, target: torch.Tensor) -> tuple[float, torch.Tensor]:
    """Return the loss and this rank's part of its gradient."""
    size, rank = dist.get_world_size(), dist.get_rank()
    part = logits.chunk(size, 1)[rank].clone().requires_grad_()
    with unchanged(but={"grad"}, logits=part, target=target):
        loss = cross_entropy(part, target, rank * -(-logits.size(1) // size))
        # Half of it, lest a gradient of 1 hide what is done with the one that comes in.
        (loss / 2).backward()
    assert loss.dtype == logits.dtype, f"logits are {logits.dtype}, the loss of yours {loss.dtype}"
    return loss.item(), part.grad


@pytest.mark.parametrize("size", [1, 3])
def test_the_cross_entropy_is_that_of_all_classes(world: World, size: int) -> None:
    """On each rank, and each gets the gradient of its own logits."""
    # Every class is a target but one; the last rank of three has two classes.
    target = torch.tensor([0, 2, 3, 5, 6, 7])
    check_entropy(world, size, torch.randn(6, 8).double(), target)


def check_entropy(world: World, size: int, whole: torch.Tensor, target: torch.Tensor) -> None:
    """Compare the loss, and the gradients of all parts, with those of all classes in one place."""
    whole.requires_grad_()
    expected = F.cross_entropy(whole, target)
    (expected / 2).backward()
    results = world(entropy, size, whole.detach(), target)
    exact = {"rtol": 1e-5, "atol": 1e-6} if whole.dtype == torch.float32 else {}
    for rank, (loss, _) in enumerate(results):
        where = f"the loss on rank {rank} of {size}, yours and F.cross_entropy's"
        close(torch.tensor(loss), torch.tensor(expected.item()), where, **exact)
    close(
        torch.cat([grad for _, grad in results], 1),
        whole.grad,
        "the gradients of the logits, yours side by side and F.cross_entropy's",
        **exact,
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_masked_logits_are_minus_infinity(world: World, dtype: torch.dtype) -> None:
    """Also all that a rank has of a row; who multiplies them by 0 gets NaN."""
    whole = torch.randn(4, 6).to(dtype)
    # A class that nobody may choose; all of rank 0's classes; all of rank 1's but the target.
    for row, masked in enumerate(([5], [0, 1, 2], [3, 5], [1])):
        whole[row, masked] = -torch.inf
    check_entropy(world, 2, whole, torch.tensor([0, 4, 4, 2]))


def test_large_logits_overflow_nothing(world: World) -> None:
    """The greatest of all ranks is subtracted on each: they are far from each other."""
    whole = torch.tensor([[1000.0, 3.0, -1000.0, 990.0], [-5000.0, -5001.0, -5000.0, -5003.0]])
    target = torch.tensor([3, 0])
    check_entropy(world, 2, whole.double(), target)


def test_three_numbers_of_each_row_travel(world: World) -> None:
    """Not the logits, and nothing in backward."""
    results = world(entropy, 2, torch.randn(6, 8).double(), torch.arange(6))
    for calls in results.calls:
        assert {"all_reduce"} == {call.name for call in calls}, f"yours calls {calls}"
        assert len(calls) <= 3, f"three all-reduces are enough; yours makes {len(calls)}: {calls}"
        sent = sum(call.bytes for call in calls)
        assert sent <= 3 * 6 * 8, f"three float64 for each of 6 rows, 144 bytes; yours: {sent}"


def without_torch(x: torch.Tensor) -> bool:
    """Return whether all of it works where there are no DTensors."""
    names = ["tensor", "nn", "nn.functional", "_functional_collectives", "device_mesh"]
    with forbids(k07_tensor_parallel, *(f"torch.distributed.{name}" for name in names)) as fresh:
        first, gelu, second = mlp()
        column, row = fresh.ColumnParallelLinear(first), fresh.RowParallelLinear(second)
        logits = row(gelu(column(x)))
        fresh.cross_entropy(logits, torch.arange(len(x)) % 4, 4 * dist.get_rank()).backward()
    return column.weight.grad is not None


def test_nothing_ready_made_is_called(world: World) -> None:
    """Neither in the layers, nor in the loss, forward and backward."""
    found = world(without_torch, 2, torch.randn(5, 4).double())
    assert [True, True] == found, f"has each rank of yours a gradient? {list(found)}"
