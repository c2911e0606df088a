"""Tests of k08_replay: a deque as the oracle, one storage, and a file shared by two buffers."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode

from katas.lecture26.k08_replay import Layout
from katas.lecture26.k08_replay import Replay
from katas.lecture26.k08_replay import plan
from katas.lecture26.k08_replay import reserve
from plugins.kit import unchanged


if TYPE_CHECKING:
    from pathlib import Path


LAYOUT: Layout = {
    "done": (torch.bool, ()),
    "state": (torch.float64, (2, 3)),
    "action": (torch.int32, (1,)),
    "reward": (torch.float32, ()),
}
SMALL: Layout = {"x": (torch.float64, ())}


def batch(first: int, size: int) -> dict[str, torch.Tensor]:
    """Return the rows with these numbers; all rows differ."""
    number = torch.arange(first, first + size)
    return {
        "done": number % 3 == 0,
        "state": (number.double() + 1).sqrt()[:, None, None] * torch.arange(1.0, 7).view(2, 3),
        "action": number.int()[:, None],
        "reward": (number.float() + 2).sqrt(),
    }


def column(first: int, size: int) -> dict[str, torch.Tensor]:
    """Return rows that each contain only their own number."""
    return {"x": torch.arange(first, first + size, dtype=torch.float64)}


class Watch(TorchFunctionMode):
    """Counts calls of PyTorch, and keeps the indices of indexed writes."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.written: list[list[int]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the call, and make it."""
        self.count += 1
        if getattr(func, "__name__", "") in {"__setitem__", "index_put_", "index_copy_"}:
            indices = [x for arg in args[1:] for x in (arg if isinstance(arg, tuple) else (arg,))]
            index = next((x for x in indices if getattr(x, "dtype", None) is torch.int64), None)
            self.written += [] if index is None else [index.tolist()]
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a new folder, so that a file with a wrong name, such as None, is created there."""
    monkeypatch.chdir(tmp_path)


def made(capacity: int, layout: Layout = SMALL, path: Path | None = None) -> Replay:
    """Return your buffer."""
    return Replay(capacity, layout, path)


def check(yours: list[float], expected: list[float], why: str) -> None:
    """Compare row numbers."""
    assert yours == expected, f"{why}: yours {yours}, expected {expected}"


def same(yours: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], why: str) -> None:
    """Compare rows, field by field, bit for bit."""
    assert sorted(yours) == sorted(expected), (
        f"{why}: your fields are {sorted(yours)}, expected {sorted(expected)}"
    )
    for name, values in expected.items():
        got = yours[name]
        assert got.dtype == values.dtype, f"{why}: {name} is {got.dtype}, expected {values.dtype}"
        assert torch.equal(got, values), f"{why}: {name} is\n{got}, expected\n{values}"


def test_an_empty_buffer() -> None:
    """Memory that was used before is not zero: a buffer begins with a count of 0."""
    for _ in range(50):
        junk = [torch.full((n,), -1, dtype=torch.int64) for n in (6, 30, 126, 300)]
        del junk
        for capacity in (5, 29, 125, 299):
            count = made(capacity).count
            assert count.dtype == torch.int64, f"count is {count.dtype}, expected torch.int64"
            check(count.tolist(), [0], f"count of a new buffer of {capacity}")


def test_rows_go_to_their_slots() -> None:
    """Slots are filled in order, and the count goes up."""
    yours = made(5)
    with unchanged(rows := column(0, 3)):
        yours.extend(rows)
    check(yours.fields["x"].tolist()[:3], [0, 1, 2], "slots after 3 rows, in a buffer of 5")
    check(yours.count.tolist(), [3], "count after 3 rows")
    assert len(yours) == 3, f"len() is {len(yours)} after 3 rows, expected 3"


def test_the_ring_closes() -> None:
    """Row 5 replaces row 0."""
    yours = made(5)
    for first in (0, 4):
        yours.extend(column(first, 4))
    check(yours.fields["x"].tolist(), [5, 6, 7, 3, 4], "slots after 4 and 4 rows, 5 fit")
    check(yours.count.tolist(), [8], "count after 8 rows: of all that ever came")
    assert len(yours) == 5, f"len() is {len(yours)}, but the buffer holds 5 rows"


def test_a_batch_that_is_larger_than_the_buffer() -> None:
    """The batch's last rows stay, in the slots they would get one by one."""
    for before, size in ((0, 8), (3, 5), (2, 13), (1, 6)):
        yours = made(5)
        yours.extend(column(0, before))
        yours.extend(column(before, size))
        one = made(5)
        for number in range(before + size):
            one.extend(column(number, 1))
        why = f"{before} rows, then {size} at once, in a buffer of 5"
        check(yours.fields["x"].tolist(), one.fields["x"].tolist(), why)
        check(yours.count.tolist(), [before + size], f"count of {why}")


