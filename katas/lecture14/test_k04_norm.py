"""Tests of k04_norm: compared with clip_grad_norm_ in one process, and on DTensors."""

from __future__ import annotations

from math import inf
from math import nan
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn

from katas.lecture14 import k04_norm as kata
from katas.lecture14.k04_norm import clip_
from katas.lecture14.k04_norm import total_norm
from plugins.kit import Call
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = [
    pytest.mark.backend("gloo"),
    pytest.mark.ranks_import("torch.distributed.tensor", "torch._dynamo"),
]
TYPES = (2.0, 1.0, 3.0, 0.5, inf)
Grads = list[torch.Tensor]


def close(yours: Any, expected: Any, where: str) -> None:
    """Compare float64 values to twelve digits; NaN equals NaN."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours,
        expected,
        rtol=1e-12,
        atol=1e-12,
        equal_nan=True,
        msg=lambda text: f"{where}: yours {yours}, PyTorch's {expected}. {text}",
    )


def numbers(*size: int) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(len(size) + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def setting() -> tuple[Grads, Grads]:
    """Return gradients of 5, 1 and 2 rows to shard, and a replicated one."""
    return [numbers(5, 3), numbers(1), numbers(2, 2, 2)], [numbers(4)]


def rows(whole: Grads) -> Grads:
    """Return this rank's rows of each gradient, perhaps none."""
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    for grad in whole:
        each = -(-len(grad) // size)
        found.append(grad[rank * each : (rank + 1) * each].clone())
    return found


def norms(whole: Grads, replicated: Grads, types: tuple[float, ...]) -> Grads:
    """Return the norm of each type."""
    mine = rows(whole)
    with unchanged(mine=mine, replicated=replicated):
        return [total_norm(mine, replicated, norm_type) for norm_type in types]


def clipped(
    whole: Grads, replicated: Grads, max_norm: float, norm_type: float
) -> tuple[torch.Tensor, Grads, Grads, bool]:
    """Return the norm, the clipped gradients, and whether they kept their memory."""
    mine = rows(whole)
    every = [*mine, *replicated]
    places = [grad.data_ptr() for grad in every]
    total = clip_(mine, replicated, max_norm, norm_type)
    return total, mine, replicated, places == [grad.data_ptr() for grad in every]


def theirs(grads: Grads, max_norm: float, norm_type: float) -> tuple[torch.Tensor, Grads]:
    """Return PyTorch's norm in one process, and its gradients."""
    parameters = [nn.Parameter(torch.zeros_like(grad)) for grad in grads]
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.grad = grad.clone()
    total = nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)
    return total, [p.grad for p in parameters if p.grad is not None]


def compare_norms(world: World, size: int, whole: Grads, replicated: Grads, why: str) -> None:
    """Compare the norms of all types with PyTorch's."""
    __tracebackhide__ = True
    for rank, found in enumerate(world(norms, size, whole, replicated, TYPES)):
        for norm_type, yours in zip(TYPES, found, strict=True):
            expected, _ = theirs([*whole, *replicated], 1.0, norm_type)
            close(yours, expected, f"rank {rank} of {size}, norm of type {norm_type} ({why})")


