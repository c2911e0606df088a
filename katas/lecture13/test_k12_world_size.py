"""Tests of k12_world_size: the same sums, statistics, masks and losses on any number of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from katas.lecture13 import k12_world_size
from katas.lecture13.k12_world_size import BatchNorm
from katas.lecture13.k12_world_size import dropout
from katas.lecture13.k12_world_size import rows_of_rank
from katas.lecture13.k12_world_size import sum_over_ranks
from katas.lecture13.k12_world_size import train_step
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import World

    Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


pytestmark = [
    pytest.mark.backend("gloo"),
    # The optimizers import it when they are first used.
    pytest.mark.ranks_import("torch._dynamo", "numpy.random"),
]

SIZES = [1, 2, 3, 4]


def close(
    found: Any, expected: Any, where: str, *, rtol: float = 1e-9, atol: float = 1e-11
) -> None:
    """Compare numbers or tensors of float64; float32 on the way shows in the eighth digit."""
    torch.testing.assert_close(
        found, expected, rtol=rtol, atol=atol, msg=lambda text: f"{where}: {text}"
    )


def ranges() -> list[range]:
    """Return this rank's rows of 0 to 9 rows."""
    return [rows_of_rank(n) for n in range(10)]


@pytest.mark.parametrize("size", SIZES)
def test_each_row_is_on_one_rank(world: World, size: int) -> None:
    """In order, none twice, and no rank has two more than another; some have none."""
    results = world(ranges, size)
    for n in range(10):
        found = [rows[n] for rows in results]
        assert list(range(n)) == [row for rows in found for row in rows], (
            f"{n} rows on {size} ranks, each once and in order; yours: {found}"
        )
        lengths = [len(rows) for rows in found]
        assert sorted(lengths, reverse=True) == lengths, (
            f"the first ranks have more; yours: {found}"
        )
        assert max(lengths) - min(lengths) <= 1, f"{n} rows differ by one at most; yours: {found}"


def sums(tensors: list[torch.Tensor], factors: Sequence[float]) -> tuple[Any, ...]:
    """Return the sum of ``tensors[rank]`` over ranks, and the gradient with these factors."""
    rank = torch.distributed.get_rank()
    x = tensors[rank].clone().requires_grad_()
    # Not contiguous, and used once more.
    turned = x.t() * 1
    with unchanged(turned=turned):
        total = sum_over_ranks(turned)
    (total * factors[rank]).sum().backward()
    return total.detach(), x.grad


def test_a_sum_over_ranks_has_the_gradients_of_all_losses(world: World) -> None:
    """Each rank's loss depends on the x of every rank."""
    tensors = [torch.randn(2, 3).double() for _ in range(3)]
    for total, gradient in world(sums, 3, tensors, (1.0, 10.0, 100.0)):
        close(total.contiguous(), sum(tensors).t().contiguous(), "the sum over three ranks")
        assert [[111] * 3] * 2 == gradient.tolist(), (
            f"1 from rank 0, 10 from rank 1, 100 from rank 2; yours: {gradient.tolist()}"
        )


def masked(rows: torch.Tensor, p: float, keys: torch.Tensor) -> torch.Tensor:
    """Return what the brief says of dropout."""
    masks = [
        torch.rand(rows.size(1), dtype=torch.float64, generator=torch.Generator().manual_seed(key))
        for key in keys.tolist()
    ]
    drawn = torch.stack([torch.zeros(rows.size(1)).double(), *masks])[1:]
    return torch.where(drawn < p, torch.zeros_like(rows), rows / (1 - p))


def test_a_mask_belongs_to_its_key() -> None:
    """Not to the place of the row, nor to what was drawn before; nothing else is drawn from."""
    x = torch.randn(5, 40).double()
    keys = torch.tensor([7, 3, 7, 2**40, 0])
    with unchanged(x=x, keys=keys):
        found = dropout(x, 0.3, keys)

    close(found, masked(x, 0.3, keys), "dropped by these five keys")
    close(dropout(x[1:4], 0.3, keys[1:4]), found[1:4], "rows 1 to 3 alone, with their keys")
    close(dropout(x, 0.0, keys), x, "nothing is dropped where p is 0", rtol=0.0, atol=0.0)
    shape = tuple(dropout(x[:0], 0.3, keys[:0]).shape)
    assert (0, 40) == shape, f"a rank may have no row, of 40 features; yours is {shape}"


def test_what_is_dropped_has_no_gradient() -> None:
    """And what is kept has 1 / (1 - p)."""
    x = torch.ones(3, 20, dtype=torch.float64, requires_grad=True)
    result = dropout(x, 0.6, torch.tensor([1, 2, 3]))
    result.sum().backward()

    close(x.grad, result.detach(), "the gradient of the sum, of ones that are dropped or scaled")