def test_the_oldest_is_first() -> None:
    """Rows are ordered by age, not by slot, and only existing rows are returned."""
    yours = made(5)
    check(yours.by_age()["x"].tolist(), [], "an empty buffer by age")
    yours.extend(column(0, 3))
    half = yours.by_age()["x"]
    check(half.tolist(), [0, 1, 2], "3 rows in a buffer of 5, by age")
    half.fill_(-1)
    check(yours.by_age()["x"].tolist(), [0, 1, 2], "the rows, after a write to this copy of them")
    yours.extend(column(3, 5))
    kept = yours.by_age()["x"]
    check(kept.tolist(), [3, 4, 5, 6, 7], "8 rows in a buffer of 5, by age")
    yours.extend(column(8, 2))
    check(kept.tolist(), [3, 4, 5, 6, 7], "the same copy, after 2 more rows")


def test_every_field() -> None:
    """Every field keeps its dtype and shape, in slots of its own."""
    yours = made(5, LAYOUT)
    yours.extend(batch(0, 4))
    yours.extend(batch(4, 3))
    for name, (dtype, shape) in LAYOUT.items():
        field = yours.fields[name]
        found = (field.dtype, tuple(field.shape))
        assert found == (dtype, (5, *shape)), f"{name} is {found}, expected {dtype}, (5, *{shape})"
    same(yours.by_age(), batch(2, 5), "rows 2 to 6")


def test_all_of_it_is_one_storage() -> None:
    """Each field begins at its byte, and stays there."""
    starts, nbytes = plan(5, LAYOUT)
    yours = made(5, LAYOUT)
    base = yours.count.untyped_storage()
    assert base.nbytes() == nbytes, (
        f"count is in a storage of {base.nbytes()} bytes, expected one of {nbytes} with all fields"
    )
    for _ in range(2):
        for name, field in {"count": yours.count, **yours.fields}.items():
            byte = field.data_ptr() - base.data_ptr()
            assert byte == starts[name], (
                f"{name} begins at byte {byte}, expected {starts[name]}: set_ counts elements, and "
                "extend writes in place"
            )
        yours.extend(batch(0, 7))


def test_samples_are_of_what_is_there() -> None:
    """Each row is equally likely, whatever was drawn before; empty slots are never drawn."""
    for rows, capacity in ((3, 5), (8, 5)):
        yours = made(capacity, LAYOUT)
        yours.extend(batch(1, rows))
        got = yours.sample(6000, torch.Generator().manual_seed(rows))
        numbers = got["action"].flatten().tolist()
        there = range(max(1, rows + 1 - capacity), rows + 1)
        counts = {number: numbers.count(number) for number in sorted({*numbers, *there})}
        fair = 6000 / len(there)
        assert all(n in there and abs(k - fair) < 0.15 * fair for n, k in counts.items()), (
            f"{rows} rows in a buffer of {capacity}, 6000 draws: count of each row {counts}, "
            f"expected rows {[*there]}, about {fair:.0f} times each"
        )
        every = {name: values[got["action"][:, 0].long()] for name, values in batch(0, 9).items()}
        same(got, every, "fields of a sampled row belong together")
    yours = made(5)
    yours.extend(column(0, 5))
    numbers = yours.sample(6001, torch.Generator().manual_seed(0))["x"].tolist()
    pairs = [*pairwise(numbers)]
    counts = {(one, two): pairs.count((one, two)) for one in range(5) for two in range(5)}
    assert all(170 < count < 310 for count in counts.values()), (
        f"pairs of consecutive rows in one sample: {counts}, expected about 240 each: draw each "
        "row independently of the others"
    )


def test_a_sample_stays() -> None:
    """The generator decides the sample, and the sample is a copy."""
    yours = made(5, LAYOUT)
    yours.extend(batch(0, 5))
    with unchanged():
        one, two = (yours.sample(16, torch.Generator().manual_seed(4)) for _ in range(2))
    same(one, two, "two samples with the same seed")
    yours.extend(batch(5, 5))
    same(one, two, "a sample")
    assert all(n < 5 for n in one["action"]), (
        "a sample contains rows that were added after it: copy the rows"
    )


