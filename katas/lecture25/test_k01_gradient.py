"""Tests of k01_gradient: entries, their order, and what merges them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from expecttest import assert_expected_inline

from katas.lecture25.k01_gradient import report
from katas.lecture25.k01_gradient import table_gradient
from plugins.kit import unchanged


IDS = torch.tensor([[2, 0], [2, 4]])
WEIGHTS = torch.tensor([[[1.0, 0.5], [2.0, 0.25]], [[4.0, 8.0], [-1.0, 0.0]]])


def entries(gradient: torch.Tensor) -> tuple[list[int], list[list[float]]]:
    """Return the stored rows and values, and check that the gradient is sparse."""
    __tracebackhide__ = True
    kind = gradient.layout if isinstance(gradient, torch.Tensor) else type(gradient)
    assert kind == torch.sparse_coo, f"yours is a {kind}, expected a tensor of torch.sparse_coo"
    return gradient._indices()[0].tolist(), gradient._values().tolist()  # noqa: SLF001


def autograd(ids: torch.Tensor, weights: torch.Tensor, rows: int) -> torch.Tensor:
    """Return PyTorch's gradient of a table of `rows` rows, given that of the lookup, `weights`."""
    table = torch.zeros(rows, weights.shape[-1], dtype=weights.dtype, requires_grad=True)
    F.embedding(ids, table, sparse=True).backward(weights)
    assert table.grad is not None, "autograd computed no gradient"
    return table.grad


def test_one_entry_for_each_id() -> None:
    """There are four ids; two of them are 2."""
    with unchanged(ids=IDS, weights=WEIGHTS):
        rows, values = entries(table_gradient(IDS, WEIGHTS, 5))
    assert rows == [2, 0, 2, 4], (
        f"ids [[2, 0], [2, 4]]: your rows are {rows}, expected [2, 0, 2, 4]: keep the order"
        " of the ids, and row 2 twice"
    )
    expected = WEIGHTS.flatten(0, 1).tolist()
    assert values == expected, f"your values are {values}, expected {expected}"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_same_as_autograds(dtype: torch.dtype) -> None:
    """Compare for irrational numbers, ids [2, 3, 2], and last rows that nobody looks up."""
    dice = torch.Generator().manual_seed(25)
    ids = torch.randint(0, 6, (2, 3, 2), generator=dice)
    weights = torch.randn(2, 3, 2, 4, generator=dice, dtype=torch.float64).to(dtype)
    yours, theirs = table_gradient(ids, weights, 9), autograd(ids, weights, 9)
    assert entries(yours)[0] == entries(theirs)[0], (
        f"rows stored: yours {entries(yours)[0]}, autograd's {entries(theirs)[0]}"
    )
    facts, expected = ((g.dtype, [*g.shape], g.is_coalesced()) for g in (yours, theirs))
    assert facts == expected, f"dtype, size, is_coalesced(): yours {facts}, autograd's {expected}"
    assert entries(yours)[1] == entries(theirs)[1], (
        f"values stored: yours {entries(yours)[1]}\nautograd's {entries(theirs)[1]}"
    )


@pytest.mark.parametrize("ids", [torch.tensor(3), torch.zeros(0, 2, dtype=torch.int64)])
def test_one_id_and_no_id(ids: torch.Tensor) -> None:
    """A single id without dims gives one entry; no ids give none."""
    weights = torch.ones(*ids.shape, 2)
    yours = table_gradient(ids, weights, 5)
    rows, _ = entries(yours)
    assert rows == ids.flatten().tolist(), (
        f"ids {ids.tolist()}: your rows are {rows}, expected the ids"
    )
    assert yours.shape == (5, 2), f"ids {ids.tolist()}: yours is {[*yours.shape]}, expected [5, 2]"


