"""Tests of k07_nms_cuda: masks bit by bit, then the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch


if TYPE_CHECKING:
    from plugins.kit import CudaExtension


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

one = pytest.mark.step(1, "a word for each box")
two = pytest.mark.step(2, "all blocks")
three = pytest.mark.step(3, "the sweep")

THRESHOLD = 0.3


def scene(n: int, side: int = 40) -> torch.Tensor:
    """Return float32 boxes with whole corners, of which many overlap."""
    dice = torch.Generator().manual_seed(n)
    corners = torch.randint(0, side, (n, 2), generator=dice)
    sides = torch.randint(4, 14, (n, 2), generator=dice)
    return torch.cat([corners, corners + sides], 1).float()


def matrix(boxes: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return which boxes come after a box, and overlap it by more than the threshold."""
    b = boxes.cpu().double()
    sides = torch.minimum(b[:, None, 2:], b[:, 2:]) - torch.maximum(b[:, None, :2], b[:, :2])
    both = sides.clamp(min=0).prod(-1)
    areas = (b[:, 2:] - b[:, :2]).prod(-1)
    found: torch.Tensor = both > threshold * (areas[:, None] + areas - both)
    return found.triu(1)


def bits(masks: torch.Tensor) -> torch.Tensor:
    """Return the bits of the words, [n, 64 * words]."""
    words = masks.cpu()
    return ((words[..., None] >> torch.arange(64)) & 1).flatten(1).bool()


def check_masks(
    extension: CudaExtension, boxes: torch.Tensor, threshold: float = THRESHOLD
) -> None:
    """Compare each bit."""
    __tracebackhide__ = True
    n = len(boxes)
    yours = bits(extension.op("nms_masks")(boxes, threshold))
    right = matrix(boxes, threshold)
    assert not yours[:, n:].any(), f"{n} boxes: a bit after the last box is set"
    wrong = (yours[:, :n] != right).nonzero()
    if not len(wrong):
        return
    i, j = wrong[0].tolist()
    raise AssertionError(
        f"{n} boxes: {len(wrong)} bits are wrong, first that of box {i} for box {j} (word"
        f" {j // 64}, bit {j % 64}): yours {int(yours[i, j])}, expected {int(right[i, j])}"
        + (" (j is not after i)" if j <= i else "")
    )


def check_kept(extension: CudaExtension, boxes: torch.Tensor, threshold: float = THRESHOLD) -> None:
    """Compare the survivors with the loop."""
    __tracebackhide__ = True
    above, right = matrix(boxes, threshold).tolist(), list[int]()
    for j in range(len(boxes)):
        if not any(above[i][j] for i in right):
            right.append(j)
    yours = extension.op("nms")(boxes, threshold).cpu().nonzero()[:, 0].tolist()
    assert yours == right, (
        f"{len(boxes)} boxes: your kernel keeps {yours[:12]}..., expected {right[:12]}...:"
        f" {sorted({*yours} ^ {*right})[:6]} differ"
    )


@one
def test_three_in_a_row(extension: CudaExtension, device: str) -> None:
    """Box 0 overlaps box 1, and box 1 box 2."""
    boxes = torch.tensor([[4.0 * k, 0.0, 4.0 * k + 10, 10.0] for k in range(3)], device=device)
    yours = extension.op("nms_masks")(boxes, THRESHOLD).cpu().tolist()
    assert yours == [[2], [4], [0]], (
        f"the words of three boxes in a row: yours {yours}, expected [[2], [4], [0]]: set bit 1"
        " in the first and bit 2 in the second; a box has no bit for itself or earlier boxes"
    )


@one
@pytest.mark.parametrize("n", [1, 2, 33, 63, 64])
def test_one_block(extension: CudaExtension, device: str, n: int) -> None:
    """Up to 64 boxes have one word each."""
    check_masks(extension, scene(n, 12).to(device))


@one
def test_the_highest_bit(extension: CudaExtension, device: str) -> None:
    """64 equal boxes: bit 63 is set, and those from 32 on."""
    check_masks(extension, torch.tensor([[0.0, 0.0, 4.0, 4.0]], device=device).repeat(64, 1))


@two
@pytest.mark.parametrize("n", [65, 128, 129, 200])
def test_several_blocks(extension: CudaExtension, device: str, n: int) -> None:
    """Words right of the diagonal use all bits, and the last block is not full."""
    check_masks(extension, scene(n).to(device))


@two
@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_other_thresholds(extension: CudaExtension, device: str, threshold: float) -> None:
    """An IoU equal to the threshold is not above it."""
    boxes = torch.cat([scene(70), scene(70)[:9]]).to(device)
    check_masks(extension, boxes, threshold)


@two
def test_boxes_are_read_once(extension: CudaExtension) -> None:
    """A block reads 64 boxes i and 64 boxes j; blocks below the diagonal write nothing."""
    check_masks(extension, scene(192))
    (launch,) = extension.launches()
    assert (launch.grid, launch.block) == ((3, 3, 1), (64, 1, 1)), (
        f"192 boxes: your code launches {launch.grid}, {launch.block}, expected (3, 3, 1),"
        " (64, 1, 1)"
    )
    read = launch.count("global", "read").accesses
    assert read <= 6 * 512, (
        f"your kernel reads {read} floats from global memory, but {6 * 512} are enough for six"
        f" blocks: load each box j once per block, into shared memory\n{launch.table()}"
    )
    written = launch.count("global", "write").accesses
    assert written <= 6 * 64, (
        f"your kernel writes {written} words, expected at most {6 * 64}: none below the diagonal\n"
        f"{launch.table()}"
    )


@three
def test_a_long_row(extension: CudaExtension, device: str) -> None:
    """Each box overlaps the next one: every second survives, across words."""
    boxes = torch.tensor([[4.0 * k, 0.0, 4.0 * k + 10, 10.0] for k in range(150)], device=device)
    check_kept(extension, boxes)


@three
@pytest.mark.parametrize("n", [1, 3, 64, 65, 130, 200])
def test_survivors(extension: CudaExtension, device: str, n: int) -> None:
    """The same as the loop: a box that was dropped drops nobody."""
    check_kept(extension, scene(n).to(device))


@three
def test_the_work_is_shared(extension: CudaExtension) -> None:
    """Each of a survivor's words has its own thread; a dropped box's words are not read."""
    boxes = torch.cat([scene(1).repeat(100, 1), scene(1).repeat(28, 1) + 50])
    check_kept(extension, boxes)
    (launch,) = extension.launches()
    assert (launch.grid, launch.block) == ((1, 1, 1), (64, 1, 1)), (
        f"your code launches {launch.grid}, {launch.block}, expected one block of 64 threads"
    )
    assert launch.active_threads >= 2, (
        f"{launch.active_threads} thread of 64 reads the words, expected a thread for each of the 2"
        f" words\n{launch.table()}"
    )
    read = launch.count("global", "read").accesses
    assert read <= 2 * 2, (
        f"2 of 128 boxes survive, with 2 words each: your kernel reads {read} words, expected at"
        f" most 4\n{launch.table()}"
    )


def test_streams_and_failures(extension: CudaExtension) -> None:
    """Both launches are on the stream of the caller, and a failed one is reported."""
    with extension.simulated(stream=11):
        check_kept(extension, scene(70))
    for operator in ("nms_masks", "nms"):
        with extension.refused(1):
            extension.op(operator)(scene(70), THRESHOLD)
