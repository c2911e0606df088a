"""Tests of k03_bag_gradient: entries, finite differences, and fake tensors."""

from __future__ import annotations

import gc
import weakref
from itertools import count
from typing import TYPE_CHECKING
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch._subclasses.fake_tensor import DynamicOutputShapeException
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef

from katas.lecture25 import k03_bag_gradient as kata
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.library import CustomOpDef


NUMBERS = count()
MODES = ("sum", "mean")
IDS = (3, 1, 1, 4, 0)
OFFSETS = (0, 2, 2)


class Dense(torch.autograd.Function):
    """The identity; gradcheck refuses sparse gradients, and this makes them dense."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x."""
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Return a dense gradient."""
        return grad.to_dense()


def whole(*values: int) -> torch.Tensor:
    """Return an int64 tensor."""
    return torch.tensor(values, dtype=torch.int64)


def numbers(*size: int) -> torch.Tensor:
    """Return irrational float64 values."""
    dice = torch.Generator().manual_seed(sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def entries(
    grad: torch.Tensor, ids: Sequence[int], offsets: Sequence[int], mode: str, rows: int = 6
) -> tuple[torch.Tensor, str]:
    """Check all but the values; return the values, and a description of the case."""
    __tracebackhide__ = True
    i, o = whole(*ids), whole(*offsets)
    with unchanged(grad=grad, ids=i, offsets=o):
        yours = kata.table_gradient(grad, i, o, rows, mode)
    text = f"{mode} of ids {[*ids]}, offsets {[*offsets]}"
    kind = yours.layout if isinstance(yours, torch.Tensor) else type(yours)
    assert kind == torch.sparse_coo, f"{text}: yours is a {kind}, expected torch.sparse_coo"
    stored = yours._indices()[0].tolist()  # noqa: SLF001 - reads unmerged entries
    assert stored == [*ids], (
        f"{text}: your gradient stores the rows {stored}, expected an entry for each id"
    )
    size = [rows, grad.shape[1]]
    assert [*yours.shape] == size, f"{text}: yours has size {[*yours.shape]}, expected {size}"
    values = yours._values()  # noqa: SLF001
    assert values.dtype == grad.dtype, f"{text}: yours is {values.dtype}, expected {grad.dtype}"
    return values, text


def built() -> tuple[CustomOpDef, str]:
    """Return your operator under a new name, and the name."""
    name = f"bag_{next(NUMBERS)}"
    operator = kata.build(name)
    assert operator is not None, "`build` returned None, expected the operator"
    return operator, name


def test_an_id_gets_the_gradient_of_its_bag() -> None:
    """Of two bags, ids 3 and 1 get grad[0], and the three ids after them grad[1]."""
    values, text = entries(torch.tensor([[1.0], [10.0]]), IDS, (0, 2), "sum")
    yours = values.flatten().tolist()
    assert yours == [1, 1, 10, 10, 10], f"{text}: yours {yours}, expected [1, 1, 10, 10, 10]"


def test_an_empty_bag_has_no_entry() -> None:
    """Bags in front, in the middle and at the end are empty."""
    grad = torch.tensor([[1.0], [10.0], [100.0], [1000.0]])
    for offsets, expected in (
        ((0, 2, 2, 5), [1, 1, 100, 100, 100]),
        ((0, 0, 0, 1), [100, 1000, 1000, 1000, 1000]),
        ((0, 5, 5, 5), [1, 1, 1, 1, 1]),
    ):
        values, text = entries(grad, IDS, offsets, "sum")
        yours = values.flatten().tolist()
        assert yours == expected, f"{text}: yours {yours}, expected {expected}"


def test_a_mean_shares_its_gradient() -> None:
    """A gradient of 6 is 2 for each of three ids, or 3 for each of two."""
    values, text = entries(torch.full((3, 2), 6.0), IDS, OFFSETS, "mean")
    yours = values.tolist()
    expected = [[3.0, 3.0]] * 2 + [[2.0, 2.0]] * 3
    assert yours == expected, f"{text}, grad 6: yours {yours}, expected {expected}"
    for dtype in (torch.float16, torch.float64):
        entries(torch.ones(3, 2, dtype=dtype), IDS, OFFSETS, "mean")


def test_no_ids_and_no_bags() -> None:
    """The gradient has no entries, but the size of the table."""
    for mode in MODES:
        entries(numbers(2, 3), (), (0, 0), mode)
        entries(numbers(0, 3), (), (), mode)


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=8),
    mode=st.sampled_from(["sum", "mean"]),
)
def test_any_bags(lengths: list[int], mode: str) -> None:
    """Compare with the entries of PyTorch's own sparse gradient."""
    ends = torch.tensor(lengths).cumsum(0)
    ids, offsets = torch.arange(int(ends[-1])) * 5 % 7, ends - torch.tensor(lengths)
    table = torch.zeros(7, 3, dtype=torch.float64, requires_grad=True)
    grad = numbers(len(lengths), 3)
    F.embedding_bag(ids, table, offsets, mode=mode, sparse=True).backward(grad)
    yours, text = entries(grad, ids.tolist(), offsets.tolist(), mode, 7)
    assert table.grad is not None, "autograd computed no gradient"
    theirs = table.grad._values()  # noqa: SLF001
    message = f"{text}\nyours     {yours.tolist()}\nPyTorch's {theirs.tolist()}"
    torch.testing.assert_close(yours, theirs, rtol=1e-12, atol=1e-12, msg=message)


