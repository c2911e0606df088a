"""Tests of k10_roi_cuda: one box, many of them, their order, and the alert."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import torch


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.kit import CudaExtension


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

NAME = "lecture20_k10::roi_align_backward"
THREADS = 128
# Sums of float32, in any order.
CLOSE = 1e-4
# Image, x1, y1, x2, y2: the middle, across two borders, a small one.
ROIS = ((0, 1.3, 0.7, 4.1, 3.9), (1, -2.3, 1.1, 9.4, 7.7), (1, 0.2, 0.4, 3.3, 2.2))


def draw(*shape: int) -> torch.Tensor:
    """Return normal float32 numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def many(n: int) -> torch.Tensor:
    """Return n rois on one image of 7 by 6 pixels, most of which overlap."""
    dice = torch.Generator().manual_seed(n)
    corners = 8 * torch.rand(n, 4, generator=dice) - 1.5
    ends = torch.maximum(corners[:, :2], corners[:, 2:])
    return torch.cat([torch.zeros(n, 1), torch.minimum(corners[:, :2], corners[:, 2:]), ends], 1)


def weights(first: torch.Tensor, last: torch.Tensor, bins: int, pixels: int) -> torch.Tensor:
    """Return how much each bin reads from each pixel along one side, [boxes, bins, pixels]."""
    parts = (torch.arange(2 * bins, dtype=torch.float64) + 0.5) / (2 * bins)
    at = first[:, None] - 0.5 + (last - first)[:, None] * parts
    inside = (at >= -1) & (at <= pixels)
    away = at.clamp(0, pixels - 1)[..., None] - torch.arange(pixels)
    read = (1 - away.abs()).clamp(min=0) * inside[..., None] / 2
    found: torch.Tensor = read.unflatten(1, (bins, 2)).sum(2)
    return found


def gradient(
    grad: torch.Tensor, rois: torch.Tensor, shape: Sequence[int], scale: float
) -> torch.Tensor:
    """Return the gradient that autograd computes for a RoIAlign in float64."""
    maps = torch.zeros(*shape, dtype=torch.float64, requires_grad=True)
    boxes, bins = rois.cpu().double(), grad.shape[2:]
    x1, y1, x2, y2 = (boxes[:, 1:] * scale).unbind(1)
    y, x = weights(y1, y2, bins[0], shape[2]), weights(x1, x2, bins[1], shape[3])
    patches = torch.einsum("kchw,kih,kjw->kcij", maps[boxes[:, 0].long()], y, x)
    found: torch.Tensor = torch.autograd.grad(patches, maps, grad.cpu().double())[0]
    return found


def check(
    extension: CudaExtension,
    grad: torch.Tensor,
    rois: torch.Tensor,
    shape: Sequence[int],
    scale: float = 1.0,
) -> torch.Tensor:
    """Compare one call with autograd, and return its result."""
    __tracebackhide__ = True
    yours = extension.op("roi_align_backward")(grad, rois, list(shape), scale)
    expected = gradient(grad, rois, shape, scale)
    found = yours.cpu().double()
    wrong = ((found - expected).abs() > CLOSE) | found.isnan()
    if not wrong.any():
        return yours.cpu()
    where = tuple(wrong.nonzero()[0].tolist())
    raise AssertionError(
        f"{len(rois)} boxes, bins {tuple(grad.shape[2:])}, maps {tuple(shape)}, scale {scale:g}:"
        f" {int(wrong.sum())} of {wrong.numel()} pixels are wrong, first {[*where]} (image,"
        f" channel, y, x): yours {found[where]:.4f}, expected {expected[where]:.4f}"
    )


@contextmanager
def deterministic(mode: str) -> Iterator[None]:
    """Ask PyTorch to "error" or to "warn", as use_deterministic_algorithms does, in a ``with``."""
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode(mode)
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)


def test_one_bin(extension: CudaExtension, device: str) -> None:
    """The four points of a bin lie among nine pixels, and all four read the one in the middle."""
    grad = torch.full((1, 1, 1, 1), 16.0, device=device)
    rois = torch.tensor([[0.0, 0.5, 0.5, 2.5, 2.5]], device=device)
    yours = extension.op("roi_align_backward")(grad, rois, [1, 1, 3, 3], 1.0).cpu()[0, 0].tolist()
    assert yours == [[1, 2, 1], [2, 4, 2], [1, 2, 1]], (
        f"a gradient of 16 for one bin: yours {yours}, expected [[1, 2, 1], [2, 4, 2], [1, 2, 1]]:"
        " the points, at 0.5 and 1.5 along each side, get 4 each, and spread it over 4 pixels"
    )