def normalized(
    x: torch.Tensor, factors: torch.Tensor, *, evaluate: bool = False
) -> dict[str, torch.Tensor]:
    """Return what two calls of a batch norm give for this rank's rows, and what it keeps."""
    torch.manual_seed(2)
    norm = BatchNorm(x.size(1), eps=0.01, momentum=0.3).double()
    return run_norm(norm, x, factors, rows_of_rank(len(x)), evaluate=evaluate)


def run_norm(
    norm: nn.Module, x: torch.Tensor, factors: torch.Tensor, rows: range, *, evaluate: bool = False
) -> dict[str, torch.Tensor]:
    """Return results, gradients and statistics of a batch norm."""
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(1, 2, x.size(1)))
        norm.bias.copy_(torch.linspace(-1, 1, x.size(1)))
    part = x[rows.start : rows.stop].clone().requires_grad_()
    with unchanged(x=x, part=part, weight=norm.weight, bias=norm.bias):
        norm(part * 2)
        result = norm.train(not evaluate)(part)
    (result * factors[rows.start : rows.stop]).sum().backward()
    return {
        "result": result.detach(),
        "gradient": part.grad,
        "weight": norm.weight.grad,
        "bias": norm.bias.grad,
        "mean": norm.running_mean,
        "var": norm.running_var,
    }


def compare_norms(results: Any, expected: dict[str, torch.Tensor]) -> None:
    """Check what the ranks have found against what one process finds."""
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


@pytest.mark.parametrize(("size", "rows"), [(1, 5), (2, 5), (4, 6), (4, 3)])
def test_batch_norm_has_the_statistics_of_all_rows(world: World, size: int, rows: int) -> None:
    """With unequal numbers of rows; with one row on each rank; with none on one."""
    x, factors = torch.randn(rows, 3).double() * 2 + 1, torch.randn(rows, 3).double()
    expected = run_norm(plain_norm(3), x, factors, range(rows))

    compare_norms(world(normalized, size, x, factors), expected)


def test_batch_norm_keeps_its_digits(world: World) -> None:
    """Rows near a million, which differ by ones."""
    x, factors = torch.randn(7, 3).double() + 1e6, torch.randn(7, 3).double()
    expected = run_norm(plain_norm(3), x, factors, range(7))
    result = torch.cat([each["result"] for each in world(normalized, 3, x, factors)])

    close(result, expected["result"], "of rows near a million", rtol=1e-6, atol=1e-6)


