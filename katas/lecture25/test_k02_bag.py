"""Tests of k02_bag: PyTorch's embedding_bag, and the chunks of the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

MODES = ("sum", "mean", "max")
IDS = (3, 1, 1, 4, 0)
OFFSETS = (0, 2, 2)
CHUNKS = "each chunk has the bags from begin to end, and threads share nothing that they write"


def table(rows: int = 6, width: int = 3) -> torch.Tensor:
    """Return irrational float64 rows; all numbers of row 4 are negative."""
    dice = torch.Generator().manual_seed(rows * width)
    numbers = torch.randn(rows, width, dtype=torch.float64, generator=dice)
    numbers[4:5] = -numbers[4:5].abs()
    return numbers


def check(
    extension: Extension,
    rows: torch.Tensor,
    ids: torch.Tensor | Sequence[int],
    offsets: torch.Tensor | Sequence[int],
    mode: str,
    *,
    why: str,
) -> None:
    """Compare with PyTorch's embedding_bag; arguments must not change."""
    __tracebackhide__ = True
    ids, offsets = (
        x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.int64)
        for x in (ids, offsets)
    )
    with unchanged(table=rows, ids=ids, offsets=offsets):
        yours = extension.op("bag")(rows, ids, offsets, MODES.index(mode))
    theirs = F.embedding_bag(ids, rows, offsets, mode=mode)
    close = 1e-12 if rows.dtype == torch.float64 else 1e-5
    text = (
        f"{mode} of ids {ids.tolist()}, offsets {offsets.tolist()}: {why}\n"
        f"yours     {yours.tolist()} ({yours.dtype})\nPyTorch's {theirs.tolist()} ({theirs.dtype})"
    )
    torch.testing.assert_close(yours, theirs, rtol=close, atol=close, msg=text)


def test_a_bag_of_two_and_of_three(extension: Extension) -> None:
    """Offsets [0, 2]: the first bag ends where the second begins; the second has all other ids."""
    why = "the last bag ends with the ids, and float64 is added in float64"
    check(extension, table(), IDS, (0, 2), "sum", why=why)


def test_means_and_maxima(extension: Extension) -> None:
    """Each column has its own maximum, which may be 0, negative, or minus infinity."""
    check(extension, table(), IDS, (0, 2), "mean", why="divide by the number of the bag's ids")
    check(extension, table(), IDS, (0, 2), "max", why="the maximum in each column of a bag's rows")
    check(extension, table(), (4, 4, 4), (0, 1), "max", why="all numbers of row 4 are negative")
    rows = torch.tensor([[0.0], [-1.0], [-torch.inf]]).double()
    why = "the maximum of 0 and -1 is 0: a bag's first row is the first by its place in the bag"
    check(extension, rows, (0, 1, 1, 0), (0, 2), "max", why=why)
    check(extension, rows, (2, 2), (0,), "max", why="nothing in this bag is above minus infinity")


def test_an_empty_bag_is_zero(extension: Extension) -> None:
    """Bags in the middle and at the end are empty; a mean of no rows is 0 and not NaN."""
    for mode in MODES:
        for offsets in (OFFSETS, (0, 5), (0, 0, 5, 5)):
            check(extension, table(), IDS, offsets, mode, why="an empty bag is 0 in each mode")


def test_nothing_at_all(extension: Extension) -> None:
    """There may be no ids, no bags, or no columns."""
    for mode in MODES:
        check(extension, table(), (), (0, 0), mode, why="bags without ids")
        yours = extension.op("bag")(
            table(), torch.empty(0).long(), torch.empty(0).long(), MODES.index(mode)
        )
        assert yours.shape == (0, 3), f"no bags: yours is {[*yours.shape]}, expected [0, 3]"
        wide = torch.empty(6, 0, dtype=torch.float64)
        empty = extension.op("bag")(
            wide, torch.tensor(IDS), torch.tensor(OFFSETS), MODES.index(mode)
        )
        assert empty.shape == (3, 0), f"rows [6, 0]: yours is {[*empty.shape]}, expected [3, 0]"


