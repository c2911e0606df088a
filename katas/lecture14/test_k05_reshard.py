"""Tests of k05_reshard: torch.distributed.checkpoint plans and loads the same."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from itertools import product
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributed as dist

from katas.lecture14 import k05_reshard as kata
from katas.lecture14.k05_reshard import Box
from katas.lecture14.k05_reshard import Read
from katas.lecture14.k05_reshard import load
from katas.lecture14.k05_reshard import reads
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.kit import World


pytestmark = [
    pytest.mark.backend("gloo"),
    pytest.mark.ranks_import("torch.distributed.checkpoint", "torch.distributed.tensor"),
]
ROWS = [Box((row, 0), (1, 6)) for row in range(4)]
WHOLE = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
WHOLE[1, 5], WHOLE[2, 0] = torch.inf, torch.nan


def inside(box: Box) -> tuple[slice, ...]:
    """Return the slices that cut a box out of the whole."""
    return tuple(slice(o, o + n) for o, n in zip(box.offsets, box.sizes, strict=True))


def compare(wanted: Box, saved: list[Box], expected: list[Read], why: str) -> None:
    """Compare the reads of one box, and check that the lists have not changed."""
    __tracebackhide__ = True
    before = list(saved)
    yours = reads(wanted, saved)
    assert before == saved, "your code changes the list of saved boxes"
    assert expected == yours, f"{wanted} of {saved}\nyours     {yours}\nexpected  {expected}\n{why}"


def test_one_file_has_it_all() -> None:
    """The wanted box equals the saved one: read all of it into all of it."""
    box = Box((0,), (5,))
    compare(box, [box], [Read(0, (slice(0, 5),), (slice(0, 5),))], "from 0 to 5 in both")


def test_the_picture() -> None:
    """Rank 1 of two wants three columns: half a row from each file."""
    right = slice(3, 6)
    expected = [
        Read(row, (slice(0, 1), right), (slice(row, row + 1), slice(0, 3))) for row in range(4)
    ]
    compare(Box((0, 3), (4, 3)), ROWS, expected, "slices count from the corner of their own box")


def test_neighbours_share_nothing() -> None:
    """One box ends where the other begins, in one dimension or in both."""
    wanted = Box((2, 2), (2, 2))
    around = [Box((row, column), (2, 2)) for row, column in product((0, 2, 4), (0, 2, 4))]
    around.remove(wanted)
    compare(wanted, around, [], "they touch: no element is in both, so nothing is to be read")


def test_a_rank_without_rows() -> None:
    """An empty box shares nothing, whether wanted or saved."""
    compare(Box((2, 0), (0, 6)), ROWS, [], "nothing is wanted")
    compare(Box((0, 0), (4, 6)), [Box((2, 0), (0, 6))], [], "nothing is saved")


def test_a_box_within_a_box() -> None:
    """The wanted box is inside the saved one, or the other way round."""
    inner, outer = Box((3, 2), (1, 2)), Box((1, 1), (4, 5))
    small, large = (slice(0, 1), slice(0, 2)), (slice(2, 3), slice(1, 3))
    compare(inner, [outer], [Read(0, large, small)], "a piece from the middle of the file")
    compare(outer, [inner], [Read(0, small, large)], "a whole file into the middle")


def test_a_scalar() -> None:
    """A scalar has no dimensions and one element, which is read."""
    compare(Box((), ()), [Box((), ())], [Read(0, (), ())], "it has one element, which is shared")


def theirs(wanted: Box, saved: list[Box], size: tuple[int, ...]) -> list[Read]:
    """Return the reads that PyTorch plans, in the order of the boxes."""
    from torch.distributed.checkpoint import metadata  # noqa: PLC0415 - takes a second
    from torch.distributed.checkpoint import planner_helpers  # noqa: PLC0415

    def chunk(box: Box) -> Any:
        return metadata.ChunkStorageMetadata(torch.Size(box.offsets), torch.Size(box.sizes))

    properties = metadata.TensorProperties(dtype=torch.float64)
    whole = metadata.TensorStorageMetadata(properties, torch.Size(size), list(map(chunk, saved)))
    items = planner_helpers.create_read_items_for_chunk_list("w", whole, [chunk(wanted)])
    found = []
    for item in items:
        number = [box.offsets for box in saved].index(tuple(item.storage_index.offset or ()))
        source, into = (
            tuple(slice(o, o + n) for o, n in zip(offsets, item.lengths, strict=True))
            for offsets in (item.storage_offsets, item.dest_offsets)
        )
        found.append(Read(number, source, into))
    return sorted(found, key=lambda read: read.box)


@st.composite
def cuts(draw: st.DrawFn) -> tuple[Box, list[Box], tuple[int, ...]]:
    """Draw a size, the boxes it is split into, and a wanted box."""
    size = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    ranges = []
    for length in size:
        ends = draw(st.sets(st.integers(0, length), max_size=3))
        ranges.append(list(pairwise(sorted({0, length, *ends}))))
    saved = [
        Box(tuple(start for start, _ in box), tuple(end - start for start, end in box))
        for box in product(*ranges)
    ]
    corner = tuple(draw(st.integers(0, length - 1)) for length in size)
    lengths = [draw(st.integers(1, n - o)) for n, o in zip(size, corner, strict=True)]
    return Box(corner, tuple(lengths)), draw(st.permutations(saved)), tuple(size)


@given(cuts())
def test_any_boxes(drawn: tuple[Box, list[Box], tuple[int, ...]]) -> None:
    """Any boxes: compared with the plan of torch.distributed.checkpoint."""
    wanted, saved, size = drawn
    yours, expected = reads(wanted, saved), theirs(wanted, saved, size)
    assert expected == yours, f"{wanted} of {saved}\nyours      {yours}\nPyTorch's  {expected}"


class Files:
    """Holds boxes of a tensor, and counts the elements read."""

    def __init__(self, saved: list[Box]) -> None:
        """Cut the whole into boxes."""
        self.pieces = [WHOLE[inside(box)].clone() for box in saved]
        self.elements = 0

    def fetch(self, box: int, source: tuple[slice, ...]) -> torch.Tensor:
        """Return a piece of a file."""
        piece = self.pieces[box][source]
        self.elements += piece.numel()
        return piece


def check_loaded(yours: Any, expected: torch.Tensor, where: str) -> None:
    """Compare bit for bit; NaN equals NaN."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours,
        expected,
        rtol=0,
        atol=0,
        equal_nan=True,
        msg=lambda text: f"{where}: yours {yours}, expected {expected}. {text}",
    )