def test_no_loop_and_nothing_as_large_as_the_table() -> None:
    """Thirty bags take as many operators as three, and a table may have 10 ** 13 rows."""
    counts = []
    for bags in (3, 30):
        grad, ids, offsets = numbers(bags, 2), torch.zeros(2 * bags).long(), torch.arange(bags) * 2
        with watched_operators() as ran:
            try:
                kata.table_gradient(grad, ids, offsets, 10**13, "mean")
            except RuntimeError as error:
                raise AssertionError(
                    f"a table of 10 ** 13 rows: yours raises {str(error)[:150]}\ncreate an entry"
                    " for each id, and nothing as large as the table"
                ) from None
        counts.append(len(ran))
    assert counts[0] == counts[1], (
        f"{counts[0]} operators for 3 bags, {counts[1]} for 30, expected the same"
    )


def test_the_operator_computes() -> None:
    """The operator returns what the given kernel returns."""
    operator, name = built()
    table, ids, offsets = numbers(6, 3), whole(*IDS), whole(*OFFSETS)
    for mode in MODES:
        right = kata.kernel(table, ids, offsets, mode)
        for what, call in (
            ("the operator that you return", operator),
            (f"torch.ops.lecture25_k03.{name}", getattr(torch.ops.lecture25_k03, name)),
        ):
            yours = call(table, ids, offsets, mode)
            assert torch.equal(yours, right), f"{what}: yours {yours}, expected {right}"


def test_gradcheck_agrees() -> None:
    """Compare with finite differences of the table, for sums and means, with an empty bag."""
    operator, _ = built()
    table, ids, offsets = numbers(6, 3).requires_grad_(), whole(*IDS), whole(*OFFSETS)
    for mode in MODES:
        try:
            agree = torch.autograd.gradcheck(
                lambda table, mode=mode: operator(Dense.apply(table), ids, offsets, mode),
                table,
                raise_exception=False,
            )
        except (RuntimeError, TypeError) as error:
            raise AssertionError(
                f"{mode}: backward raises {type(error).__name__}: {str(error)[:200]}\nThe operator"
                " has four inputs; the formula returns a value for each, None for three of them"
            ) from None
        assert agree, (
            f"{mode}: gradcheck: your formula and finite differences differ. Is the mode kept?"
        )


def test_the_gradient_is_sparse() -> None:
    """The gradient has the table's dtype and five entries, two of them for row 1."""
    operator, _ = built()
    for dtype in (torch.float32, torch.float64):
        table = torch.ones(9, 3, dtype=dtype, requires_grad=True)
        operator(table, whole(*IDS), whole(*OFFSETS), "mean").sum().backward()
        grad = table.grad
        assert grad is not None, "no gradient reached the table"
        assert grad.layout == torch.sparse_coo, f"yours is {grad.layout}, expected sparse_coo"
        facts = [*grad.shape], grad.dtype, grad._nnz()  # noqa: SLF001
        expected = [9, 3], dtype, 5
        assert facts == expected, f"size, dtype, entries: yours {facts}, expected {expected}"


