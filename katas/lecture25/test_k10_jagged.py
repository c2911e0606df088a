"""Tests of k10_jagged: bags on paper, PyTorch's nested tensors, and torchrec if it is installed."""

from __future__ import annotations

import warnings
from typing import Any
from typing import NoReturn

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode

from katas.lecture25.k10_jagged import by_sample
from katas.lecture25.k10_jagged import offsets_of
from katas.lecture25.k10_jagged import permute
from katas.lecture25.k10_jagged import runs
from plugins.kit import unchanged
from plugins.kit import watched_operators


VALUES = torch.tensor([50, 51, 60, 61, 62, 63])
LENGTHS = torch.tensor([[2, 0], [1, 3]])


def same(yours: Any, expected: list[Any], why: str, dtype: torch.dtype = torch.int64) -> None:
    """Compare a tensor of integers with a list."""
    __tracebackhide__ = True
    assert isinstance(yours, torch.Tensor), f"{why}\nyours is {yours!r}, expected a tensor"
    assert yours.tolist() == expected, f"{why}\nyours:    {yours.tolist()}\nexpected: {expected}"
    assert yours.dtype == dtype, f"{why}\nyours is {yours.dtype}, expected {dtype}"


def irrational(*size: int) -> torch.Tensor:
    """Return the roots of 2, 3, 4, ..."""
    return (torch.arange(torch.Size(size).numel()).double() + 2).sqrt().view(size)


def test_offsets_begin_with_zero_and_end_with_the_number_of_values() -> None:
    """There is one more offset than there are bags."""
    lengths = torch.tensor([2, 1, 3])
    with unchanged(lengths=lengths):
        yours = offsets_of(lengths)
    same(yours, [0, 2, 3, 6], "offsets of lengths 2, 1, 3")
    why = "offsets of 0, 2, 0: an empty bag begins where the next one begins"
    same(offsets_of(torch.tensor([0, 2, 0])), [0, 0, 2, 2], why)


def test_offsets_of_int32_and_of_no_bags() -> None:
    """Offsets are int64, which the sum of many int32 may need."""
    for dtype in (torch.int32, torch.int64):
        large = torch.tensor([2**31 - 2, 5], dtype=dtype)
        same(offsets_of(large), [0, 2**31 - 2, 2**31 + 3], f"offsets of large lengths in {dtype}")
        none = torch.tensor([], dtype=dtype)
        same(offsets_of(none), [0], f"offsets of no bags at all, in {dtype}")


def test_runs_on_paper() -> None:
    """The second of two bags starts before the first."""
    starts, lengths = torch.tensor([4, 0]), torch.tensor([2, 3])
    with unchanged(starts=starts, lengths=lengths):
        yours = runs(starts, lengths)
    same(yours, [4, 5, 0, 1, 2], "starts 4, 0 and lengths 2, 3")


def test_runs_may_be_empty_and_overlap() -> None:
    """Bags may be empty at the beginning, inside, or at the end; or there is no bag."""
    for dtype in (torch.int32, torch.int64):
        lengths = torch.tensor([0, 2, 0, 3, 1, 0], dtype=dtype)
        yours = runs(torch.tensor([9, 4, 7, 3, 4, 0]), lengths)
        same(yours, [4, 5, 3, 4, 5, 4], f"starts 9 4 7 3 4 0, lengths 0 2 0 3 1 0 in {dtype}")
        none = torch.tensor([], dtype=dtype)
        same(runs(torch.tensor([], dtype=torch.int64), none), [], "no bags")


