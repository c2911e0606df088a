"""Tests of k05_touched: values against a dense gradient, then bytes and operators."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from katas.lecture25.conftest import close
from katas.lecture25.conftest import numbers
from katas.lecture25.k05_touched import Meter
from katas.lecture25.k05_touched import pooled
from katas.lecture25.k05_touched import step
from plugins.kit import freed
from plugins.kit import unchanged


def draw(high: int, size: int) -> torch.Tensor:
    """Return ids below `high`."""
    return torch.randint(high, (size,), generator=torch.Generator().manual_seed(1))


def squares(bags: torch.Tensor) -> torch.Tensor:
    """Return a loss with a gradient that depends on the bags."""
    return bags.square().sum() / 2


def summed(table: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Return the sums of bags, one after the other."""
    ends = [*offsets.tolist(), len(ids)]
    bags = [table[ids[a:b]].sum(0) for a, b in pairwise(ends)]
    return torch.stack(bags)


def stepped(
    table: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor, lr: float, decay: float
) -> torch.Tensor:
    """Return the table after a step on `squares`, with a dense gradient."""
    leaf = table.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(squares(summed(leaf, ids, offsets)), leaf)
    occurs = torch.zeros(len(table), 1, dtype=torch.bool)
    occurs[ids] = True
    return torch.where(occurs, table - lr * (gradient + decay * table), table)


@pytest.mark.parametrize("offsets", [[0], [0, 2], [0, 0, 3, 3, 5], [0, 5]])
def test_the_sum_of_each_bag(offsets: list[int]) -> None:
    """Sums, not means; an empty bag is 0, and the last bag goes to the end."""
    table, ids, starts = numbers(6, 3), torch.tensor([4, 1, 4, 4, 0]), torch.tensor(offsets)
    with unchanged(table=table, ids=ids, offsets=starts):
        yours = pooled(table, ids, starts)

    close(yours, summed(table, ids, starts), f"bags that begin at {offsets}, of ids {ids.tolist()}")


def test_the_bags_have_a_gradient() -> None:
    """The gradients agree with finite differences; you wrote what runs here in k02 and k03."""
    table, ids, starts = numbers(4, 2), torch.tensor([3, 1, 3]), torch.tensor([0, 1])
    table.requires_grad_()
    total = pooled(table, ids, starts).sum()
    (gradient,) = torch.autograd.grad(total, table, allow_unused=True)
    assert gradient is not None, "the table gets no gradient: do you pool a detached copy of it?"
    assert not gradient.is_sparse, "the gradient for the table is sparse: leave `sparse` off"
    right = torch.autograd.gradcheck(
        lambda leaf: pooled(leaf, ids, starts), table, raise_exception=False
    )
    assert right, "`pooled`: the gradient for the table and finite differences differ"


def test_the_bags_make_no_row_for_each_id() -> None:
    """With 100 ids per bag, the looked-up rows would take 100 times the memory of the result."""
    table, ids, starts = numbers(300, 64), draw(300, 20_000), torch.arange(0, 20_000, 100)
    with Meter() as meter:
        yours = pooled(table, ids, starts)

    assert yours.shape == (200, 64), f"yours has shape {[*yours.shape]}, expected [200, 64]"
    most, rows = 4 * yours.nbytes, 20_000 * 64 * 8
    assert meter.bytes <= most, (
        f"`pooled` allocates {meter.bytes} bytes, expected at most {most}; a row for each id is"
        f" {rows}."
        f" One function looks up and sums."
    )


def test_one_id() -> None:
    """With decay 0 the row changes by -lr times its gradient."""
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64)
    step(
        table,
        torch.tensor([1]),
        torch.tensor([0]),
        lambda bags: (bags * 10).sum(),
        lr=0.1,
        decay=0.0,
    )

    expected = torch.tensor([[1.0, 2.0], [2.0, 3.0], [5.0, 6.0]], dtype=torch.float64)
    close(table, expected, "id 1, a gradient of 10, lr 0.1")


@pytest.mark.parametrize(
    ("ids", "offsets"),
    [([7, 3, 7], [0]), ([2, 2, 2, 9], [0, 1, 1]), ([5, 0, 5, 9, 0, 1], [0, 2, 4])],
)
def test_a_step(ids: list[int], offsets: list[int]) -> None:
    """Gradients of a repeated id add up; decay is applied once."""
    table, numbered, starts = numbers(10, 3), torch.tensor(ids), torch.tensor(offsets)
    expected, before = stepped(table, numbered, starts, 0.3, 0.7), table.clone()
    with unchanged(ids=numbered, offsets=starts):
        step(table, numbered, starts, squares, lr=0.3, decay=0.7)

    moved = (table != before).any(1).nonzero().flatten().tolist()
    others = [row for row in moved if row not in ids]
    assert not others, f"ids {ids}: rows {others} change, but do not occur"
    close(table, expected, f"the table after ids {ids}, bags from {offsets}, lr 0.3, decay 0.7")


def test_the_loss_comes_back() -> None:
    """The returned loss is the one before the change, and without a graph."""
    table, ids, starts = numbers(10, 3), torch.tensor([4, 4, 8]), torch.tensor([0, 2])
    expected = squares(summed(table, ids, starts))
    yours = step(table, ids, starts, squares, lr=0.1, decay=0.1)

    close(yours, expected, "the loss")
    assert not yours.requires_grad, "the loss that you return requires a gradient: detach it"