def test_two_boxes_add_up(extension: CudaExtension, device: str) -> None:
    """Two threads add to the same pixels."""
    grad = torch.tensor([16.0, 32.0], device=device).view(2, 1, 1, 1)
    rois = torch.tensor([[0.0, 0.5, 0.5, 2.5, 2.5]] * 2, device=device)
    yours = extension.op("roi_align_backward")(grad, rois, [1, 1, 3, 3], 1.0).cpu()[0, 0].tolist()
    assert yours == [[3, 6, 3], [6, 12, 6], [3, 6, 3]], (
        f"gradients of 16 and 32 for the same box twice: yours {yours}, expected"
        " [[3, 6, 3], [6, 12, 6], [3, 6, 3]]"
    )


@pytest.mark.parametrize("bins", [(1, 3), (3, 1), (2, 2), (3, 4)])
def test_rows_and_columns_of_bins(
    extension: CudaExtension, device: str, bins: tuple[int, int]
) -> None:
    """Maps and bins are not square."""
    check(extension, draw(1, 1, *bins).to(device), many(1).to(device), (1, 1, 7, 6))


def test_channels(extension: CudaExtension, device: str) -> None:
    """Each channel of a box has a gradient and a map of its own."""
    check(extension, draw(2, 3, 2, 3).to(device), many(2).to(device), (1, 3, 7, 6))


def test_each_box_has_its_image(extension: CudaExtension, device: str) -> None:
    """Two boxes belong to image 2, one to image 0; pixels that nobody reads have gradient 0."""
    rois = many(3)
    rois[:, 0] = torch.tensor([2.0, 0.0, 2.0])
    yours = check(extension, draw(3, 2, 2, 2).to(device), rois.to(device), (4, 2, 7, 6))
    assert not yours[[1, 3]].any(), "images 1 and 3 have no boxes, but their gradient is not 0"


@pytest.mark.parametrize(
    "box",
    [(-9, 1, -3, 4), (9, 1, 12, 4), (1, -9, 4, -3), (1, 10, 4, 13), (-8, -6, 14, 12)],
    ids=["left", "right", "above", "below", "across"],
)
def test_points_outside_give_nothing(
    extension: CudaExtension, device: str, box: tuple[int, ...]
) -> None:
    """Beyond one pixel from the border a point reads no pixel, and hands back nothing."""
    grad = draw(1, 2, 4, 4).to(device)
    check(extension, grad, torch.tensor([[0.0, *box]], device=device), (1, 2, 7, 6))


@pytest.mark.parametrize("scale", [0.25, 0.7, 2.0])
def test_rois_are_scaled(extension: CudaExtension, device: str, scale: float) -> None:
    """Corners times scale are pixels; the image's number is not scaled."""
    grad = draw(3, 2, 3, 4).to(device)
    check(extension, grad, torch.tensor(ROIS, device=device), (2, 2, 5, 6), scale)


def test_no_boxes(extension: CudaExtension, device: str) -> None:
    """Without boxes the result is zeros."""
    grad, rois = torch.zeros(0, 2, 3, 3, device=device), torch.zeros(0, 5, device=device)
    check(extension, grad, rois, (1, 2, 7, 6))


@pytest.mark.parametrize("boxes", [31, 32, 33, 75])
def test_sizes_around_a_block(extension: CudaExtension, device: str, boxes: int) -> None:
    """124, 128, 132 and 300 elements of grad: the last block is not full."""
    check(extension, draw(boxes, 1, 2, 2).to(device), many(boxes).to(device), (1, 1, 7, 6))


@pytest.mark.parametrize("grid", [1, 2])
def test_any_grid(extension: CudaExtension, grid: int) -> None:
    """With fewer blocks a thread has several elements."""
    with extension.simulated(grid=grid):
        check(extension, draw(75, 1, 2, 2), many(75), (1, 1, 7, 6))


