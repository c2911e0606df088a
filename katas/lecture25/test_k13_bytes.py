"""Tests of k13_bytes: rows on paper, the error, bags, and PyTorch's own packed tables."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from katas.lecture25 import k13_bytes
from katas.lecture25.k13_bytes import pack
from katas.lecture25.k13_bytes import pooled
from katas.lecture25.k13_bytes import unpack
from plugins.kit import forbids
from plugins.kit import unchanged


def same(yours: Any, expected: list[Any], why: str) -> None:
    """Compare bytes with a list."""
    __tracebackhide__ = True
    assert isinstance(yours, torch.Tensor), f"{why}\nyours is {yours!r}, expected a tensor"
    assert yours.dtype == torch.uint8, f"{why}\nyours is {yours.dtype}, expected torch.uint8"
    assert yours.tolist() == expected, f"{why}\nyours:    {yours.tolist()}\nexpected: {expected}"


def close(yours: Any, expected: torch.Tensor, why: str) -> None:
    """Compare float32 numbers."""
    __tracebackhide__ = True
    assert isinstance(yours, torch.Tensor), f"{why}\nyours is {yours!r}, expected a tensor"
    facts = [(tuple(each.shape), str(each.dtype)) for each in (yours, expected)]
    assert facts[0] == facts[1], f"{why}\nyours is {facts[0]}, expected {facts[1]}"
    assert torch.allclose(yours, expected, rtol=1e-5, atol=1e-5), (
        f"{why}\nyours:    {yours.tolist()}\nexpected: {expected.tolist()}"
    )


def bytes_of(*numbers: float) -> list[int]:
    """Return the bytes of float32 numbers."""
    return list(torch.tensor(numbers, dtype=torch.float32).view(torch.uint8).tolist())


def irrational(*size: int) -> torch.Tensor:
    """Return float32 values of both signs, in rows of different ranges."""
    found = (torch.arange(torch.Size(size).numel()).double() * 1.7 + 1).sin().view(size)
    return (found * torch.arange(1, size[0] + 1).view(-1, 1) ** 2).float()


def test_a_row_on_paper() -> None:
    """A row from 0 to 2.55 has codes, then the scale's bytes, then the minimum's."""
    table = torch.tensor([[0.0, 1.0, 2.55]])
    with unchanged(table=table):
        yours = pack(table)
    same(yours[:, :3], [[0, 100, 255]], "codes of the row 0, 1, 2.55")
    tail = yours[:, 3:].flatten().tolist()
    assert len(tail) == 8, f"bytes after three codes: yours has {len(tail)}, expected 8"
    expected = bytes_of(*(torch.tensor([2.55, 0.0]) / 255).tolist())
    same(yours[:, 3:], [expected], "bytes behind the codes: those of scale 0.01, then of minimum 0")


def test_each_row_has_its_own_scale() -> None:
    """An outlier in row 1 does not affect row 0; minima may be negative."""
    yours = pack(torch.tensor([[-1.0, 0.02, 1.55, -0.5], [-1.0, 0.02, 1000.0, -0.5]]))
    same(yours[:, :4], [[0, 102, 255, 50], [0, 0, 255, 0]], "codes of two rows, the last wider")
    scales = (torch.tensor([2.55, 1001.0]) / 255).tolist()
    expected = [bytes_of(scale, -1.0) for scale in scales]
    same(yours[:, 4:], expected, "scales 0.01 and 3.93, each with minimum -1")


def test_a_row_of_one_number() -> None:
    """A constant row has codes 0, not NaN cast to a byte; a range of 1e-8 is doubled."""
    yours = pack(torch.tensor([[2.5] * 3, [0.0] * 3, [-7.0] * 3]))
    expected = [[0, 0, 0, *bytes_of(0.0, low)] for low in (2.5, 0.0, -7.0)]
    same(yours, expected, "three rows of 2.5, 0 and -7")
    code = pack(torch.tensor([[0.0, 1e-8]]))[0, 1].item()
    assert code in {127, 128}, (
        f"the code of 1e-8 in the row 0, 1e-8: yours {code}, expected 127 or 128, because "
        "1e-8 is added to the range"
    )


def test_codes_round_to_the_nearest_and_halves_to_even() -> None:
    """A range of 255 has scale 1."""
    yours = pack(torch.tensor([[0.0, 0.5, 1.5, 2.5, 3.49, 3.51, 254.7, 255.0]]))
    same(yours[:, :8], [[0, 0, 2, 2, 3, 4, 255, 255]], "codes of 0 .5 1.5 2.5 3.49 3.51 254.7 255")
    # 20.5 * 255 / 41 is 127.5 to the bit, and 20.5 * (255 / 41) is less.
    yours = pack(torch.tensor([[0.0, 20.5, 41.0]]))
    why = "codes of 0, 20.5, 41: multiply by the quotient, as the formula's brackets say"
    same(yours[:, :3], [[0, 127, 255]], why)


def test_unpack_reads_bytes() -> None:
    """Read codes that pack never writes, rows of five codes, and rows that are not adjacent."""
    rows = [[3, 0, 255, 7, 1, *bytes_of(0.25, -1.5)], [0, 200, 1, 9, 8, *bytes_of(2.0, 1000.0)]]
    packed = torch.tensor(rows, dtype=torch.uint8)
    expected = torch.tensor([[-0.75, -1.5, 62.25, 0.25, -1.25], [1000, 1400, 1002, 1018, 1016]])
    with unchanged(packed=packed):
        yours = unpack(packed)
    close(yours, expected, "scale 0.25 and minimum -1.5; scale 2 and minimum 1000")
    close(unpack(packed.repeat_interleave(2, 0)[::2]), expected, "every second row of four")


def test_a_parameter_and_a_table_without_rows() -> None:
    """Bytes have no gradient, and neither does the table; a table without rows gives no rows."""
    table = torch.nn.Parameter(irrational(3, 5))
    with unchanged(table=table):
        yours = pack(table)
    same(yours, pack(irrational(3, 5)).tolist(), "a parameter's bytes, as those of a tensor")
    for rows, dim in ((0, 5), (3, 1)):
        yours = pack(torch.zeros(rows, dim))
        assert tuple(yours.shape) == (rows, dim + 8), (
            f"a table of {rows} rows of {dim}: yours has shape {tuple(yours.shape)}"
        )
        close(unpack(yours), torch.zeros(rows, dim), f"{rows} rows of {dim} zeros, unpacked")


@given(st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=9))
def test_a_number_is_off_by_half_a_scale_at_most(numbers: list[float]) -> None:
    """The smallest and the largest number of a row are restored."""
    table = torch.tensor([numbers])
    packed = pack(table)
    reach = max(numbers) - min(numbers)
    error = (unpack(packed) - table).abs().max().item()
    # Half a scale, what 1e-8 adds to the range, and the rounding of float32.
    most = reach / 255 * 0.5 + 1e-8 + 2e-6 * max(map(abs, numbers))
    assert error <= most, (
        f"{numbers}: a number is off by {error:.3g}, expected at most {most:.3g}; codes "
        f"{packed[0, :-8].tolist()}"
    )


BAGS = [([1, 3, 1, 0, 2], [0, 2, 2]), ([4, 4, 4], [0]), ([2, 0, 1], [0, 0, 1, 3]), ([], [0, 0])]


def test_bags_are_summed() -> None:
    """Bags have different lengths, and may be empty; one id occurs twice."""
    packed = pack(irrational(5, 7))
    for ids, offsets in BAGS:
        mine, starts = torch.tensor(ids, dtype=torch.int64), torch.tensor(offsets)
        with unchanged(packed=packed, ids=mine, offsets=starts):
            yours = pooled(packed, mine, starts)
        ends = [*offsets[1:], len(ids)]
        table = unpack(packed)
        sums = [table[ids[a:b]].sum(0) for a, b in zip(offsets, ends, strict=True)]
        close(yours, torch.stack(sums), f"bags of ids {ids}, which begin at {offsets}")


def test_a_bag_of_large_numbers_leaves_the_next_one_exact() -> None:
    """The sum of each bag is its own, and not the difference of two running sums."""
    packed = pack(torch.tensor([[1e8, -1e8], [0.5, 0.25]]))
    yours = pooled(packed, torch.tensor([0, 1]), torch.tensor([0, 1]))
    why = (
        "the row .5, .25 in a bag of its own, behind a bag of 1e8: add up the rows of one bag only"
    )
    close(yours[1:], torch.tensor([[0.5, 0.25]]), why)


def test_without_bags() -> None:
    """No ids and no offsets give no sums."""
    none = torch.tensor([], dtype=torch.int64)
    close(pooled(pack(irrational(5, 7)), none, none), torch.zeros(0, 7), "no bags")


class Floats(TorchFunctionMode):
    """Remembers the size of the largest floating-point tensor that is created."""

    most = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call it, and look at its result."""
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            self.most = max(self.most, result.numel())
        return result