def test_the_table_stays_plain() -> None:
    """The table is a leaf without a gradient, before and after."""
    table = numbers(10, 3)
    with unchanged(table=table, but={"value", "version", "storage"}):
        step(table, torch.tensor([1, 2]), torch.tensor([0]), squares, lr=0.1, decay=0.1)


def test_other_rows_do_not_change() -> None:
    """Other rows keep every bit: infinities and NaN stay there, and do not spread."""
    table = numbers(10, 3)
    table[0], table[5], table[9] = torch.nan, torch.inf, -0.0
    before = table.clone()
    step(table, torch.tensor([4, 7, 4]), torch.tensor([0, 1]), squares, lr=0.1, decay=0.5)

    others = [row for row in range(10) if row not in {4, 7}]
    with unchanged(before=before):
        same = table[others].view(torch.int64) == before[others].view(torch.int64)
    moved = [row for row, kept in zip(others, same.all(1).tolist(), strict=True) if not kept]
    assert not moved, f"ids 4 and 7 occur, but your step changes rows {moved}"
    assert not table[[4, 7]].isnan().any(), "NaN in another row has reached rows 4 and 7"


def test_several_steps() -> None:
    """Only the table carries over from one step to the next, and the loss falls."""
    table, ids, starts = numbers(10, 3), torch.tensor([6, 6, 2]), torch.tensor([0, 1])
    expected, losses = table.clone(), []
    for _ in range(4):
        expected = stepped(expected, ids, starts, 0.2, 0.1)
        losses.append(step(table, ids, starts, squares, lr=0.2, decay=0.1).item())

    close(table, expected, "the table after four equal steps")
    assert losses == sorted(losses, reverse=True), f"your losses do not fall: {losses}"


def test_parameters_of_the_loss() -> None:
    """A layer on top gets its gradient, once, and is not trained by you."""
    table, ids, starts = numbers(10, 3), torch.tensor([4, 4, 8]), torch.tensor([0, 2])
    layer, calls = nn.Linear(3, 1, bias=False, dtype=torch.float64), []

    def loss(bags: torch.Tensor) -> torch.Tensor:
        calls.append(bags.shape)
        return layer(bags).sum()

    expected = summed(table, ids, starts).sum(0, keepdim=True)
    with unchanged(layer=layer, but={"grad"}):
        step(table, ids, starts, loss, lr=0.1, decay=0.1)

    assert len(calls) == 1, f"`loss` was called {len(calls)} times, expected once"
    grad = layer.weight.grad
    assert grad is not None, "the parameter in `loss` has no gradient: call backward on the loss"
    close(grad, expected, "the gradient of the parameter in `loss`")


def test_no_ids() -> None:
    """If all bags are empty, there is a loss, and no change."""
    table, empty = numbers(5, 3), torch.zeros(0, dtype=torch.int64)
    with unchanged(table=table, but={"version"}):
        value = step(
            table, empty, torch.tensor([0, 0]), lambda bags: (bags + 1).sum(), lr=0.1, decay=0.5
        )

    assert value.item() == 6, (
        f"with 1 added to each, the bags of zeros should sum to 6; yours is {value.item()}"
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype(dtype: torch.dtype) -> None:
    """Sums, loss and table keep the table's dtype."""
    table, ids, starts = numbers(5, 3).to(dtype), torch.tensor([1, 1]), torch.tensor([0])
    found = [
        pooled(table, ids, starts).dtype,
        step(table, ids, starts, squares, lr=0.1, decay=0.1).dtype,
    ]
    assert found == [dtype, dtype], f"sums and loss of a {dtype} table: yours are {found}"


def test_a_larger_table_costs_no_more() -> None:
    """Look up the same ids in 500 rows and in 100,000 rows."""
    ids, starts, made = draw(500, 512), torch.arange(0, 512, 8), []
    for rows in (500, 100_000):
        table = torch.ones(rows, 32)
        with Meter() as meter:
            step(table, ids, starts, squares, lr=0.1, decay=0.1)
        made.append(meter.bytes)

    assert made[1] <= 1.01 * made[0], (
        f"your step allocates {made[0]} bytes for 500 rows and {made[1]} for 100,000, expected the"
        f" same. A gradient as large as the table takes {100_000 * 32 * 4}, one number per row"
        " takes 400000."
    )


def test_an_id_that_occurs_often_costs_no_row_each_time() -> None:
    """There are 20,000 ids, but only 50 distinct ones."""
    table, ids, starts = numbers(300, 64), draw(50, 20_000), torch.arange(0, 20_000, 100)
    with Meter() as meter:
        step(table, ids, starts, squares, lr=0.1, decay=0.1)

    rows = 20_000 * 64 * 8
    assert meter.bytes <= rows / 4, (
        f"your step allocates {meter.bytes} bytes, expected at most a quarter of {rows}, which is a"
        f" row for each id. Only 50 rows occur: copy those, and renumber the ids."
    )


def test_no_loop_and_nothing_kept() -> None:
    """More ids, bags and rows take no more operators, and a table dies with its last reference."""
    counts = []
    for size in (20, 200):
        with Meter() as meter:
            step(
                numbers(90, 2), draw(90, size), torch.arange(0, size, 2), squares, lr=0.1, decay=0.1
            )
        counts.append(meter.operators)
    assert counts[0] == counts[1], f"operators for 20 ids and for 200: {counts}, expected the same"

    def run() -> list[torch.Tensor]:
        table = numbers(9, 2)
        return [table, step(table, draw(9, 4), torch.tensor([0, 2]), squares, lr=0.1, decay=0.1)]

    freed(run, "A step needs no copy of the table afterwards.")
