"""Tests of k08_hashing: the same hash in Python's integers, which have as many bits as you like."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from katas.lecture25.k08_hashing import FIRST
from katas.lecture25.k08_hashing import SECOND
from katas.lecture25.k08_hashing import bucket
from katas.lecture25.k08_hashing import looked_up
from katas.lecture25.k08_hashing import mixed
from katas.lecture25.k08_hashing import shifted
from katas.lecture25.k08_hashing import signed
from plugins.kit import unchanged
from plugins.kit import watched_operators


FULL = 2**64 - 1
EDGES = [0, 1, -1, 5, -7, 2**33, 2**53 + 1, -(2**62) - 3, 2**63 - 1, -(2**63)]
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def hashed(x: int) -> int:
    """Return the last step of MurmurHash3, unsigned."""
    x &= FULL
    x = (x ^ x >> 33) * FIRST & FULL
    x = (x ^ x >> 33) * SECOND & FULL
    return x ^ x >> 33


def right_bucket(x: int, buckets: int, seed: int) -> int:
    """Return the bucket of an id."""
    return hashed(hashed(x) + seed) % buckets


def same(yours: torch.Tensor, expected: list[int], what: str) -> None:
    """Compare dtype and integers."""
    __tracebackhide__ = True
    assert yours.dtype == torch.int64, f"{what}: yours is {yours.dtype}, expected int64"
    found = yours.flatten().tolist()
    assert found == expected, f"{what}: yours is {found}, expected {expected}"


@pytest.mark.parametrize("bits", [1, 33, 62, 63])
def test_zeros_come_in(bits: int) -> None:
    """-1 shifted by 1 is 63 ones, not -1."""
    x = torch.tensor([-1, -7, 12, 2**62, -(2**63)])
    with unchanged(x=x):
        yours = shifted(x, bits)

    expected = [signed((it & FULL) >> bits) for it in x.tolist()]
    negative = (yours < 0).any()
    why = "`>>` repeats the sign" if negative else f"{64 - bits} bits are left, the first included"
    same(yours, expected, f"{x.tolist()} shifted by {bits} ({why})")


@example(EDGES)
@settings(max_examples=20)
@given(st.lists(INTEGERS, min_size=1, max_size=5))
def test_mixed(ids: list[int]) -> None:
    """The result has the same 64 bits as with unsigned numbers."""
    x = torch.tensor(ids)
    with unchanged(x=x):
        yours = mixed(x)

    same(yours, [signed(hashed(it)) for it in ids], f"{ids} mixed")


def test_bucket_of_one_id() -> None:
    """Seed 0 is the default, and mixes twice too."""
    same(bucket(torch.tensor([42]), 1000), [right_bucket(42, 1000, 0)], "id 42 among 1000")


@example(EDGES, 1, 0)
@example(EDGES, 7, 1)
@example(EDGES, 2**14, 0)
@example(EDGES, 2**62, 2**31)
@example(EDGES, 2**62 - 1, 3)
@example(EDGES, 3 * 2**60, 0)
@settings(max_examples=20)
@given(st.lists(INTEGERS, min_size=1, max_size=5), st.integers(1, 2**62), st.integers(0, 2**31))
def test_bucket(ids: list[int], buckets: int, seed: int) -> None:
    """Hashes are unsigned: half of them are negative as int64, with different remainders."""
    x = torch.tensor(ids)
    with unchanged(x=x):
        yours = bucket(x, buckets, seed)

    right = [right_bucket(it, buckets, seed) for it in ids]
    found = yours.flatten().tolist()
    wrong = [it for it, a, b in zip(ids, found, right, strict=False) if a != b]
    negative = [it for it in wrong if hashed(hashed(it) + seed) > FULL // 2]
    what = f"ids {ids}, buckets: {buckets}, seed {seed}; wrong for ids {wrong}"
    same(yours, right, f"{what}, of which {negative} have negative hashes if read as int64")


def test_int32() -> None:
    """Ids of any shape become int64 before anything else."""
    ids = torch.tensor([[5, -7], [2**31 - 1, -(2**31)]], dtype=torch.int32)
    yours = bucket(ids, 1000, 2)

    same(yours, [right_bucket(it, 1000, 2) for it in ids.flatten().tolist()], "int32 ids")
    assert yours.shape == (2, 2), f"ids of shape [2, 2]: yours is {[*yours.shape]}"


@pytest.mark.parametrize("shape", [(0,), (), (3, 0)])
def test_shapes(shape: tuple[int, ...]) -> None:
    """There may be one id without a dim, and no id at all."""
    ids = torch.zeros(shape, dtype=torch.int64)
    shapes = [[*it.shape] for it in (bucket(ids, 9), looked_up(torch.ones(9, 2), ids, 2))]
    assert shapes == [[*shape], [*shape, 2]], f"ids of shape {[*shape]}: yours have {shapes}"


@pytest.mark.parametrize("step", [1, 16, -(2**40)])
@pytest.mark.parametrize("buckets", [2**14, 16381])
def test_ids_spread(step: int, buckets: int) -> None:
    """10,000 ids reach about as many buckets as random numbers would."""
    yours = bucket(torch.arange(10_000) * step, buckets).unique().numel()
    expected = buckets * (1 - math.exp(-10_000 / buckets))
    assert abs(yours - expected) < 200, (
        f"10,000 ids in steps of {step} reach {yours} of {buckets} buckets, expected about"
        f" {expected:.0f}"
    )


def test_seeds_are_independent() -> None:
    """Ids that share a bucket under one seed rarely share one under the next."""
    ids = torch.arange(20_000)
    first, second = bucket(ids, 256, 0), bucket(ids, 256, 1)
    pairs = (first * 256 + second).unique().numel()
    expected = 65536 * (1 - math.exp(-20_000 / 65536))
    assert abs(pairs - expected) < 400, (
        f"20,000 ids reach {pairs} pairs of buckets, expected about {expected:.0f}"
    )


@pytest.mark.parametrize("hashes", [1, 2, 4])
def test_looked_up(hashes: int) -> None:
    """The result is the sum of one row per seed."""
    table = torch.arange(22, dtype=torch.float64).reshape(11, 2).sqrt()
    ids = torch.tensor([[3, 10**12, -7], [3, 0, 9]])
    with unchanged(table=table, ids=ids):
        yours = looked_up(table, ids, hashes)

    flat = [
        sum(table[right_bucket(it, 11, seed)] for seed in range(hashes))
        for it in ids.flatten().tolist()
    ]
    expected = torch.stack(flat).reshape(2, 3, 2)
    assert yours.shape == expected.shape, (
        f"yours has shape {[*yours.shape]}, expected {[*expected.shape]}"
    )
    says = f"hashes: {hashes}; yours {yours.tolist()}, expected {expected.tolist()}\n".__add__
    torch.testing.assert_close(yours, expected, rtol=0, atol=1e-12, msg=says)


def test_the_table_has_a_gradient() -> None:
    """A row counts as often as it is added, even if an id occurs twice."""
    table = torch.arange(6, dtype=torch.float64).reshape(3, 2).sqrt().requires_grad_()
    ids = torch.tensor([5, 5, 8, 2**40])
    right = torch.autograd.gradcheck(
        lambda leaf: looked_up(leaf, ids, 3), table, raise_exception=False
    )
    assert right, "`looked_up`: the gradient for the table and finite differences differ"


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_dtype(dtype: torch.dtype) -> None:
    """Vectors have the table's dtype."""
    yours = looked_up(torch.ones(9, 2, dtype=dtype), torch.tensor([4]), 2).dtype
    assert yours == dtype, f"for a table of {dtype}, your code returns {yours}"


def test_no_loop() -> None:
    """More ids take no more operators."""
    counts = []
    for size in (3, 300):
        ids = torch.arange(size)
        with watched_operators() as ran:
            bucket(ids, 1000, 1)
        counts.append(len(ran))
    assert counts[0] == counts[1], f"operators for 3 ids and for 300: {counts}, expected the same"