class Largest(TorchFunctionMode):
    """Remembers the size of the largest tensor that is created."""

    most = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call it, and look at its result."""
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.most = max(self.most, result.numel())
        return result


def test_one_long_bag_makes_the_others_no_longer() -> None:
    """One bag of 10000 is among 300 bags of one."""
    lengths = torch.ones(301, dtype=torch.int64)
    lengths[150] = 10000
    starts = torch.arange(301).flip(0)
    with Largest() as made:
        yours = runs(starts, lengths)
    expected = [*range(300, 150, -1), *range(150, 10150), *range(149, -1, -1)]
    assert yours.tolist() == expected, "300 bags of one and one of 10000: wrong positions"
    assert made.most <= 4 * len(expected), (
        f"{len(expected)} positions: your code creates a tensor of {made.most} elements: do not"
        " pad each bag to the longest"
    )


def test_permute_swaps_the_keys_of_the_brief() -> None:
    """Key 1 comes first; the samples keep their order."""
    with unchanged(values=VALUES, lengths=LENGTHS):
        values, lengths = permute(VALUES, LENGTHS, torch.tensor([1, 0]))
    same(lengths, [[1, 3], [2, 0]], "lengths of keys 1, 0")
    same(values, [60, 61, 62, 63, 50, 51], "values of keys 1, 0: each bag keeps its order")


def test_keys_may_be_left_out_and_repeated() -> None:
    """The order may be a cycle of three keys, one key twice, or no key."""
    values, lengths = torch.arange(10, 17), torch.tensor([[2, 0], [1, 1], [0, 3]])
    for order, expected, chosen in (
        ([2, 0, 1], [14, 15, 16, 10, 11, 12, 13], [[0, 3], [2, 0], [1, 1]]),
        ([1], [12, 13], [[1, 1]]),
        ([1, 2, 1], [12, 13, 14, 15, 16, 12, 13], [[1, 1], [0, 3], [1, 1]]),
        ([], [], []),
    ):
        yours, theirs = permute(values, lengths, torch.tensor(order, dtype=torch.int64))
        same(theirs, chosen, f"lengths {lengths.tolist()} of keys {order}")
        same(yours, expected, f"values 10 to 16, lengths {lengths.tolist()}, of keys {order}")
        assert theirs.shape == (len(order), 2), (
            f"lengths of keys {order}: your shape {tuple(theirs.shape)}, expected {(len(order), 2)}"
        )


def test_by_sample_turns_the_table_of_the_brief() -> None:
    """Sample 0 has two ids of key 0 and one of key 1."""
    with unchanged(values=VALUES, lengths=LENGTHS):
        values, lengths = by_sample(VALUES, LENGTHS)
    same(lengths, [[2, 1], [0, 3]], "a row of lengths for each sample")
    same(values, [50, 51, 60, 61, 62, 63], "sample after sample; here nothing moves")

    values, lengths = by_sample(VALUES, torch.tensor([[2, 1, 0], [1, 0, 2]]))
    same(lengths, [[2, 1], [1, 0], [0, 2]], "lengths 2 1 0 and 1 0 2, of three samples")
    same(values, [50, 51, 61, 60, 62, 63], "values 50 51 60 61 62 63, sample after sample")


def test_vectors_and_their_gradient() -> None:
    """Values may be weights or embeddings: rows of two numbers, and a key that is used twice."""
    lengths, order = torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), torch.tensor([1, 0, 1])
    x = irrational(6, 2).requires_grad_()
    expected = torch.cat([x[2:], x[:2], x[2:]])
    values, chosen = permute(x, lengths, order)
    assert values.dtype == x.dtype, f"yours is {values.dtype}, expected {x.dtype}"
    assert values.tolist() == expected.tolist(), f"yours {values}, expected {expected}"
    assert values.requires_grad, "permute: no gradient flows from the result to the values"
    same(chosen, [[1, 3], [2, 0], [1, 3]], "lengths, in their dtype", torch.int32)
    weights = irrational(10, 2).flip(0)
    turned = by_sample(x, lengths)[0]
    assert turned.requires_grad, "by_sample: no gradient flows from the result to the values"
    for result, right in ((values, expected), (turned, x)):
        (yours,) = torch.autograd.grad((result * weights[: len(result)]).sum(), x)
        (grad,) = torch.autograd.grad((right * weights[: len(right)]).sum(), x)
        assert torch.allclose(yours, grad, rtol=1e-12), f"gradient: yours {yours}, expected {grad}"
    same(by_sample(x, lengths)[1], [[2, 1], [0, 3]], "by sample, in their dtype", torch.int32)


def rows_of(values: torch.Tensor, offsets: torch.Tensor) -> list[torch.Tensor]:
    """Return the bags of PyTorch's nested tensor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*torch.nested.nested_tensor_from_jagged(values, offsets).unbind()]