def test_two_calls_do_not_share_what_they_keep() -> None:
    """Make two calls with different tables and modes, then compute both gradients."""
    operator, _ = built()
    small, large = numbers(6, 3).requires_grad_(), numbers(9, 3).requires_grad_()
    first = operator(small, whole(*IDS), whole(*OFFSETS), "sum")
    second = operator(large, whole(8, 7), whole(0), "mean")
    for table, bags, value in ((small, first, 1.0), (large, second, 0.5)):
        (grad,) = torch.autograd.grad(bags.sum(), table)
        facts = [*grad.shape], grad._values()[0, 0].item()  # noqa: SLF001
        expected = [*table.shape], value
        assert facts == expected, (
            f"after two calls, a gradient's size and first value are {facts}, expected {expected}:"
            " keep what the formula needs in ctx, because each call has its own"
        )


def test_the_fake_kernel() -> None:
    """On the meta device there are no values, only a shape, a dtype and a device."""
    operator, _ = built()
    for dtype in (torch.float32, torch.float64):
        table = torch.empty(6, 3, dtype=dtype, device="meta")
        ids = torch.empty(5, dtype=torch.int64, device="meta")
        bags = operator(table, ids, ids[:2], "mean")
        facts = [*bags.shape], bags.dtype, bags.device.type
        expected = [2, 3], dtype, "meta"
        assert facts == expected, f"the fake kernel: yours {facts}, expected {expected}"


def test_the_formula_runs_on_fake_tensors() -> None:
    """Ids and offsets have sizes but no values; the gradient still has its size."""
    operator, _ = built()
    for mode in MODES:
        with FakeTensorMode():
            table = torch.empty(6, 3, requires_grad=True)
            ids = torch.empty(5, dtype=torch.int64)
            bags = operator(table, ids, ids[:2], mode)
            try:
                (grad,) = torch.autograd.grad(bags.sum(), table)
            except RuntimeError as error:
                reason = ""
                if isinstance(error, DynamicOutputShapeException):
                    reason = ": a size is computed from values; say how large it is"
                elif isinstance(error, DataDependentOutputException):
                    reason = ": a value is read (int(), item(), tolist()); take a size"
                raise AssertionError(
                    f"the formula on fake tensors: {type(error).__name__}: {str(error)[:200]}\n"
                    f"expected a gradient{reason}"
                ) from None
        assert grad.shape == (6, 3), f"a fake gradient: yours {[*grad.shape]}, expected [6, 3]"


def test_opcheck() -> None:
    """Run PyTorch's own checks of an operator, including a traced backward with symbolic sizes."""
    operator, name = built()
    arguments = numbers(6, 3).requires_grad_(), whole(*IDS), whole(*OFFSETS), "mean"
    found = torch.library.opcheck(operator, arguments, raise_exception=False)
    bad = {check: str(result)[:200] for check, result in found.items() if result != "SUCCESS"}
    assert not bad, f"torch.library.opcheck of {name}: {bad}"


def test_the_table_is_not_kept() -> None:
    """A sum needs only ids and offsets; a write to ids before backward is noticed."""
    operator, _ = built()
    leaf, ids, offsets = numbers(6, 3).requires_grad_(), whole(*IDS), whole(*OFFSETS)
    table, kept = leaf * 1, []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append([*x.shape]) or x, _same):
        operator(table, ids, offsets, "sum")
    assert sorted(kept) == [[3], [5]], (
        f"shapes of the saved tensors: yours {kept}, expected those of ids and offsets, [5] and [3]"
    )
    bags = operator(table, ids, offsets, "sum")
    gone, memory = weakref.ref(table), StorageWeakRef(table.untyped_storage())
    del table
    gc.collect()
    assert gone() is None, (
        "the table was deleted, but your code keeps it alive, perhaps in an attribute of ctx: the"
        " formula needs only its number of rows"
    )
    assert memory.expired(), (
        "the table was deleted, but your code keeps its memory: a view or a detached table has"
        " the same memory; the formula needs only its number of rows"
    )
    ids.add_(1)
    try:
        bags.sum().backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error), f"backward raises {error}"  # noqa: PT017
    else:
        raise AssertionError(
            "ids were changed before backward, and your code silently uses the new ones: keep them"
            " with save_for_backward"
        )


def _same(x: torch.Tensor) -> torch.Tensor:
    """Return x."""
    return x