def test_any_strides_and_a_gradient_of_zero() -> None:
    """Ids and weights may be transposed; an id whose gradient is 0 has an entry too."""
    ids, weights = IDS.t(), (WEIGHTS * torch.tensor([[1.0], [0.0]])).transpose(0, 1)
    try:
        rows, values = entries(table_gradient(ids, weights, 5))
    except RuntimeError as error:
        raise AssertionError(
            f"for transposed ids and weights, yours raises {str(error)[:150]}\nview takes only"
            " contiguous dims, reshape takes any"
        ) from None
    assert rows == [2, 2, 0, 4], (
        f"ids [[2, 2], [0, 4]], where 0 and 4 have a gradient of zeros: yours stores the"
        f" rows {rows}, expected [2, 2, 0, 4]: store an entry for each id"
    )
    expected = [[1.0, 0.5], [4.0, 8.0], [0.0, 0.0], [0.0, 0.0]]
    assert values == expected, f"your values are {values}, expected {expected}"


def test_a_table_larger_than_any_memory() -> None:
    """The table has ten trillion rows, and the gradient 64 bytes."""
    last = 10**13 - 1
    ids = torch.tensor([[last, 0], [last, 4]])
    try:
        yours = table_gradient(ids, WEIGHTS, 10**13)
    except RuntimeError as error:
        raise AssertionError(
            f"a table of 10 ** 13 rows: yours raises {str(error)[:150]}\nexpected four entries:"
            " create nothing as large as the table"
        ) from None
    rows, _ = entries(yours)
    assert rows == [last, 0, last, 4], f"your rows are {rows}, expected {ids.tolist()}"


def test_the_report() -> None:
    """Entries are listed as stored, then merged: row 2 is 1.0 + 4.0 and 0.5 + 8.0."""
    gradient = autograd(IDS, WEIGHTS, 5)
    with unchanged(gradient=gradient):
        yours = report(gradient)
    assert_expected_inline(
        yours,
        """\
stored row 2: 1.0 0.5
stored row 0: 2.0 0.25
stored row 2: 4.0 8.0
stored row 4: -1.0 0.0
merged row 0: 2.0 0.25
merged row 2: 5.0 8.5
merged row 4: -1.0 0.0
""",
    )
    stored = entries(gradient)[0]
    assert stored == [2, 0, 2, 4], f"after `report` the gradient stores {stored}: leave it alone"
    assert not gradient.is_coalesced(), "after `report` the gradient is marked as coalesced"


def test_two_steps_pile_up() -> None:
    """Two calls of backward append entries; a gradient without entries has no line."""
    table = torch.zeros(5, 1, requires_grad=True)
    for _ in range(2):
        F.embedding(torch.tensor([3, 1]), table, sparse=True).sum().backward()
    assert table.grad is not None, "autograd computed no gradient"
    assert_expected_inline(
        report(table.grad),
        """\
stored row 3: 1.0
stored row 1: 1.0
stored row 3: 1.0
stored row 1: 1.0
merged row 1: 2.0
merged row 3: 2.0
""",
    )
    nothing = report(autograd(IDS[:0], WEIGHTS[:0], 5))
    assert nothing == "", f"no entries: yours {nothing!r}, expected ''"


def test_merged_rows() -> None:
    """A sum of 0 is still a row, sums are float32, and a merged gradient has both parts."""
    ids, values = torch.tensor([3, 3, 1, 1]), torch.tensor([[1.0], [-1.0], [0.1], [0.2]])
    gradient = autograd(ids, values, 5)
    yours = report(gradient).splitlines()[4:]
    expected = [f"merged row 1: {torch.tensor(0.1).add(0.2).item()}", "merged row 3: 0.0"]
    assert yours == expected, (
        f"row 3 has 1.0 and -1.0, row 1 has 0.1 and 0.2: yours {yours}, expected {expected}: keep"
        " the row whose sum is 0, and add in float32, as PyTorch does"
    )
    yours = report(gradient.coalesce()).splitlines()
    both = [each.replace("merged", "stored") for each in expected] + expected
    assert yours == both, (
        f"a gradient that is already merged: yours {yours}, expected {both}: list the stored"
        " entries, then the merged entries, which are the same"
    )
