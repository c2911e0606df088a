"""Tests of k07_rowwise: the formula row by row, then what happens inside backward."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture25.conftest import close
from katas.lecture25.conftest import numbers
from katas.lecture25.k07_rowwise import rowwise_adagrad
from katas.lecture25.k07_rowwise import train_in_backward
from plugins.kit import freed
from plugins.kit import unchanged


class Largest(TorchDispatchMode):
    """Keeps the size of the largest new tensor that an operator creates."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = self.operators = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator; a tensor that it writes to in place is not new."""
        result = func(*args, **(kwargs or {}))
        self.operators += 1
        for each in result if isinstance(result, tuple | list) else (result,):
            new = isinstance(each, torch.Tensor) and not any(each is old for old in args)
            if new and not each.is_sparse and not func.is_view:
                self.numbers = max(self.numbers, each.numel())
        return result


def sparse(rows: list[int], values: torch.Tensor, size: int) -> torch.Tensor:
    """Return an uncoalesced gradient of a table with `size` rows."""
    shape = (size, values.shape[1])
    return torch.sparse_coo_tensor(
        torch.tensor([rows], dtype=torch.int64), values, shape, check_invariants=True
    )


def new_table(rows: int = 7, dim: int = 3, seed: int = 0) -> nn.Embedding:
    """Return a table with sparse gradients."""
    return nn.Embedding.from_pretrained(numbers(rows, dim, seed=seed), freeze=False, sparse=True)


