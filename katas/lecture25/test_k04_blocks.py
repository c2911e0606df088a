"""Tests of k04_blocks: bags, two gradients, and which one keeps its last bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import CudaExtension
    from plugins.kit import Launch


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

IDS = (1, 1, 0, 1, 4)
OFFSETS = (0, 2, 2)
# Tolerances for float32 sums in any order.
CLOSE = 1e-5
WIDTHS = (1, 31, 32, 33, 70)


def draw(*shape: int) -> torch.Tensor:
    """Return normal float32 numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def whole(values: Sequence[int]) -> torch.Tensor:
    """Return an int64 vector."""
    return torch.tensor(values, dtype=torch.int64)


def many(bags: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return ids below 6 and offsets of bags with 0 to 4 ids, which are not sorted."""
    lengths = [k * 7 % 5 for k in range(bags)]
    offsets = [sum(lengths[:k]) for k in range(bags)]
    return [k * k % 6 for k in range(sum(lengths))], offsets


def bag_of(ids: Sequence[int], offsets: Sequence[int]) -> torch.Tensor:
    """Return the bag of each id."""
    return torch.searchsorted(whole(offsets), torch.arange(len(ids)), right=True) - 1


def compare(yours: torch.Tensor, right: torch.Tensor, why: str) -> torch.Tensor:
    """Compare with sums in float64, and return yours on the CPU."""
    __tracebackhide__ = True
    found, expected = yours.cpu().double(), right.double()
    assert found.shape == expected.shape, (
        f"{why}: yours is {[*found.shape]}, expected {[*expected.shape]}"
    )
    wrong = ((found - expected).abs() > CLOSE) | found.isnan()
    if not wrong.any():
        return yours.cpu()
    row, column = wrong.nonzero()[0].tolist()
    raise AssertionError(
        f"{why}: {int(wrong.sum())} of {wrong.numel()} elements are wrong, first row {row}, column"
        f" {column}: yours {found[row, column]:.5f}, expected {expected[row, column]:.5f}"
    )


def pooled(
    extension: CudaExtension,
    device: str,
    ids: Sequence[int],
    offsets: Sequence[int],
    width: int = 3,
    *,
    note: str = "",
) -> torch.Tensor:
    """Check pool."""
    __tracebackhide__ = True
    table = draw(6, width)
    arguments = (x.to(device) for x in (table, whole(ids), whole(offsets)))
    yours = extension.op("pool")(*arguments)
    rows = table.double()[whole(ids)]
    right = torch.zeros(len(offsets), width).double()
    right = right.index_add(0, bag_of(ids, offsets), rows) if ids else right
    why = f"pool of ids {[*ids][:12]}, offsets {[*offsets][:9]}, width {width}{note}"
    return compare(yours, right, why)


def spread(
    extension: CudaExtension,
    device: str,
    ids: Sequence[int],
    offsets: Sequence[int],
    width: int = 3,
    *,
    how: str,
) -> torch.Tensor:
    """Check scatter or gather."""
    __tracebackhide__ = True
    grad, i, bags = draw(len(offsets), width), whole(ids), bag_of(ids, offsets)
    if how == "scatter":
        given = i, whole(offsets)
        why = f"scatter of ids {[*ids][:12]}, offsets {[*offsets][:9]}, width {width}"
    else:
        order = i.argsort(stable=True)
        given = i[order], bags[order]
        sorted_ids, their_bags = (x[:12].tolist() for x in given)
        why = f"gather of sorted ids {sorted_ids}, bags {their_bags}, width {width}"
    yours = extension.op(how)(grad.to(device), *(x.to(device) for x in given), 6)
    right = torch.zeros(6, width).double().index_add(0, i, grad.double()[bags])
    return compare(yours, right, why)


def test_pool_a_bag_of_two_and_of_three(extension: CudaExtension, device: str) -> None:
    """The last bag has the rest of the ids; an empty bag is 0, even at the end."""
    for offsets in ((0, 2), OFFSETS, (0, 0, 5)):
        pooled(extension, device, IDS, offsets)


@pytest.mark.parametrize("width", WIDTHS)
def test_pool_any_width(extension: CudaExtension, device: str, width: int) -> None:
    """Threads share the columns; there may be fewer or more columns than threads."""
    pooled(extension, device, *many(9), width)


def test_pool_nothing(extension: CudaExtension, device: str) -> None:
    """There may be no bags, or bags without ids."""
    pooled(extension, device, (), ())
    pooled(extension, device, (), (0, 0))


def test_pool_has_a_block_for_each_bag(extension: CudaExtension) -> None:
    """Nine blocks of 32 threads add in the order of the ids; any block size works."""
    ids, offsets = many(9)
    yours = pooled(extension, "cpu", ids, offsets, 33)
    (launch,) = _blocks(extension, 9)
    _shared(launch, "write")
    expected, table = torch.zeros(9, 33), draw(6, 33)
    for i, bag in zip(ids, bag_of(ids, offsets).tolist(), strict=True):
        expected[bag] += table[i]
    assert torch.equal(yours, expected), (
        "pool: the last bits are not those of a sum from the first id of a bag to the last"
    )
    for block in (7, 64):
        with extension.simulated(block=block):
            pooled(extension, "cpu", *many(9), 33, note=f", with {block} threads in a block")


@pytest.mark.parametrize("how", ["scatter", "gather"])
def test_two_bags_add_to_one_row(extension: CudaExtension, device: str, how: str) -> None:
    """Row 1 gets the gradient of bag 0 twice, and that of bag 2; unread rows get 0."""
    yours = spread(extension, device, IDS, OFFSETS, how=how)
    assert not yours[[2, 3, 5]].any(), f"{how}: rows 2, 3 and 5 are in no bag: expected 0"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("how", ["scatter", "gather"])
def test_backward_of_any_width(extension: CudaExtension, device: str, how: str, width: int) -> None:
    """Compare for twenty bags, some of them empty."""
    spread(extension, device, *many(20), width, how=how)


@pytest.mark.parametrize("how", ["scatter", "gather"])
def test_backward_of_nothing(extension: CudaExtension, device: str, how: str) -> None:
    """No bags, or bags without ids, give zeros."""
    spread(extension, device, (), (), how=how)
    spread(extension, device, (), (0, 0), how=how)


def test_scatter_takes_one_atomic_for_each_id_and_column(extension: CudaExtension) -> None:
    """The order of the atomics shows in the last bits."""
    ids, offsets = many(20)
    runs = set()
    for _ in range(8):
        yours = spread(extension, "cpu", ids, offsets, 40, how="scatter")
        runs.add(yours.numpy().tobytes())
    (launch,) = _blocks(extension, 20)
    atomics = launch.count("global", "atomic").accesses
    assert atomics == 40 * len(ids), (
        f"{len(ids)} ids, 40 columns: your code takes {atomics} atomics, expected"
        f" {40 * len(ids)}\n{launch.table()}"
    )
    _shared(launch, "atomic")
    assert len(runs) > 1, (
        "eight runs in different orders agree bit for bit: do the threads add to grad_table"
        " directly, in the order of their arrival?"
    )


def test_gather_has_one_writer_for_each_row(extension: CudaExtension) -> None:
    """Each row that occurs is written once, without atomics, and is the same in every run."""
    ids, offsets = many(20)
    runs = set()
    for _ in range(8):
        yours = spread(extension, "cpu", ids, offsets, 40, how="gather")
        runs.add(yours.numpy().tobytes())
    (launch,) = _blocks(extension, len(ids))
    atomics = launch.count("global", "atomic").accesses
    assert atomics == 0, (
        f"gather: your code takes {atomics} atomics, expected none\n{launch.table()}"
    )
    writes, right = launch.count("global", "write").accesses, 40 * len({*ids})
    assert writes == right, (
        f"gather: {len({*ids})} rows of 40 columns occur: your kernel writes {writes} times,"
        f" expected {right}: a block that does not begin a run must not write\n{launch.table()}"
    )
    _shared(launch, "write")
    assert len(runs) == 1, f"gather: eight runs give {len(runs)} different results, expected 1"
    order = whole(ids).argsort(stable=True)
    grad, bags = draw(20, 40), bag_of(ids, offsets)
    expected = torch.zeros(6, 40)
    for k in order.tolist():
        expected[ids[k]] += grad[bags[k]]
    assert torch.equal(yours, expected), (
        "gather: the last bits are not those of a sum from the first entry of a run to the last"
    )


def test_streams_and_failures(extension: CudaExtension) -> None:
    """Launches are on the caller's stream, and a failing launch is reported."""
    with extension.simulated(stream=11):
        pooled(extension, "cpu", IDS, OFFSETS)
        spread(extension, "cpu", IDS, OFFSETS, how="scatter")
        spread(extension, "cpu", IDS, OFFSETS, how="gather")
    with extension.refused(1):
        pooled(extension, "cpu", IDS, OFFSETS)
    for how in ("scatter", "gather"):
        with extension.refused(1):
            spread(extension, "cpu", IDS, OFFSETS, how=how)


def _shared(launch: Launch, kind: str) -> None:
    """Check that the threads of a warp write side by side."""
    __tracebackhide__ = True
    count = launch.count("global", kind)
    assert count.accesses >= 8 * count.requests, (
        f"{launch.kernel}: your threads make {count.accesses} accesses ({kind}) in {count.requests}"
        " warp requests, fewer than 8 threads per request; expected up to 32: a block's"
        f" threads share the columns, so thread 0 takes c = 0, 32, ...\n{launch.table()}"
    )


def _blocks(extension: CudaExtension, expected: int) -> Sequence[Launch]:
    """Return the one launch of the last call, with `expected` blocks of 32 threads."""
    __tracebackhide__ = True
    launches = extension.launches()
    shapes = [(launch.grid, launch.block) for launch in launches]
    right = [((expected, 1, 1), (32, 1, 1))]
    assert shapes == right, f"grids and blocks: your code launches {shapes}, expected {right}"
    return launches
