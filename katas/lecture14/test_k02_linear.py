"""Tests of k02_linear: compared with one process, counting what is sent and kept."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture14 import k02_linear as kata
from katas.lecture14.k02_linear import ShardedLinear
from katas.lecture14.k02_linear import gather
from katas.lecture14.k02_linear import padded
from katas.lecture14.k02_linear import shard
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")
GATHERS = {"all_gather", "all_gather_single", "all_gather_coalesced"}
SCATTERS = {"reduce_scatter", "reduce_scatter_single"}
COLUMNS = 3
# Torch declares these without types.
linear: Any = ShardedLinear.apply


def close(yours: Any, expected: Any, where: str) -> None:
    """Compare float64 values to twelve digits."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours,
        expected,
        rtol=1e-12,
        atol=1e-12,
        equal_nan=True,
        msg=lambda text: f"{where}: yours {yours}, expected {expected}. {text}",
    )


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values."""
    return torch.randn(*size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def data(rank: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a rank's batch of rank + 2 rows, and its incoming gradient in backward."""
    return numbers(rank + 2, COLUMNS, seed=rank + 10), numbers(rank + 2, rows, seed=rank + 20)


def cut(weight: torch.Tensor) -> tuple[torch.Tensor, int, torch.Tensor]:
    """Return this rank's shard, the bytes behind it, and the weight gathered from all shards."""
    with unchanged(weight=weight):
        part = shard(weight)
    with unchanged(part=part):
        whole = gather(part, len(weight))
    return part, part.untyped_storage().nbytes(), whole


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_shard_and_the_whole(world: World, size: int) -> None:
    """Five rows over one, two and four ranks: rank 3 of four has only padding."""
    weight = numbers(5, COLUMNS)
    weight[1, 0], weight[4, 2] = torch.inf, torch.nan
    each = -(-5 // size)
    for rank, (part, nbytes, whole) in enumerate(world(cut, size, weight)):
        rows = weight[rank * each : (rank + 1) * each]
        expected = torch.cat([rows, weight.new_zeros(each - len(rows), COLUMNS)])
        close(part, expected, f"shard on rank {rank} of {size}, the rows of padded(weight)")
        assert 8 * expected.numel() == nbytes, (
            f"rank {rank} of {size}: the memory behind your shard has {nbytes} bytes, expected"
            f" {8 * expected.numel()}: a view keeps the whole weight alive"
        )
        close(whole, weight, f"gather on rank {rank} of {size}, without the padding")


def one_layer(weight: torch.Tensor, *, asks: bool = True) -> tuple[torch.Tensor, ...]:
    """Return y, the gradient of the shard and, if x requires it, that of x."""
    rows = len(weight)
    x, grad = data(dist.get_rank(), rows)
    x.requires_grad_(asks)
    part = shard(weight).requires_grad_()
    with unchanged(x=x, part=part, grad=grad):
        y = linear(x, part, rows)
        grads = torch.autograd.grad(y, (x, part) if asks else (part,), grad)
    return (y.detach(), *grads)


def first_layer(weight: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the shard when x requires none."""
    return one_layer(weight, asks=False)[1]


def alone(weight: torch.Tensor, size: int) -> list[tuple[torch.Tensor, ...]]:
    """Return the same for each rank, computed by PyTorch's linear in one process."""
    batches = [data(rank, len(weight)) for rank in range(size)]
    weight = weight.clone().requires_grad_()
    xs = [x.requires_grad_() for x, _ in batches]
    ys = [torch.nn.functional.linear(x, weight) for x in xs]
    *grads, total = torch.autograd.grad(ys, [*xs, weight], [grad for _, grad in batches])
    rows = -(-len(weight) // size)
    mean = torch.cat([total / size, total.new_zeros(size, COLUMNS)])
    mean = torch.cat([mean, total.new_zeros(size * rows, COLUMNS)])
    parts = mean.split(rows)
    return [(ys[r].detach(), grads[r], parts[r]) for r in range(size)]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_process_has_the_same(world: World, size: int) -> None:
    """5 rows, batches of 2, 3 and 4: a shard's gradient is the mean over the ranks."""
    weight = numbers(5, COLUMNS)
    names = ("y", "the gradient of x", "the gradient of the shard (mean over ranks)")
    expected = alone(weight, size)
    for rank, found in enumerate(world(one_layer, size, weight)):
        for name, yours, theirs in zip(names, found, expected[rank], strict=True):
            close(yours, theirs, f"{name} on rank {rank} of {size}")


def two_layers(first: torch.Tensor, second: torch.Tensor) -> list[torch.Tensor]:
    """Return the gradients of x and of the shards of two stacked layers, twice."""
    found: list[torch.Tensor] = []
    for _ in range(2):
        x = data(0, 1)[0].requires_grad_()
        parts = [shard(w).requires_grad_() for w in (first, second)]
        hidden = linear(x, parts[0], len(first))
        y = linear(hidden.tanh(), parts[1], len(second))
        found += torch.autograd.grad(y.sin().sum(), (x, *parts))
    return found


def test_a_layer_upon_a_layer(world: World) -> None:
    """Layers of 4 and 3 rows do not mix up their weights; a second run equals the first."""
    first, second = numbers(4, COLUMNS), numbers(3, 4, seed=1)
    x, *whole = [t.clone().requires_grad_() for t in (data(0, 1)[0], first, second)]
    y = (x @ whole[0].t()).tanh() @ whole[1].t()
    grads = torch.autograd.grad(y.sin().sum(), (x, *whole))
    for rank, found in enumerate(world(two_layers, 2, first, second)):
        close(found[:3], found[3:], f"rank {rank}, the second run against the first")
        for name, yours, theirs in zip(("x", "first", "second"), found, grads, strict=False):
            rows = len(yours)
            mine = theirs if name == "x" else theirs[rank * rows : (rank + 1) * rows]
            close(yours[: len(mine)], mine, f"rank {rank}, the gradient of {name}")


def alive() -> int:
    """Return the bytes of all tensors that Python can reach."""
    gc.collect()
    tensors = [each for each in gc.get_objects() if isinstance(each, torch.Tensor)]
    storages = {each.untyped_storage().data_ptr(): each.untyped_storage() for each in tensors}
    return sum(storage.nbytes() for storage in storages.values())


def settled(most: int) -> int:
    """Return the bytes of all tensors, once gloo's threads have released theirs."""
    late = time.monotonic() + 3
    while (found := alive()) > most and time.monotonic() < late:
        time.sleep(0.01)
    return found


def kept(weight: torch.Tensor) -> tuple[list[int], int]:
    """Return the bytes that the graph saves for backward, and the growth of all tensors."""
    part = shard(weight).requires_grad_()
    x = data(0, 1)[0].requires_grad_()
    before = alive()
    y = linear(x, part, 50)
    saved = [t.untyped_storage().nbytes() for t in y.grad_fn.saved_tensors]
    growth = settled(before + y.nbytes) - before - y.nbytes
    y.sum().backward()
    return saved, growth


def test_the_whole_weight_is_forgotten(world: World) -> None:
    """Between forward and backward a rank keeps its shard and x, not the gathered weight."""
    whole = 50 * COLUMNS * 8
    for rank, (saved, growth) in enumerate(world(kept, 4, numbers(50, COLUMNS))):
        assert all(size < whole for size in saved), (
            f"rank {rank}: the graph keeps storages of {saved} bytes; the whole weight has"
            f" {whole}: save the shard, and gather again in backward"
        )
        assert growth < whole / 2, (
            f"rank {rank}: after forward, your tensors hold {growth} bytes besides y; the"
            f" weight has {whole}, in one or several pieces: keep nothing that was gathered"
        )


def check_sent(results: Any, what: str) -> None:
    """Compare what each of two ranks has sent with the table."""
    __tracebackhide__ = True
    part, whole = 3 * COLUMNS * 8, 6 * COLUMNS * 8
    for rank, calls in enumerate(results.calls):
        gathers = [call.bytes for call in calls if call.name in GATHERS]
        scatters = [call.bytes for call in calls if call.name in SCATTERS]
        seen = [(call.name, call.bytes) for call in calls]
        assert [part, part] == gathers, (
            f"rank {rank}, {what}: expected two all-gathers of a shard, {part} bytes each; yours"
            f" {seen}"
        )
        assert [whole] == scatters, (
            f"rank {rank}, {what}: expected one reduce-scatter of {whole} bytes; yours {seen}"
        )
        assert 3 == len(calls), f"rank {rank}: expected three collectives in all; yours {seen}"


def test_what_is_sent(world: World) -> None:
    """A shard in forward; a shard and the padded gradient in backward."""
    check_sent(world(one_layer, 2, numbers(5, COLUMNS)), "x needs a gradient")


def test_the_first_layer_sends_as_much(world: World) -> None:
    """Its x needs no gradient, but a rank that skips a gather leaves the others waiting."""
    weight = numbers(5, COLUMNS)
    results = world(first_layer, 2, weight)
    check_sent(results, "x needs no gradient")
    for rank, yours in enumerate(results):
        close(yours, alone(weight, 2)[rank][2], f"the gradient of the shard on rank {rank}")


def by_hand(weight: torch.Tensor) -> torch.Tensor:
    """Return y from a fresh import of the exercise, with library calls forbidden."""
    with forbids(
        kata,
        *("torch.distributed.fsdp", "torch.distributed.tensor", "torch.distributed.nn"),
        "torch.nn.parallel",
    ) as fresh:
        part = fresh.shard(weight).requires_grad_()
        y: torch.Tensor = fresh.ShardedLinear.apply(data(0, 1)[0], part, len(weight))
        y.sum().backward()
    return y.detach()


def test_it_is_done_by_hand(world: World) -> None:
    """Only collectives are used, not DTensor or fully_shard."""
    weight = numbers(5, COLUMNS)
    (y,) = world(by_hand, 1, weight)
    close(y, data(0, 1)[0] @ weight.t(), "y, with one rank")


def given_padding() -> tuple[int, ...]:
    """Return how many rows 0 to 5 rows become."""
    return tuple(len(padded(numbers(rows, 2))) for rows in range(6))


@pytest.mark.given
def test_padding(world: World) -> None:
    """Rows are padded to the next multiple of the number of ranks."""
    assert [(0, 2, 2, 4, 4, 6)] * 2 == world(given_padding, 2), "rows after padded(), two ranks"