def compare_grads(world: World, max_norm: float, norm_type: float, spoilt: float = 0.5) -> None:
    """Compare the gradients after clipping, on three ranks."""
    __tracebackhide__ = True
    whole, replicated = setting()
    whole[0][4, 1] = spoilt
    total, grads = theirs([*whole, *replicated], max_norm, norm_type)
    for rank, found in enumerate(world(clipped, 3, whole, replicated, max_norm, norm_type)):
        norm, mine, common, there = found
        where = f"rank {rank}, type {norm_type}, max_norm {max_norm}"
        close(norm, total, f"{where}, the norm that is returned")
        assert there, (
            f"{where}: your code creates new gradients, but the optimizer reads the old ones"
        )
        for yours, expected in zip(mine, grads, strict=False):
            each = -(-len(expected) // 3)
            close(yours, expected[rank * each : (rank + 1) * each], f"{where}, a sharded gradient")
        close(common, grads[len(mine) :], f"{where}, the replicated gradient")


def test_three_and_four_are_five(world: World) -> None:
    """The picture: the norm is neither the sum nor the mean of the ranks' norms."""
    whole = [torch.tensor([3.0, 4.0], dtype=torch.float64)]
    yours = world(norms, 2, whole, [], (2.0,))
    five = [[torch.tensor(5.0, dtype=torch.float64)]] * 2
    close(list(yours), five, "the norms of both ranks")


def test_norms_of_each_type(world: World) -> None:
    """Norms of types 2, 1, 3, 0.5 and infinity of sharded gradients, over two ranks."""
    compare_norms(world, 2, setting()[0], [], "no replicated gradient")


def test_what_is_replicated_counts_one_time(world: World) -> None:
    """Every rank has a replicated gradient in full; a sum over ranks would count it repeatedly."""
    compare_norms(world, 2, *setting(), "with a replicated gradient: it is added after the ranks")


def test_a_rank_without_a_row(world: World) -> None:
    """Three ranks share gradients of one row and of two rows, or there are no gradients."""
    compare_norms(world, 3, [numbers(1), numbers(2, 2, 2)], [], "ranks without a row")
    for rank, found in enumerate(world(norms, 2, [], [], TYPES)):
        zeros = [torch.tensor(0.0, dtype=torch.float64)] * len(TYPES)
        close(found, zeros, f"rank {rank}, norms of no gradient")


@pytest.mark.parametrize("norm_type", [2.0, inf])
def test_large_gradients_are_scaled(world: World, norm_type: float) -> None:
    """Gradients are scaled in place, and by the same factor on all ranks."""
    compare_grads(world, 0.3, norm_type)


def test_the_norm_is_the_limit(world: World) -> None:
    """At norm == max_norm the factor is already below 1, because of the 1e-6."""
    whole, replicated = setting()
    whole[0][4, 1] = 0.5
    compare_grads(world, theirs([*whole, *replicated], 1.0, 2.0)[0].item(), 2.0)


def test_small_gradients_stay(world: World) -> None:
    """Below max_norm nothing is scaled up."""
    compare_grads(world, 1000.0, 2.0)


@pytest.mark.parametrize("spoilt", [inf, nan])
def test_one_rank_has_an_infinity(world: World, spoilt: float) -> None:
    """One rank's infinity reaches all ranks, and their gradients equal PyTorch's."""
    compare_grads(world, 0.3, 2.0, spoilt)


def test_one_number_is_sent(world: World) -> None:
    """One number from each rank, whatever the number of gradients."""
    for norm_type in (2.0, inf):
        calls = world(clipped, 2, *setting(), 0.3, norm_type).calls
        for rank, yours in enumerate(calls):
            assert (Call("all_reduce", 8),) == yours, (
                f"rank {rank}, norm of type {norm_type}: your code sends {yours}, expected one"
                " all_reduce of 8 bytes"
            )


def of_dtensors(whole: Grads, replicated: Grads) -> tuple[Any, Any]:
    """Clip DTensors made by fully_shard; return the norm and this rank's gradients."""
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415 - takes a second
    from torch.distributed.tensor import DTensor  # noqa: PLC0415
    from torch.distributed.tensor import Replicate  # noqa: PLC0415
    from torch.distributed.tensor import Shard  # noqa: PLC0415

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    parameters: list[Any] = []
    for number, (part, grad) in enumerate(
        zip([*rows(whole), *replicated], [*whole, *replicated], strict=True)
    ):
        placement: Any = Shard(0) if number < len(whole) else Replicate()
        facts: dict[str, Any] = {"run_check": False, "shape": grad.shape, "stride": grad.stride()}
        zero, mine = (
            DTensor.from_local(each, mesh, [placement], **facts)
            for each in (torch.zeros_like(part), part)
        )
        p = nn.Parameter(zero)
        p.grad = mine
        parameters.append(p)
    total: Any = nn.utils.clip_grad_norm_(parameters, 0.3)
    return total.full_tensor(), [p.grad.to_local() for p in parameters]


def test_dtensors_have_the_same(world: World) -> None:
    """PyTorch clips fully_shard's DTensors the way your code clips local tensors."""
    whole, replicated = setting()
    expected = world(of_dtensors, 2, whole, replicated)
    for rank, found in enumerate(world(clipped, 2, whole, replicated, 0.3, 2.0)):
        close(found[0], expected[rank][0], f"rank {rank}, the norm")
        close([*found[1], *found[2]], expected[rank][1], f"rank {rank}, the gradients")


def by_hand() -> torch.Tensor:
    """Return a norm from a fresh import, with library calls forbidden."""
    with forbids(kata, "torch.nn.utils", "torch.distributed.tensor") as fresh:
        total: torch.Tensor = fresh.clip_([numbers(3)], [numbers(2)], 0.1)
    return total


def test_it_is_worked_out(world: World) -> None:
    """The norm is computed without clip_grad_norm_ and DTensor."""
    (yours,) = world(by_hand, 1)
    close(yours, theirs([numbers(3), numbers(2)], 0.1, 2.0)[0], "the norm, with one rank")
