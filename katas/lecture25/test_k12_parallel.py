"""Tests of k12_parallel: two and three real ranks against one process with all examples."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F

from katas.lecture25.k12_parallel import backward_mean
from katas.lecture25.k12_parallel import backward_sum
from katas.lecture25.k12_parallel import sharded
from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import World


PARALLEL = "torch.distributed.tensor.parallel"
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import(PARALLEL, "torch._dynamo")]
# Ids of each rank: two bags of two. Only rank 0 has row 4; all ranks have row 0.
IDS = [[[4, 0], [1, 1]], [[2, 3], [3, 0]], [[0, 6], [6, 5]]]
AGAIN = " by a second call, after its gradient was removed; does a hook of the first still act?"


def irrational(*size: int) -> torch.Tensor:
    """Return values of both signs."""
    return (torch.arange(torch.Size(size).numel()).double() * 1.7 + 1).sin().view(size)


def embedding() -> nn.Embedding:
    """Return a table of seven rows."""
    return nn.Embedding.from_pretrained(irrational(7, 3), freeze=False)


def linear() -> nn.Linear:
    """Return a head."""
    head = nn.Linear(3, 1, dtype=torch.float64)
    head.weight.data.copy_(irrational(1, 3).exp())
    head.bias.data.fill_(0.3)
    return head


def targets(rank: int) -> torch.Tensor:
    """Return the targets of this rank's examples."""
    return irrational(2, 1) - rank


def weights(rank: int) -> torch.Tensor:
    """Return a weight for each number of this rank's rows."""
    return irrational(2, 2, 3).exp() + rank


