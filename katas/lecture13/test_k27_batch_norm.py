"""Tests of k27_batch_norm: results, gradients and statistics, against one process."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k27_batch_norm import BatchNorm


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")


def my_rows(count: int) -> slice:
    """Return which of `count` rows this rank has: the first ranks have one more, some have none."""
    rank, (each, more) = dist.get_rank(), divmod(count, dist.get_world_size())
    start = rank * each + min(rank, more)
    return slice(start, start + each + (rank < more))


def normalized(x: torch.Tensor, factors: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return what two calls of a batch norm give for this rank's rows, and what it keeps."""
    torch.manual_seed(2)
    norm = BatchNorm(x.size(1), eps=0.01, momentum=0.3).double()
    return run_norm(norm, x, factors, my_rows(len(x)))


def run_norm(
    norm: nn.Module, x: torch.Tensor, factors: torch.Tensor, rows: slice
) -> dict[str, torch.Tensor]:
    """Return the results, gradients and statistics of a batch norm."""
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(1, 2, x.size(1)))
        norm.bias.copy_(torch.linspace(-1, 1, x.size(1)))
    part = x[rows].clone().requires_grad_()
    norm(part * 2)
    result = norm(part)
    (result * factors[rows]).sum().backward()
    for name in ("running_mean", "running_var"):
        grad_fn = getattr(norm, name).grad_fn
        same(grad_fn, None, f"grad_fn of {name}: it would keep the graph of each step alive")
    return {
        "result": result.detach(),
        "gradient": part.grad,
        "weight": norm.weight.grad,
        "bias": norm.bias.grad,
        "mean": norm.running_mean,
        "var": norm.running_var,
    }


def compare_norms(results: Any, expected: dict[str, torch.Tensor]) -> None:
    """Compare the results of the ranks with those of one process."""
    for name in ("result", "gradient"):
        found = torch.cat([each[name] for each in results])
        close(found, expected[name], f"{name}, yours side by side and nn.BatchNorm1d's of all rows")
    for name in ("weight", "bias"):
        found = sum(each[name] for each in results)
        close(found, expected[name], f"the gradient of {name}, summed over the ranks")
    for rank, each in enumerate(results):
        for name in ("mean", "var"):
            close(each[name], expected[name], f"running_{name} on rank {rank}")


def plain_norm(features: int) -> nn.Module:
    """Return PyTorch's batch norm."""
    return nn.BatchNorm1d(features, eps=0.01, momentum=0.3).double()


@pytest.mark.parametrize(("size", "rows"), [(1, 5), (2, 5), (3, 2)])
def test_it_has_the_statistics_of_all_rows(world: World, size: int, rows: int) -> None:
    """There is one rank, or unequal numbers of rows, or no row on one of three ranks."""
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(rows, 3, generator=generator).double() * 2 + 1
    factors = torch.randn(rows, 3, generator=generator).double()
    expected = run_norm(plain_norm(3), x, factors, slice(0, rows))
    compare_norms(world(normalized, size, x, factors, timeout=SOON), expected)


def test_it_keeps_its_digits(world: World) -> None:
    """The rows are near a million, and differ by ones."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(7, 3, generator=generator).double() + 1e6
    expected = run_norm(plain_norm(3), x, torch.ones_like(x), slice(0, 7))
    results = world(normalized, 3, x, torch.ones_like(x), timeout=SOON)
    result = torch.cat([each["result"] for each in results])
    close(result, expected["result"], "rows near a million, normalized", rtol=1e-6, atol=1e-6)


def evaluated(x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return what a batch norm does in eval mode, and what it has kept."""
    norm = BatchNorm(x.size(1)).double().eval()
    norm.running_mean.add_(3)
    return norm(x).detach(), [norm.running_mean, norm.running_var]


def test_in_eval_mode_it_asks_nobody(world: World) -> None:
    """Validation on one rank alone would hang. Eval mode uses the running statistics unchanged."""
    x = torch.arange(6.0).double().view(2, 3)
    plain = nn.BatchNorm1d(3).double().eval()
    plain.running_mean.add_(3)
    results = world(evaluated, 2, x, timeout=SOON)
    for rank, (found, kept) in enumerate(results):
        close(found, plain(x).detach(), f"in eval mode, on rank {rank}")
        close(kept[0], plain.running_mean, f"running_mean in eval mode, on rank {rank}")
        same(results.calls[rank], (), f"what rank {rank} calls in eval mode")


def test_three_sums_forward_and_back(world: World) -> None:
    """The sums of rows, features and squares go forward, and their gradients back."""
    x = torch.arange(12.0).double().view(4, 3).sin()
    results = world(once, 2, x, timeout=SOON)
    for rank, calls in enumerate(results.calls):
        same({call.name for call in calls}, {"all_reduce"}, f"what rank {rank} calls")
        most = max(call.bytes for call in calls)
        assert most <= 56, (
            f"your rank {rank} sends {most} bytes at once, expected at most 56: send sums, not rows"
        )


def once(x: torch.Tensor) -> None:
    """Run forward and backward once."""
    BatchNorm(x.size(1)).double()(x[my_rows(len(x))]).square().sum().backward()