def trained(
    weight: torch.Tensor, dense: torch.Tensor, state: torch.Tensor, lr: float, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return weight and state after the formula of the brief, from a dense gradient."""
    state = state + dense.square().mean(1)
    return weight - lr * dense / (state.sqrt() + eps)[:, None], state


def test_one_row() -> None:
    """For a gradient of 3 and 4, the mean of squares is 12.5."""
    weight, state = torch.zeros(3, 2, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    gradient = sparse([1], torch.tensor([[3.0, 4.0]], dtype=torch.float64), 3)
    rowwise_adagrad(weight, gradient, state, lr=1.0, eps=0.0)

    close(state, torch.tensor([0, 12.5, 0], dtype=torch.float64), "the state, gradient 3 4")
    assert not weight.isnan().any(), (
        "the weight contains NaN, from 0 / 0: update only rows that the gradient holds"
    )
    root = math.sqrt(12.5)
    expected = torch.tensor([[0, 0], [-3 / root, -4 / root], [0, 0]], dtype=torch.float64)
    close(weight, expected, "the weight, gradient 3 4, lr 1, eps 0")


def test_a_row_that_is_there_twice() -> None:
    """The row's gradients add up before they are squared: 4, not 2."""
    weight, state = torch.zeros(6, 1, dtype=torch.float64), torch.zeros(6, dtype=torch.float64)
    rowwise_adagrad(weight, sparse([5, 5], weight[:2] + 1, 6), state, lr=1.0, eps=0.0)

    assert state[5].item() == 4, (
        f"row 5 occurs twice with a gradient of 1: your state is {state[5].item()}, expected 4."
        f" Until it is coalesced, a sparse gradient may store a row more than once."
    )
    assert weight[5].item() == -1, f"0 minus 2 / sqrt(4): yours {weight[5].item()}, expected -1"


@pytest.mark.parametrize("eps", [0.5, 1e-8])
@pytest.mark.parametrize("rows", [[0, 4, 6], [6, 2, 6, 2, 6], [3]])
def test_the_formula(rows: list[int], eps: float) -> None:
    """Three updates start from a state that is not 0."""
    weight, state = numbers(7, 3), numbers(7, seed=1).square()
    expected = weight.clone(), state.clone()
    for n in range(3):
        gradient = sparse(rows, numbers(len(rows), 3, seed=2 + n), 7)
        expected = trained(*(expected[0], gradient.to_dense(), expected[1]), 0.3, eps)
        rowwise_adagrad(weight, gradient, state, lr=0.3, eps=eps)

        close(state, expected[1], f"rows {rows}, time {n + 1}: the state")
        what = f"rows {rows}, eps {eps}, time {n + 1}: the weight, by lr * g / (sqrt(state) + eps)"
        close(weight, expected[0], what)


@pytest.mark.parametrize("rows", [[1, 4], [4, 1, 4]])
def test_the_gradient_stays(rows: list[int]) -> None:
    """Its values do not change, even if it is coalesced and hands out its own, not a copy."""
    gradient = sparse(rows, numbers(len(rows), 3), 7)
    gradient = gradient.coalesce() if len(rows) == 2 else gradient
    with unchanged(gradient=gradient):
        rowwise_adagrad(numbers(7, 3), gradient, numbers(7).square(), lr=0.1, eps=0.1)


def test_other_rows() -> None:
    """Other rows keep every bit, NaN and -0.0 included; no new tensor is as large as the table."""
    weight, state = numbers(1000, 4), numbers(1000).square()
    weight[0], weight[9], state[0], state[9] = torch.nan, -0.0, torch.nan, -0.0
    before = weight.clone(), state.clone()
    gradient = sparse([3, 8, 3], numbers(3, 4), 1000)
    with Largest() as made:
        rowwise_adagrad(weight, gradient, state, lr=0.1, eps=0.1)

    others = [row for row in range(1000) if row not in {3, 8}]
    for name, new, old in zip(("weight", "state"), (weight, state), before, strict=True):
        same = new[others].view(torch.int64) == old[others].view(torch.int64)
        assert same.all(), f"`rowwise_adagrad` changes rows of {name} other than 3 and 8"
    assert made.numbers < 100, (
        f"your operators create a tensor of {made.numbers} numbers for 2 rows of 4: work with the"
        f" gradient's rows, not with the whole table"
    )


def test_no_loop() -> None:
    """More rows take no more operators."""
    counts = []
    for size in (3, 30):
        gradient = sparse([*range(size)], numbers(size, 2), 40)
        with Largest() as made:
            rowwise_adagrad(numbers(40, 2), gradient, numbers(40).square(), lr=0.1, eps=0.1)
        counts.append(made.operators)
    assert counts[0] == counts[1], f"operators for 3 rows and for 30: {counts}, expected the same"


def test_no_rows() -> None:
    """An empty gradient changes nothing."""
    weight, state = numbers(7, 3), numbers(7).square()
    with unchanged(weight=weight, state=state, but={"version"}):
        rowwise_adagrad(weight, sparse([], numbers(0, 3), 7), state, lr=0.1, eps=0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_states(dtype: torch.dtype) -> None:
    """States are zeros, one per row, in the weight's dtype, without requires_grad."""
    tables = [new_table(7).to(dtype), nn.EmbeddingBag(4, 2, sparse=True, dtype=dtype)]
    with unchanged(first=tables[0], second=tables[1]):
        states = train_in_backward(tables, lr=0.1)

    assert len(states) == 2, f"two tables: you return {len(states)} states, expected 2"
    for state, rows in zip(states, (7, 4), strict=True):
        close(state, torch.zeros(rows, dtype=dtype), f"the state of {rows} rows")
        assert not state.requires_grad, "your state requires a gradient"


def test_backward_trains() -> None:
    """Two batches train without an optimizer; eps is 1e-8, and no gradient is left."""
    table = new_table()
    expected = table.weight.detach().clone(), torch.zeros(7, dtype=torch.float64)
    (state,) = train_in_backward([table], lr=0.3)
    for ids in ([1, 5, 1], [5, 2]):
        leaf = expected[0].clone().requires_grad_()
        (dense,) = torch.autograd.grad(leaf[torch.tensor(ids)].square().sum(), leaf)
        expected = trained(expected[0], dense, expected[1], 0.3, 1e-8)
        table(torch.tensor(ids)).square().sum().backward()

        assert table.weight.grad is None, (
            "after backward, the weight still has a gradient, expected None"
        )
        close(state, expected[1], f"the state after ids {ids}")
        close(table.weight.detach(), expected[0], f"the weight after ids {ids}")
    parameter = (table.weight.requires_grad, table.weight.is_leaf)
    assert parameter == (True, True), f"requires_grad and is_leaf of the weight: {parameter}"


def test_each_table_has_its_own_state() -> None:
    """The tables have different sizes, and the batch does not use one of them."""
    tables = [new_table(7), new_table(5, 2, seed=1), new_table(9, seed=2)]
    before = [each.weight.detach().clone() for each in tables]
    states = train_in_backward(tables, lr=0.3, eps=0.2)
    loss = tables[0](torch.tensor([6, 6])).square().sum() + tables[1](torch.tensor([0, 4])).sum()
    loss.backward()

    assert not states[2].any(), (
        "the batch does not use table 2, but its state changes: a function defined in a loop sees"
        " the last value of the loop's variable"
    )
    gradients = [torch.zeros_like(each) for each in before]
    gradients[0][6] = 4 * before[0][6]
    gradients[1][[0, 4]] = 1
    for n, state in enumerate(states):
        zeros = torch.zeros(len(before[n]), dtype=torch.float64)
        right = trained(before[n], gradients[n], zeros, 0.3, 0.2)
        close(state, right[1], f"table {n} of 3: the state")
        what = f"table {n} of 3: the weight, by lr * g / (sqrt(state) + eps), eps 0.2"
        close(tables[n].weight.detach(), right[0], what)


def test_a_table_that_is_used_twice() -> None:
    """The table is trained once, with the whole gradient."""
    table, calls = new_table(), []
    (state,) = train_in_backward([table], lr=0.3)
    before = table.weight.detach().clone()
    table.weight.register_post_accumulate_grad_hook(lambda weight: calls.append(weight.grad))
    (table(torch.tensor([2])).sum() + 2 * table(torch.tensor([2, 3])).sum()).backward()

    assert calls == [None], (
        f"a hook that runs after yours sees the gradients {calls}, expected [None]"
    )
    expected = torch.tensor([0.0, 0, 9, 4, 0, 0, 0], dtype=torch.float64)
    close(state, expected, "row 2 has gradients 1 and 2, row 3 has 2: the state")
    moved = (table.weight.detach() - before)[2]
    close(moved, torch.full((3,), -0.3 * 3 / (3 + 1e-8), dtype=torch.float64), "row 2 moved by")


def test_inside_backward() -> None:
    """When backward reaches the first table, the second is trained and its gradient is freed."""
    first, second, found = new_table(), new_table(), []
    before = second.weight.detach().clone()
    train_in_backward([first, second], lr=0.3)
    early = first(torch.tensor([1]))
    early.register_hook(
        lambda _: found.append((second.weight.grad is None, not second.weight.equal(before)))
    )
    # The product's backward computes both; `later` has the higher number, so it goes first.
    later = second(torch.tensor([3]))
    (early.exp() * later).sum().backward()

    assert found == [(True, True)], (
        f"inside backward, after the second table: (grad is None, trained) is {found}, expected"
        f" [(True, True)]. A hook of the weight runs as soon as its gradient is complete."
    )


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
def test_with_create_graph() -> None:
    """Backward then records, and a weight that requires a gradient cannot be changed in place."""
    table = new_table()
    layer = nn.Linear(3, 1, dtype=torch.float64)
    (state,) = train_in_backward([table], lr=0.3)
    layer(table(torch.tensor([2]))).sum().backward(inputs=[table.weight], create_graph=True)

    assert state[2].item() > 0, "the state of row 2 is 0 after backward with create_graph=True"
    assert not state.requires_grad, "your state has become part of a graph: compute without grad"


def test_everything_is_freed() -> None:
    """Tables, weights and states are freed with their last reference, after training too."""

    def run() -> list[Any]:
        tables = [new_table(seed=n) for n in range(2)]
        states = train_in_backward(tables, lr=0.1)
        sum(each(torch.tensor([1])).sum() for each in tables).backward()
        return [*tables, *(each.weight for each in tables), *states]

    freed(
        run,
        "Use the hook's argument, not a weight or a table from around it. Keep a state in the list"
        " that you return and in its hook, and nowhere else.",
    )


@pytest.mark.backend("torchrec")
def test_fbgemm_agrees() -> None:
    """FBGEMM's table-batched embedding has this formula in its backward."""
    weight, ids = numbers(7, 4).float(), torch.tensor([1, 5, 1, 2])
    table = nn.Embedding.from_pretrained(weight.clone(), freeze=False, sparse=True)
    (state,) = train_in_backward([table], lr=0.3, eps=0.01)
    from fbgemm_gpu.split_embedding_configs import EmbOptimType  # noqa: PLC0415 - may be missing
    from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation  # noqa: PLC0415 - the same
    from fbgemm_gpu.split_table_batched_embeddings_ops_training import ComputeDevice  # noqa: PLC0415 - the same
    from fbgemm_gpu.split_table_batched_embeddings_ops_training import (  # noqa: PLC0415 - the same
        SplitTableBatchedEmbeddingBagsCodegen,
    )

    theirs = SplitTableBatchedEmbeddingBagsCodegen(
        embedding_specs=[(7, 4, EmbeddingLocation.HOST, ComputeDevice.CPU)],
        optimizer=EmbOptimType.EXACT_ROWWISE_ADAGRAD,
        learning_rate=0.3,
        eps=0.01,
    )
    theirs.split_embedding_weights()[0].copy_(weight)
    for _ in range(2):
        table(ids).square().sum(1).sum().backward()
        theirs(ids, torch.arange(5)).square().sum().backward()
    expected = theirs.split_optimizer_states()[0][0]
    torch.testing.assert_close(
        state, expected, msg=f"the state: yours {state}, FBGEMM's {expected}"
    )
    found = theirs.split_embedding_weights()[0]
    torch.testing.assert_close(
        table.weight.detach(), found, msg=f"the weight: yours {table.weight}, FBGEMM's {found}"
    )