def test_only_the_rows_of_the_bags_are_unpacked() -> None:
    """Look up six ids in a table of a thousand rows."""
    packed = pack(irrational(1000, 16))
    with Floats() as floats:
        yours = pooled(packed, torch.tensor([999, 4, 4, 0, 500, 7]), torch.tensor([0, 3]))
    table = unpack(packed)
    expected = torch.stack([table[999] + 2 * table[4], table[[0, 500, 7]].sum(0)])
    assert torch.allclose(yours, expected, rtol=1e-5), f"yours {yours}, expected {expected}"
    assert floats.most <= 6 * 24, (
        f"your largest floating-point tensor has {floats.most} numbers, but six rows "
        "contain 96: choose the rows of bytes first"
    )


def test_pytorch_packs_the_same_bytes() -> None:
    """PyTorch also reads your bytes; you pack them without PyTorch's kernel."""
    table = irrational(40, 13)
    # Away from halves, where the compiler of a kernel may round the other way.
    low, high = table.aminmax(dim=1, keepdim=True)
    place = (table - low) / (high - low) * 255
    table = low + (place.floor() + (place.frac() - 0.5) * 0.8).clamp(0, 255) * (high - low) / 255
    ids, offsets = torch.tensor([5, 1, 1, 30]), torch.tensor([0, 2, 2])
    with forbids(k13_bytes, "torch.ops.quantized", "torch.ao", "torch.quantize_per_channel") as it:
        yours = it.pack(table)
        sums = it.pooled(yours, ids, offsets)
        numbers = it.unpack(yours)
    theirs = torch.ops.quantized
    same(yours, theirs.embedding_bag_byte_prepack(table).tolist(), "40 rows; expected is PyTorch's")
    close(numbers, theirs.embedding_bag_byte_unpack(yours), "40 rows, unpacked by PyTorch")
    expected = theirs.embedding_bag_byte_rowwise_offsets(yours, ids, offsets, mode=0)
    close(sums, expected, "bags of PyTorch's kernel, from your bytes")
    close(sums, F.embedding_bag(ids, numbers, offsets, mode="sum"), "bags of your numbers")


@pytest.mark.backend("torchrec")
def test_fbgemm_packs_the_same_bytes() -> None:
    """FBGEMM's kernel, which torchrec calls, packs the same bytes."""
    import fbgemm_gpu  # noqa: F401, PLC0415 - may be missing; it registers the operators

    table = torch.tensor([[0.0, 1.0, 2.55], [-1.0, 0.02, 1000.0], [2.5] * 3])
    expected = torch.ops.fbgemm.FloatToFused8BitRowwiseQuantized(table)
    same(pack(table), expected.tolist(), "three rows; expected is FBGEMM's")