@pytest.mark.parametrize(
    "wanted", [Box((0, 0), (4, 3)), Box((1, 2), (2, 3)), Box((0, 0), (4, 6)), Box((2, 0), (0, 6))]
)
def test_what_is_loaded(wanted: Box) -> None:
    """The result is that part of the tensor, and each element is read once."""
    files = Files(ROWS)
    with unchanged(files=files.pieces):
        yours = load(wanted, ROWS, files.fetch)
    check_loaded(yours, WHOLE[inside(wanted)], f"load of {wanted}")
    assert yours.numel() == files.elements, (
        f"{wanted}: your code fetches {files.elements} elements, expected {yours.numel()}: slice in"
        " the file, not afterwards"
    )


def test_boxes_in_any_order() -> None:
    """Rows and columns in any order, or a scalar: each piece goes to its own place."""
    saved = [Box((row, column), (2, 2)) for row, column in product((2, 0), (4, 0, 2))]
    wanted, files = Box((1, 1), (3, 4)), Files(saved)
    check_loaded(load(wanted, saved, files.fetch), WHOLE[1:4, 1:5], f"load of {wanted} of {saved}")
    scalar = torch.tensor(0.3, dtype=torch.float64)
    yours = load(Box((), ()), [Box((), ())], lambda _, source: scalar[source])
    check_loaded(yours, scalar, "load of a scalar")


def test_what_is_loaded_is_its_own() -> None:
    """Writing to the result changes neither the files nor a second load."""
    wanted, files = Box((1, 0), (1, 6)), Files(ROWS)
    with unchanged(files=files.pieces):
        load(wanted, ROWS, files.fetch).fill_(0)
    check_loaded(load(wanted, ROWS, files.fetch), WHOLE[1:2], "a second load")


def cut_by(dim: int) -> Any:
    """Return the whole tensor, cut along a dimension over all ranks."""
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415 - takes a second
    from torch.distributed.tensor import DTensor  # noqa: PLC0415
    from torch.distributed.tensor import Shard  # noqa: PLC0415

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    mine = WHOLE.chunk(dist.get_world_size(), dim)[dist.get_rank()].clone()
    return DTensor.from_local(mine, mesh, [Shard(dim)], run_check=False)


def save(folder: str) -> None:
    """Save the tensor, by rows."""
    checkpoint: Any = import_module("torch.distributed.checkpoint")
    checkpoint.save({"w": cut_by(0)}, checkpoint_id=folder)


def restore(folder: str) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Load this rank's columns, with PyTorch and with yours."""
    checkpoint: Any = import_module("torch.distributed.checkpoint")
    empty = cut_by(1)
    empty.to_local().zero_()
    checkpoint.load({"w": empty}, checkpoint_id=folder)
    entries: Any = checkpoint.FileSystemReader(folder).read_metadata().state_dict_metadata
    saved = [Box(tuple(each.offsets), tuple(each.sizes)) for each in entries["w"].chunks]
    mine = empty.to_local()
    wanted = Box((0, dist.get_rank() * mine.shape[1]), tuple(mine.shape))
    files = Files(saved)
    return mine, load(wanted, saved, files.fetch), len(saved)


def test_a_checkpoint_of_four_ranks(world: World, tmp_path: Path) -> None:
    """PyTorch saves by rows; two ranks load columns, with PyTorch and with yours."""
    world(save, 4, str(tmp_path), timeout=30)
    for rank, (expected, yours, count) in enumerate(world(restore, 2, str(tmp_path))):
        assert 4 == count, f"boxes in the checkpoint's metadata: {count}, expected 4"
        check_loaded(yours, expected, f"rank {rank}, columns of a checkpoint saved by rows")


def test_it_is_worked_out() -> None:
    """The reads are computed without torch.distributed.checkpoint."""
    with forbids(kata, "torch.distributed.checkpoint", "torch.distributed.tensor") as fresh:
        yours = fresh.reads(Box((1, 0), (1, 6)), ROWS)
    assert 1 == len(yours), f"your reads are {yours}, expected one, of the second file"