def test_a_thread_for_each_element(extension: CudaExtension) -> None:
    """Each element takes 16 atomics, except that points outside take none."""
    rois = many(75)
    rois[:5, 1:] += 40
    check(extension, draw(75, 1, 2, 2), rois, (1, 1, 50, 6))
    launches = extension.launches()
    assert len(launches) == 1, f"your code launches {len(launches)} kernels, expected one"
    (launch,) = launches
    assert (launch.grid, launch.block) == ((3, 1, 1), (THREADS, 1, 1)), (
        f"300 elements: your code launches {launch.grid}, {launch.block}, expected (3, 1, 1),"
        f" ({THREADS}, 1, 1)"
    )
    assert launch.active_threads == 300, (
        f"{launch.active_threads} threads read or add, expected one for each of the 300 elements\n"
        f"{launch.table()}"
    )
    found = launch.count("global", "atomic").accesses
    assert 0 < found <= 280 * 16, (
        f"{found} atomics, expected at most {280 * 16}: 16 for each element, and none for the 20"
        f" whose points are all outside\n{launch.table()}"
    )


def test_the_last_bits_depend_on_the_order(extension: CudaExtension) -> None:
    """Eight runs are right but not equal; do not repair that, but report it in step 2."""
    grad, rois = draw(75, 1, 2, 2), many(75)
    runs = {check(extension, grad, rois, (1, 1, 7, 6)).numpy().tobytes() for _ in range(8)}
    assert len(runs) > 1, (
        "eight runs with blocks and threads in different orders agree bit for bit: do the threads"
        " add to grad_maps directly, in the order in which they arrive?"
    )


def test_the_alert(extension: CudaExtension) -> None:
    """A caller who asks for deterministic algorithms gets an error that names the operator."""
    grad, rois = draw(3, 1, 2, 2), many(3)
    check(extension, grad, rois, (1, 1, 7, 6))
    said = ""
    with deterministic("error"):
        try:
            extension.op("roi_align_backward")(grad, rois, [1, 1, 7, 6], 1.0)
        except RuntimeError as error:
            said = str(error).partition("\n")[0]
    assert said, (
        "under torch.use_deterministic_algorithms(True) your operator returns a sum of atomics,"
        " expected an error: k10_roi_cuda.cpp has to report that the operator is not deterministic"
    )
    assert said.startswith(f"{NAME} does not have a deterministic implementation"), (
        f"the error begins {said[:90]!r}, expected '{NAME} does not have a deterministic"
        " implementation ...': did you pass the operator's name, and let PyTorch raise its own"
        " error?"
    )


def test_the_alert_may_be_a_warning(extension: CudaExtension) -> None:
    """With ``warn_only=True`` PyTorch warns, and the operator still returns its result."""
    grad, rois = draw(3, 1, 2, 2), many(3)
    check(extension, grad, rois, (1, 1, 7, 6))
    with warnings.catch_warnings(), deterministic("warn"):
        warnings.simplefilter("ignore")
        try:
            check(extension, grad, rois, (1, 1, 7, 6))
        except RuntimeError as error:
            raise AssertionError(
                "under torch.use_deterministic_algorithms(True, warn_only=True) yours raises,"
                f" expected a warning and the gradient: {error}"
            ) from None


def test_streams_and_failures(extension: CudaExtension) -> None:
    """Zeros and launch are on the stream of the caller, and a failed launch is reported."""
    with extension.simulated(stream=11):
        check(extension, draw(3, 1, 2, 2), many(3), (1, 1, 7, 6))
    with extension.refused(1):
        extension.op("roi_align_backward")(draw(3, 1, 2, 2), many(3), [1, 1, 7, 6], 1.0)


@pytest.mark.backend("torchvision")
def test_torchvision_agrees(extension: CudaExtension) -> None:
    """The gradient equals torchvision's, for two points along each side of a bin."""
    from torchvision.ops import roi_align  # noqa: PLC0415 - may be missing

    maps, rois, grad = draw(2, 2, 5, 6).requires_grad_(), torch.tensor(ROIS), draw(3, 2, 3, 4)
    (theirs,) = torch.autograd.grad(roi_align(maps, rois, (3, 4), 0.7, 2, aligned=True), maps, grad)
    yours = extension.op("roi_align_backward")(grad, rois, [*maps.shape], 0.7)
    furthest = (yours - theirs).abs().max().item()
    assert furthest < CLOSE, (
        f"your gradient is {furthest:.1e} from torchvision's, expected below {CLOSE}"
    )