def close(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare tensors to twelve digits."""
    __tracebackhide__ = True
    assert yours.shape == expected.shape, (
        f"{why}: yours has shape {tuple(yours.shape)}, expected {tuple(expected.shape)}"
    )
    times = ((yours * expected).sum() / expected.square().sum()).item()
    scaled = torch.allclose(yours, times * expected) and abs(times - 1) > 1e-6
    assert torch.allclose(yours, expected, rtol=1e-12, atol=1e-12), (
        f"{why}\nyours:    {yours.tolist()}\nexpected: {expected.tolist()}"
        + (f"\nyours is {times:.3g} times what is expected" if scaled else "")
    )


def mesh() -> Any:
    """Return a mesh of all ranks."""
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415 - as in the kata

    return init_device_mesh("cpu", (dist.get_world_size(),))


def rows_of_a_rank() -> tuple[torch.Tensor, torch.Tensor, int, bool]:
    """Return rows of its own and of common ids, its row count, and whether rows are plain."""
    table = sharded(embedding(), mesh())
    kept = table.weight.to_local().size(0) if hasattr(table.weight, "to_local") else 7
    with torch.no_grad():
        mine = table(torch.tensor(IDS[dist.get_rank()]))
        common = table(torch.tensor(IDS[2]))
    plain = not any(hasattr(rows, "to_local") for rows in (mine, common))
    return full(mine), full(common), kept, plain


def test_each_rank_gets_the_rows_of_its_own_ids(world: World) -> None:
    """Each rank keeps part of the table: four of seven rows, or three."""
    whole = irrational(7, 3)
    for rank, (mine, common, kept, plain) in enumerate(world(rows_of_a_rank, 2, timeout=20)):
        assert plain, f"rank {rank}: you return a DTensor: return this rank's rows as a tensor"
        close(
            common, whole[torch.tensor(IDS[2])], f"rank {rank}, all ranks have ids {IDS[2]}: rows"
        )
        why = f"rank {rank}: rows of its ids {IDS[rank]}; the other rank has {IDS[1 - rank]}"
        close(mine, whole[torch.tensor(IDS[rank])], why)
        assert kept == 4 - rank, (
            f"on rank {rank} your table keeps {kept} rows, expected {4 - rank} of 7"
        )


def full(tensor: Any) -> torch.Tensor:
    """Return the whole tensor."""
    whole: torch.Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return whole.clone()


def gradients_of_mean() -> tuple[float, list[torch.Tensor | None], bool]:
    """Return loss, gradients of table and head, and whether weights are unchanged."""
    rank = dist.get_rank()
    table = sharded(embedding(), mesh())
    head = nn.parallel.DistributedDataParallel(linear())
    ids, target = torch.tensor(IDS[rank]), targets(rank)
    with unchanged(ids=ids, target=target):
        loss = backward_mean(table, head, ids, target)
    kept = torch.equal(full(table.weight.detach()), irrational(7, 3))
    parameters = [*head.module.parameters()]
    kept = kept and torch.equal(parameters[0], irrational(1, 3).exp())
    grads = [None if p.grad is None else full(p.grad) for p in (table.weight, *parameters)]
    table.weight.grad = None
    head.zero_grad()
    backward_mean(table, head, ids, target)
    again = table.weight.grad
    return loss, [*grads, None if again is None else full(again)], kept


@pytest.mark.parametrize("ranks", [2, 3])
def test_table_and_head_learn_at_one_rate(world: World, ranks: int) -> None:
    """Gradients equal those of one process that has the examples of all ranks."""
    table, head = embedding(), linear()
    out = head(table(torch.tensor([bag for ids in IDS[:ranks] for bag in ids])).sum(1))
    wanted = torch.cat([targets(rank) for rank in range(ranks)])
    F.mse_loss(out, wanted).backward()
    own = (out - wanted).detach().square().view(ranks, -1).mean(1).tolist()
    names = ["table", "weight of the head", "bias of the head", f"table{AGAIN}"]
    parts = [table.weight, head.weight, head.bias, table.weight]
    for rank, (loss, grads, kept) in enumerate(world(gradients_of_mean, ranks, timeout=20)):
        for name, yours, part in zip(names, grads, parts, strict=True):
            assert yours is not None, f"on rank {rank} the {name} has no gradient"
            close(yours, part.grad, f"gradient of the {name}, on rank {rank} of {ranks}")
        assert loss == pytest.approx(own[rank], rel=1e-12), (
            f"the mean squared error on rank {rank}: yours {loss}, expected {own[rank]}"
        )
        assert kept, f"your code changes a weight on rank {rank}; leave that to an optimizer"


def gradients_of_sum() -> tuple[float, list[torch.Tensor], bool]:
    """Return loss, gradients of two calls, and whether the weights are unchanged."""
    rank = dist.get_rank()
    table = nn.parallel.DistributedDataParallel(embedding())
    ids, factors = torch.tensor(IDS[rank]), weights(rank)
    with unchanged(ids=ids, weights=factors):
        loss = backward_sum(table, ids, factors)
    weight = table.module.weight
    grads = [weight.grad.clone()]
    weight.grad = None
    backward_sum(table, ids, factors)
    grads.append(weight.grad.clone())
    return loss, grads, torch.equal(weight.detach(), irrational(7, 3))


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_copied_table_gets_the_sum(world: World, ranks: int) -> None:
    """The gradient is the sum over the ranks, not their mean."""
    table = embedding()
    losses = [(table(torch.tensor(IDS[r])) * weights(r)).sum() for r in range(ranks)]
    torch.stack(losses).sum().backward()
    for rank, (loss, grads, kept) in enumerate(world(gradients_of_sum, ranks, timeout=20)):
        for grad, when in zip(grads, ("", AGAIN), strict=True):
            why = f"gradient of the copied table{when}, on rank {rank} of {ranks}"
            close(grad, table.weight.grad, why)
        assert kept, f"your code changes a weight on rank {rank}; leave that to an optimizer"
        assert loss == pytest.approx(losses[rank].item(), rel=1e-12), (
            f"the loss of rank {rank}: yours {loss}, expected {losses[rank].item()}"
        )