def test_any_strides(extension: Extension) -> None:
    """Read a transposed table, every second id, and an expanded offset."""
    why = "t[i][j] of an accessor is right for any strides, data[i * width + j] is not"
    ids, offsets = torch.tensor(IDS), torch.tensor(OFFSETS)
    check(extension, table().t().contiguous().t(), ids, offsets, "sum", why=why)
    check(extension, table()[:, ::2], ids, offsets, "max", why=why)
    doubled = ids.repeat_interleave(2)[::2], offsets.repeat_interleave(2)[::2]
    check(extension, table(), *doubled, "mean", why=why)
    check(extension, table()[:1].expand(6, 3), ids, torch.zeros(1).long().expand(4), "sum", why=why)


def test_float32(extension: Extension) -> None:
    """The result has the dtype of the table."""
    for mode in MODES:
        check(extension, table().float(), IDS, OFFSETS, mode, why="in float32")


def test_a_thread_has_some_of_the_bags(extension: Extension) -> None:
    """Only the second of three chunks is run: bags 4 to 7 are right, and no other bag is summed."""
    ids, offsets = torch.arange(40) % 7, torch.arange(10) * 4
    rows = table(7, 5)
    extension.op("run_only")(1)
    try:
        yours = extension.op("bag")(rows, ids, offsets, 0)
    finally:
        extension.op("run_only")(-1)
    theirs = F.embedding_bag(ids, rows, offsets, mode="sum")
    right = [b for b in range(10) if torch.allclose(yours[b], theirs[b])]
    assert right == [4, 5, 6, 7], (
        f"only the thread with bags 4 to 7 of 10 has run: your code sums bags {right}, expected"
        " [4, 5, 6, 7]: pass the loop to parallel_for; its lambda receives begin and end, and loops"
        " from begin to end. A chunk's last bag ends where the next one begins, and its first one"
        " does not begin at id 0"
    )


def test_bags_are_shared_among_threads(extension: Extension) -> None:
    """Ten bags make three chunks, and each bag is summed once."""
    ids, offsets = torch.arange(40) % 6, torch.arange(10) * 4
    extension.op("chunks")()
    check(extension, table(), ids, offsets, "sum", why=CHUNKS)
    made = extension.op("chunks")()
    assert made == [0, 4, 4, 8, 8, 10], (
        f"10 bags: your code asks parallel_for for the chunks {made} (first, last, ...), expected"
        " [0, 4, 4, 8, 8, 10]: share the bags among threads, with GRAIN as the grain. If threads"
        " share the ids, two of them may add to the same row"
    )


@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=14),
    seed=st.integers(0, 9),
    mode=st.sampled_from(MODES),
)
def test_any_bags(extension: Extension, lengths: list[int], seed: int, mode: str) -> None:
    """Compare bags of up to five ids, and more bags than one thread gets."""
    ends = torch.tensor(lengths).cumsum(0)
    dice = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 6, (int(ends[-1]),), generator=dice)
    check(extension, table(), ids, ends - torch.tensor(lengths), mode, why="bag by bag")


def test_no_operator_for_a_bag(extension: Extension) -> None:
    """The result is allocated; nothing else calls an operator."""
    counts = []
    for bags in (2, 40):
        ids, offsets = torch.arange(4 * bags) % 6, torch.arange(bags) * 4
        extension.op("bag")(table(), ids, offsets, 0)
        with watched_operators() as names:
            extension.op("bag")(table(), ids, offsets, 0)
        found = [name for name in names if name.startswith("aten::")]
        lookups = [name for name in found if "embedding" in name or "index" in name]
        assert not lookups, f"your code calls {lookups}: read the table with an accessor"
        counts.append(len(found))
    assert counts[0] == counts[1], (
        f"your code calls {counts[0]} operators for 2 bags, and {counts[1]} for 40: table[i]"
        " calls an operator on a tensor, but not on an accessor"
    )