def test_a_nested_tensor_takes_your_offsets() -> None:
    """The nested tensor's rows are the bags, and its sum over dim 1 pools them."""
    lengths, values = torch.tensor([2, 0, 3, 1]), irrational(6, 2)
    offsets = offsets_of(lengths)
    rows = rows_of(values, offsets)
    found = [len(row) for row in rows]
    assert found == [2, 0, 3, 1], f"rows of nested_tensor_from_jagged with your offsets: {found}"
    pooled = torch.nested.nested_tensor_from_jagged(values, offsets).sum(1)
    expected = torch.segment_reduce(values, "sum", lengths=lengths, axis=0)
    assert torch.allclose(pooled, expected, rtol=1e-12), f"pooled: {pooled}, expected {expected}"


@st.composite
def tables(draw: Any) -> tuple[list[list[int]], list[int]]:
    """Draw lengths of some keys and samples, and an order of the keys."""
    keys, samples = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 3), min_size=samples, max_size=samples)
    lengths = draw(st.lists(row, min_size=keys, max_size=keys))
    return lengths, draw(st.lists(st.integers(0, keys - 1), max_size=5))


@given(tables())
@example(([[0, 0], [0, 0]], [1, 0]))
@example(([[1, 2, 0], [0, 3, 1]], [1, 1]))
def test_it_is_the_bags_of_a_nested_tensor_in_another_order(case: Any) -> None:
    """Compare with a nested tensor's bags, reordered and joined again."""
    table, order = case
    lengths = torch.tensor(table)
    keys, samples = lengths.shape
    values = torch.arange(100, 100 + int(lengths.sum()))
    ends = torch.tensor([0, *lengths.flatten().cumsum(0).tolist()])
    bags = [row.tolist() for row in rows_of(values, ends)]
    yours, _ = permute(values, lengths, torch.tensor(order, dtype=torch.int64))
    chosen = [bags[key * samples + n] for key in order for n in range(samples)]
    same(yours, [i for bag in chosen for i in bag], f"lengths {table}, keys {order}")

    yours, turned = by_sample(values, lengths)
    chosen = [bags[key * samples + n] for n in range(samples) for key in range(keys)]
    same(yours, [i for bag in chosen for i in bag], f"lengths {table}, by sample")
    back, lengths = by_sample(yours, turned)
    same(lengths, table, f"lengths {table}, by sample and by sample again")
    same(back, values.tolist(), f"values of lengths {table}, by sample and by sample again")


def test_as_many_operators_for_300_keys_or_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """One gather for all bags, whose lengths never become a list."""

    def refuse(*_args: object) -> NoReturn:
        raise AssertionError("your code turns a tensor into a list, to loop over it in Python")

    counts = []
    for keys, samples in ((3, 4), (300, 4), (3, 300)):
        lengths = (torch.arange(keys * samples) % 3).view(keys, samples)
        values, order = torch.arange(int(lengths.sum())), torch.arange(keys).flip(0)
        with monkeypatch.context() as patch:
            for name in ("tolist", "__iter__", "numpy"):
                patch.setattr(torch.Tensor, name, refuse)
            with watched_operators() as operators:
                permute(values, lengths, order)
                by_sample(values, lengths)
        counts.append(len(operators))
    few, keys, samples = counts
    assert few == keys == samples, (
        f"your operators for 3 keys and 4 samples: {few}, for 300 keys: {keys}, for 300"
        f" samples: {samples}; expected the same: compute all positions first, then gather once"
    )


@pytest.mark.backend("torchrec")
def test_torchrec_agrees() -> None:
    """KeyedJaggedTensor permutes by keys too, with flat lengths."""
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor  # noqa: PLC0415 - may be missing

    lengths = torch.tensor([[2, 0], [1, 1], [0, 3]])
    jagged = KeyedJaggedTensor(["a", "b", "c"], torch.arange(7), lengths=lengths.flatten())
    offsets = offsets_of(lengths.flatten())
    same(offsets, jagged.offsets().tolist(), "offsets; expected is torchrec's")
    for order in ([2, 0, 1], [1, 0, 2]):
        values, chosen = permute(torch.arange(7), lengths, torch.tensor(order))
        theirs = jagged.permute(order)
        same(values, theirs.values().tolist(), f"values of keys {order}; expected is torchrec's")
        flat = chosen.flatten()
        same(flat, theirs.lengths().tolist(), f"lengths of keys {order}; expected is torchrec's")