def test_a_row_with_a_graph() -> None:
    """The buffer keeps no graph, and its rows can be overwritten."""
    yours = made(5)
    leaf = torch.arange(3, dtype=torch.float64, requires_grad=True)
    with unchanged(leaf=leaf):
        yours.extend({"x": leaf * 2})
        yours.extend({"x": leaf})
    field = yours.fields["x"]
    assert not field.requires_grad, "the field requires a gradient: it keeps the graph of the rows"
    check(yours.by_age()["x"].tolist(), [2, 4, 0, 1, 2], "rows of both")


@settings(max_examples=40, deadline=None)
@example(5, [7, 0])
@given(st.integers(1, 7), st.lists(st.integers(0, 16), max_size=6))
def test_it_is_a_deque(capacity: int, sizes: list[int]) -> None:
    """The buffer is a deque, whatever the sizes of the batches are."""
    yours, expected, first = made(capacity), deque[float](maxlen=capacity), 0
    for size in sizes:
        rows = column(first, size)
        yours.extend(rows)
        expected.extend(rows["x"].tolist())
        first += size
    why = f"capacity {capacity}, batches of {sizes}"
    check(yours.by_age()["x"].tolist(), [*expected], f"rows by age, {why}")
    check(yours.count.tolist(), [first], f"count, {why}")


def test_no_slot_is_written_twice() -> None:
    """PyTorch does not define which of two values stays; with several threads it varies."""
    yours = made(5)
    with Watch() as watch:
        yours.extend(column(0, 13))
    for slots in watch.written:
        assert len({*slots}) == len(slots), (
            f"13 rows for a buffer of 5: one call writes to slots {slots}. If an index occurs "
            "twice, PyTorch does not define which row stays"
        )


def test_no_loop_over_rows() -> None:
    """A thousand rows take as many operators as two."""
    counts = {}
    for size in (2, 1000):
        yours, rows = made(2000, LAYOUT), batch(0, size)
        with Watch() as watch:
            yours.extend(rows)
            yours.sample(size, torch.Generator())
            yours.by_age()
        counts[size] = watch.count
    assert counts[1000] < counts[2] + 10, (
        f"operators for each number of rows: {counts}, expected the same count for all"
    )


def test_a_file_has_it_all(tmp_path: Path) -> None:
    """A second buffer on the same file sees its rows and count, and continues."""
    path = tmp_path / "replay"
    yours = made(5, LAYOUT, path)
    assert path.stat().st_size == plan(5, LAYOUT)[1], (
        f"the file is {path.stat().st_size} bytes long, expected {plan(5, LAYOUT)[1]}"
    )
    yours.extend(batch(0, 7))
    head = int.from_bytes(path.read_bytes()[:8], "little")
    assert head == 7, (
        f"the count in the file's first 8 bytes is {head}, expected 7: is the mapping shared?"
    )
    again = made(5, LAYOUT, path)
    check(again.count.tolist(), [7], "count of a second buffer in this file")
    same(again.by_age(), batch(2, 5), "rows of a second buffer in this file")
    again.extend(batch(7, 1))
    same(yours.by_age(), batch(3, 5), "rows of the first, after the second has appended one")


def test_the_storage_alone(tmp_path: Path) -> None:
    """A storage in memory is zeros; a storage on a file has the file's bytes."""
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(24)))
    assert bytes(reserve(24, path)) == bytes(range(24)), (
        "expected an existing file to be left unchanged"
    )
    assert bytes(reserve(16, tmp_path / "new")) == bytes(16), "expected zeros in a new file"
    assert bytes(reserve(40, None)) == bytes(40), "without a path: expected 40 zeros"


@pytest.mark.backend("torchrl")
def test_torchrl_agrees() -> None:
    """TorchRL's ring uses the same slots; it refuses a batch that does not fit, or wraps it too."""
    from tensordict import TensorDict  # noqa: PLC0415 - optional
    from torchrl.data import LazyTensorStorage  # noqa: PLC0415 - optional
    from torchrl.data import TensorDictReplayBuffer  # noqa: PLC0415 - optional

    theirs = TensorDictReplayBuffer(storage=LazyTensorStorage(5))
    yours = made(5)
    for first in (0, 4):
        theirs.extend(TensorDict(column(first, 4), batch_size=4))
        yours.extend(column(first, 4))
    check(yours.fields["x"].tolist(), theirs[:]["x"].tolist(), "TorchRL's slots")