def evaluated(x: torch.Tensor, factors: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return what a batch norm does in eval mode after a call in training."""
    return normalized(x, factors, evaluate=True)


def only_evaluated(x: torch.Tensor) -> None:
    """Call a batch norm in eval mode."""
    BatchNorm(x.size(1)).double().eval()(x)


def test_batch_norm_in_eval_mode_asks_nobody(world: World) -> None:
    """It takes what it has kept, and keeps it."""
    x, factors = torch.randn(5, 3).double(), torch.randn(5, 3).double()
    expected = run_norm(plain_norm(3), x, factors, range(5), evaluate=True)

    compare_norms(world(evaluated, 3, x, factors), expected)
    calls = list(world(only_evaluated, 3, x).calls)
    assert [()] * 3 == calls, f"who validates on one rank alone would hang; yours calls {calls}"


class Net(nn.Module):
    """A layer, a batch norm, a dropout and a layer: 4 features, 3 classes."""

    def __init__(self, norm: type[nn.Module], drop: Any) -> None:
        super().__init__()
        torch.manual_seed(9)
        self.first = nn.Linear(4, 8)
        self.norm = norm(8)
        self.last = nn.Linear(8, 3)
        self.drop = drop
        self.double()

    def forward(self, x: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        return self.last(self.drop(torch.relu(self.norm(self.first(x))), 0.4, keys))


def batches(*sizes: int, ignored: Sequence[int] = ()) -> list[Batch]:
    """Return batches of so many rows, with keys; the targets of some rows are to be ignored."""
    made = []
    for number, size in enumerate(sizes):
        y = torch.randint(3, (size,))
        y[[row for row in ignored if row < size]] = -100
        keys = 1000 * number + torch.arange(size)
        made.append((torch.randn(size, 4).double(), y, keys))
    return made


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    """Return descent with momentum, which makes each step depend on all before."""
    return torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)


def clip_exactly(parameters: Any, max_norm: float) -> None:
    """Scale gradients to a norm of max_norm, if theirs is above it."""
    grads = [p.grad for p in parameters]
    norm = torch.cat([grad.flatten() for grad in grads]).norm()
    for grad in grads if norm > max_norm else []:
        grad.mul_(max_norm / norm)


def alone(
    data: list[Batch], max_norm: float, clip: Any = nn.utils.clip_grad_norm_
) -> tuple[list[Any], list[torch.Tensor]]:
    """Return losses and accuracies of one process with all rows, and the parameters."""
    model = Net(nn.BatchNorm1d, masked)
    optimizer = optimizer_of(model)
    curve = []
    for x, y, keys in data:
        optimizer.zero_grad()
        logits = model(x, keys)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        clip(model.parameters(), max_norm)
        optimizer.step()
        known = y != -100
        accuracy = (logits.argmax(1) == y)[known].double().mean()
        curve.append((loss.item(), accuracy.item()))
    return curve, [p.detach() for p in model.parameters()]


def together(data: list[Batch], max_norm: float) -> tuple[list[Any], list[torch.Tensor]]:
    """Return the same of this rank."""
    model = Net(BatchNorm, dropout)
    optimizer = optimizer_of(model)
    curve = []
    for batch in data:
        rows = rows_of_rank(len(batch[0]))
        part = [tensor[rows.start : rows.stop] for tensor in batch]
        with unchanged(part=part):
            curve.append(train_step(model, optimizer, *part, max_norm=max_norm))
    return curve, [p.detach().clone() for p in model.parameters()]


def compare(world: World, size: int, data: list[Batch], max_norm: float) -> None:
    """Check that training on `size` ranks is that of one process."""
    results = world(together, size, data, max_norm)
    exactly, theirs = alone(data, max_norm, clip_exactly), alone(data, max_norm)
    # Both ways to clip are right; which one is it?
    last = results[0][0][-1][0]
    curve, parameters = min((theirs, exactly), key=lambda each: abs(each[0][-1][0] - last))
    for rank, (found, trained) in enumerate(results):
        for step, (expected, mine) in enumerate(zip(curve, found, strict=True)):
            where = f"step {step} on rank {rank} of {size}, yours and that of one process"
            close(mine[0], expected[0], f"the loss, {where}")
            close(mine[1], expected[1], f"the accuracy, {where}")
        close(trained, parameters, f"the parameters of rank {rank} after the last step")


def test_one_rank_trains_as_without_ranks(world: World) -> None:
    """For a start: five steps, the gradients of each alone."""
    compare(world, 1, batches(8, 8, 8, 8, 8), 1e9)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_loss_curve_is_the_same_on_any_number_of_ranks(world: World, size: int) -> None:
    """Of batches that most worlds cannot cut evenly."""
    compare(world, size, batches(12, 10, 7, 5), 1e9)


def test_ranks_without_rows_take_part(world: World) -> None:
    """Two and three rows on four ranks; losses are no NaN."""
    compare(world, 4, batches(8, 2, 3, 8), 1e9)


def test_targets_count_and_not_rows(world: World) -> None:
    """Where some are ignored: most of those of rank 0, all of those of rank 2."""
    compare(world, 3, batches(9, 9, 9, ignored=(0, 2, 6, 7, 8)), 1e9)


def test_the_norm_of_the_whole_gradient_is_clipped(world: World) -> None:
    """To a norm that some of the steps exceed."""
    data = batches(10, 7, 10, 5)
    free, tight = alone(data, 1e9)[0], alone(data, 0.4)[0]
    assert free != tight, "the norm matters here"

    compare(world, 3, data, 0.4)


def without_torch(data: list[Batch]) -> bool:
    """Return whether training works where there is no DistributedDataParallel."""
    # The first two by whatever path: torch.nn, torch.nn.parallel, torch.nn.modules._functions.
    names = ["Tensor.DistributedDataParallel", "Tensor.SyncBatchNorm"]
    names += ["distributed.nn", "distributed.nn.functional"]
    with forbids(k12_world_size, *(f"torch.{name}" for name in names)) as fresh:
        model = Net(fresh.BatchNorm, fresh.dropout)
        rows = fresh.rows_of_rank(len(data[0][0]))
        part = [tensor[rows.start : rows.stop] for tensor in data[0]]
        loss, _ = fresh.train_step(model, optimizer_of(model), *part, max_norm=1e9)
        fresh.sum_over_ranks(torch.ones(2))
    return loss > 0


def test_nothing_ready_made_is_called(world: World) -> None:
    """The gradients are summed here."""
    found = list(world(without_torch, 2, batches(5)))
    assert [True, True] == found, f"has each rank of yours a loss? {found}"
