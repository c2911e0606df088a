"""Tests of k06_optimizers: steps whose rows are known, then what the optimizers do."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch.optim import SGD
from torch.optim import Adagrad
from torch.optim import Adam
from torch.optim import AdamW
from torch.optim import RMSprop
from torch.optim import SparseAdam

from katas.lecture25.k06_optimizers import moved
from katas.lecture25.k06_optimizers import new_table


# Adagrad makes a sparse tensor without saying whether it is to be checked.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")

OPTIMIZERS: dict[str, Any] = {
    "SGD": SGD,
    "SGD, momentum": partial(SGD, momentum=0.9),
    "SGD, weight decay": partial(SGD, weight_decay=0.1),
    "Adagrad": Adagrad,
    "Adagrad, weight decay": partial(Adagrad, weight_decay=0.1),
    "RMSprop": RMSprop,
    "Adam": Adam,
    "AdamW": AdamW,
    "SparseAdam": SparseAdam,
}


class Custom(torch.optim.Optimizer):
    """Adds a number to some rows, or raises, whatever the gradient is."""

    def __init__(
        self, parameters: Any, rows: list[int], error: Exception | None = None, by: float = 1.0
    ) -> None:
        super().__init__(parameters, {"rows": rows})
        self.error, self.by = error, by

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        """Take the step."""
        if self.error:
            raise self.error
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter[group["rows"]] += self.by


def rows_of(make: Any, *, sparse: bool) -> str:
    """Return the rows that two steps move, as text."""
    table = new_table(sparse=sparse)
    optimizer = make(table.parameters(), lr=0.1)
    steps = [moved(table, optimizer, ids) for ids in ([1, 4], [2])]
    texts = ["refused" if rows is None else "".join(map(str, rows)) for rows in steps]
    return "refused" if {*texts} == {"refused"} else " then ".join(texts)


def test_rows_that_move() -> None:
    """The result is a list of ints, in order, each row once, even if only one number moves."""
    table = new_table(sparse=True)
    yours = moved(table, SGD(table.parameters(), lr=0.1), [4, 1, 4])
    assert yours == [1, 4], f"SGD, ids 4 1 4: yours {yours}, expected [1, 4]"

    table = new_table(sparse=True)
    with torch.no_grad():
        table.weight[3] = torch.tensor([0.0, 0.0, 2.0])
    yours = moved(table, SGD(table.parameters(), lr=0.1), [3])
    assert yours == [3], f"row 3 is 0 0 2, and only its last number moves: yours {yours}"


def test_the_rows_that_the_optimizer_moves() -> None:
    """One custom optimizer moves rows 0 and 5, whatever the ids are, and another moves none."""
    table = new_table(sparse=True)
    found = [moved(table, Custom(table.parameters(), rows), [2]) for rows in ([5, 0], [])]
    assert found == [[0, 5], []], (
        f"for id 2, one optimizer adds 1 to rows 0 and 5, another to none: yours {found}, expected"
        f" [[0, 5], []]. Compare the table before and after; the gradient does not show it."
    )
    found = moved(table, Custom(table.parameters(), [2], by=1e-12), [2])
    assert found == [2], f"row 2 moves by 1e-12: yours {found}, expected [2]; compare with `!=`"


def test_the_loss_is_a_sum_of_squares() -> None:
    """The gradient is twice the row, and twice that if an id occurs again."""
    table, before = new_table(sparse=False), new_table(sparse=False).weight
    moved(table, SGD(table.parameters(), lr=0.1), [1, 2, 2])

    share = 1 - table.weight / before
    expected = torch.tensor([0.0, 0.2, 0.4, 0.0, 0.0, 0.0], dtype=torch.float64)[:, None]
    torch.testing.assert_close(
        share,
        expected.expand(6, 3),
        msg=f"SGD, lr 0.1, ids 1 2 2: rows shrink by the shares {share[:, 1].tolist()},"
        f" expected {expected.flatten().tolist()}",
    )


def test_an_old_gradient_is_cleared() -> None:
    """An earlier backward left a gradient for row 5."""
    table = new_table(sparse=False)
    table(torch.tensor([5])).sum().backward()
    yours = moved(table, SGD(table.parameters(), lr=0.1), [0])
    assert yours == [0], f"id 0, with a gradient of row 5 from before: yours {yours}, expected [0]"


def test_a_refusal() -> None:
    """A step that raises a RuntimeError gives None; one that moves nothing gives an empty list."""
    table = new_table(sparse=True)
    error = RuntimeError("no sparse gradients, please")
    yours = moved(table, Custom(table.parameters(), [], error), [1])
    assert yours is None, f"the step raises a RuntimeError: yours {yours}, expected None"


def test_bugs_are_no_refusal() -> None:
    """Any other error in the step, and a RuntimeError before it, are let through."""
    table = new_table(sparse=True)
    with pytest.raises(ValueError, match="a bug"):
        moved(table, Custom(table.parameters(), [], ValueError("a bug")), [1])
    optimizer = Custom(table.parameters(), [])
    table.weight.requires_grad_(requires_grad=False)
    with pytest.raises(RuntimeError, match="does not require grad"):
        moved(table, optimizer, [1])


def test_what_the_optimizers_do() -> None:
    """For ids 1 4, then 2, show which optimizers take a sparse gradient, and which rows move."""
    lines = []
    for name, make in OPTIMIZERS.items():
        sparse = rows_of(make, sparse=True)
        dense = "" if make is SparseAdam else rows_of(make, sparse=False)
        lines.append(f"{name:23}{sparse:15}{dense}".rstrip())
    assert_expected_inline(
        "\n".join(lines),
        """\
SGD                    14 then 2      14 then 2
SGD, momentum          14 then 124    14 then 124
SGD, weight decay      refused        012345 then 012345
Adagrad                14 then 2      14 then 2
Adagrad, weight decay  refused        012345 then 012345
RMSprop                refused        14 then 2
Adam                   refused        14 then 124
AdamW                  refused        012345 then 012345
SparseAdam             14 then 2""",
    )


def test_a_row_drifts() -> None:
    """Dense Adam moves row 1 on for ten steps in which it does not occur; SparseAdam does not."""
    way = []
    for make, sparse in ((Adam, False), (SparseAdam, True)):
        table = new_table(sparse=sparse)
        optimizer, start = make(table.parameters(), lr=0.1), table.weight[1, 0].item()
        moved(table, optimizer, [1])
        first = table.weight[1, 0].item() - start
        for _ in range(10):
            moved(table, optimizer, [2])
        way.append((first, table.weight[1, 0].item() - start))

    (dense_first, dense), (sparse_first, sparse) = way
    assert abs(dense_first - sparse_first) < 1e-6, f"the first steps differ: {way}"
    assert dense < 3 * dense_first, (
        f"expected dense Adam to move row 1 on in ten more steps: {way[0]}"
    )
    assert sparse == sparse_first, f"expected SparseAdam to leave row 1 where it was: {way[1]}"
