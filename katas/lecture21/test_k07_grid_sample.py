"""Tests of k07_grid_sample: positions by hand, then ATen, gradcheck and gradgradcheck."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.autograd.gradcheck import GradcheckError
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from katas import source
from plugins.kit import forbids_tokens
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

ZEROS, BORDER, REFLECTION = range(3)
MODES = ["zeros", "border", "reflection"]
step_one = pytest.mark.step(1, "coordinates, positions, slopes")
step_two = pytest.mark.step(2, "four corners")
step_three = pytest.mark.step(3, "both gradients")
step_four = pytest.mark.step(4, "autograd, twice")


class Log(TorchDispatchMode):
    """Records every operator that reaches a kernel below autograd, except detach."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Record the name and run the operator."""
        if func is not torch.ops.aten.detach.default:
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def close(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare with tolerance 1e-12; NaN equals NaN."""
    __tracebackhide__ = True
    message = f"{why}\nyours, {yours.dtype}: {yours}\nexpected: {expected}"
    torch.testing.assert_close(yours, expected, rtol=1e-12, atol=1e-12, equal_nan=True, msg=message)


def numbers(*shape: int, seed: float = 1.0) -> torch.Tensor:
    """Return irrational float64 numbers between -1 and 1."""
    count = torch.Size(shape).numel()
    return (torch.arange(1, count + 1).double() * 7.3 * seed).sqrt().sin().reshape(shape)


def image(*, grad: bool = False) -> torch.Tensor:
    """Return two images with three channels of 4 x 5, not contiguous."""
    return numbers(2, 3, 5, 4).mT.requires_grad_(grad)


def positions(*, grad: bool = False) -> torch.Tensor:
    """Return a grid [2, 3, 4, 2], more than half of it outside the image, not contiguous."""
    spread = (torch.arange(1, 49).double() * 0.6180339887498949).frac()
    return (2.6 * spread - 1.3).reshape(2, 3, 2, 4).mT.requires_grad_(grad)


def sampled(x: torch.Tensor, grid: torch.Tensor, padding: int) -> torch.Tensor:
    """Return what PyTorch samples."""
    return functional.grid_sample(x, grid, padding_mode=MODES[padding], align_corners=False)


def locations(extension: Extension, padding: int, cases: list[tuple[float, float, float]]) -> None:
    """Compare positions and slopes of coordinates among four pixels."""
    __tracebackhide__ = True
    coordinates = torch.tensor([case[0] for case in cases], dtype=torch.float64)
    at, slope = extension.op("locate")(coordinates, 4, padding)
    for (coordinate, *right), mine in zip(cases, zip(at, slope, strict=True), strict=True):
        yours, expected = torch.stack(mine), torch.tensor(right, dtype=torch.float64)
        where = f"{MODES[padding]}, 4 pixels, coordinate {coordinate}: position and slope"
        close(yours, expected, where)


@step_one
def test_edges_and_middles(extension: Extension) -> None:
    """-1 to 1 is four pixels wide: 2 pixels for each unit."""
    cases = [
        (0.0, 1.5, 2.0),
        (-1.0, -0.5, 2.0),
        (1.0, 3.5, 2.0),
        (-0.75, 0.0, 2.0),
        (2.0, 5.5, 2.0),
    ]
    locations(extension, ZEROS, cases)


@step_one
def test_the_border(extension: Extension) -> None:
    """Where a position is moved to the border, moving the coordinate changes nothing."""
    inner = [(0.0, 1.5, 2.0), (-0.5, 0.5, 2.0)]
    outer = [
        (-1.0, 0.0, 0.0),
        (9.0, 3.0, 0.0),
        (1.0, 3.0, 0.0),
        (-0.75, 0.0, 0.0),
        (0.75, 3.0, 0.0),
    ]
    locations(extension, BORDER, [*inner, *outer])


@step_one
def test_reflections(extension: Extension) -> None:
    """Mirrored at -0.5 and at 3.5: once, twice and three times."""
    once = [(0.25, 2.0, 2.0), (-1.5, 0.5, -2.0), (1.5, 2.5, -2.0), (-2.5, 2.5, -2.0)]
    often = [(3.5, 0.5, 2.0), (-3.5, 2.5, 2.0), (5.5, 2.5, -2.0)]
    edges = [(-1.0, 0.0, 0.0), (1.125, 3.0, 0.0), (2.9, 0.0, 0.0)]
    locations(extension, REFLECTION, [*once, *often, *edges])


@step_one
def test_a_coordinate_that_is_nan(extension: Extension) -> None:
    """Pixel 0 where positions are brought back into the image; NaN where they are not."""
    at, slope = extension.op("locate")(torch.tensor([nan]).double(), 4, ZEROS)
    assert at.isnan().all(), f"zeros: your code locates a NaN at {at.item()}, expected NaN"
    assert slope.item() == 2, f"zeros: for a NaN your slope is {slope.item()}, expected 2"
    for padding in (BORDER, REFLECTION):
        at, slope = extension.op("locate")(torch.tensor([nan]).double(), 4, padding)
        found = (at.item(), slope.item())
        assert found == (0.0, 0.0), f"{MODES[padding]}: for NaN yours is {found}, expected (0, 0)"


@step_two
def test_between_four_pixels(extension: Extension) -> None:
    """A quarter to the right and a half down."""
    x = torch.tensor([[[[1.0, 5.0], [3.0, 15.0]]]], dtype=torch.float64)
    grid = torch.tensor([[[[-0.25, 0.0], [0.5, -0.5]]]], dtype=torch.float64)
    expected = torch.tensor([[[[4.0, 5.0]]]], dtype=torch.float64)
    with unchanged(x=x, grid=grid):
        yours = extension.op("grid_sample")(x, grid, ZEROS)
    close(yours, expected, "3/8 * 1 + 1/8 * 5 + 3/8 * 3 + 1/8 * 15; and pixel (0, 1), at x = 0.5")


@step_two
@pytest.mark.parametrize("padding", [ZEROS, BORDER, REFLECTION], ids=MODES)
def test_forward_is_what_aten_gives(extension: Extension, padding: int) -> None:
    """Inside and outside, for inputs of any strides."""
    x, grid = image(), positions()
    with unchanged(x=x, grid=grid):
        yours = extension.op("grid_sample")(x, grid, padding)
    close(yours, sampled(x, grid, padding), f"{MODES[padding]}, ATen's")


@step_two
def test_nan_and_nothing(extension: Extension) -> None:
    """A lost position shows in the result; no positions and no images are fine."""
    grid_sample = extension.op("grid_sample")
    grid = torch.full((2, 1, 1, 2), nan, dtype=torch.float64)
    yours = grid_sample(image(), grid, ZEROS)
    assert yours.isnan().all(), (
        f"zeros, a NaN in the grid: yours is {yours.flatten().tolist()}, expected NaN"
    )
    for rows, n in ((0, 2), (3, 0)):
        found = grid_sample(image()[:n], positions()[:n, :rows], BORDER).shape
        expected = (n, 3, rows, 4)
        assert found == expected, f"yours has shape {[*found]}, expected {[*expected]}"


@step_three
def test_one_position(extension: Extension) -> None:
    """A pixel that forward read with a weight gets that weight; x is before y."""
    x = torch.tensor([[[[1.0, 5.0], [3.0, 15.0]]]], dtype=torch.float64)
    grid = torch.tensor([[[[-0.25, 0.0]]]], dtype=torch.float64)
    grad = torch.full((1, 1, 1, 1), 2.0, dtype=torch.float64)
    for_input, for_grid = extension.op("grid_sample_backward")(grad, x, grid, ZEROS)
    expected = torch.tensor([[[[0.75, 0.25], [0.75, 0.25]]]], dtype=torch.float64)
    close(for_input, expected, "the gradient of the image: 2 times the weights 3/8 and 1/8")
    expected = torch.tensor([[[[16.0, 8.0]]]], dtype=torch.float64)
    close(
        for_grid,
        expected,
        "the gradient of (x, y): 2 * (4 + 12) / 2 by x, 2 * (3/4 * 2 + 1/4 * 10) by y",
    )


@step_three
@pytest.mark.parametrize("padding", [ZEROS, BORDER, REFLECTION], ids=MODES)
def test_backward_is_what_aten_gives(extension: Extension, padding: int) -> None:
    """Both gradients, summed where positions share pixels and channels share positions."""
    x, grid = image(grad=True), positions(grad=True)
    output = sampled(x, grid, padding)
    grad = numbers(*output.mT.shape, seed=5.3).mT
    expected = torch.autograd.grad(output, (x, grid), grad)
    with unchanged(x=x, grid=grid, grad=grad), torch.no_grad():
        yours = extension.op("grid_sample_backward")(grad, x, grid, padding)
    for mine, theirs, name in zip(yours, expected, ("image", "grid"), strict=True):
        close(mine, theirs, f"{MODES[padding]}: the gradient of the {name}, ATen's")


def small(*, x: bool = True, grid: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Return an image [1, 2, 3, 3] and a grid of four positions, inside and outside."""
    points = [[-0.31, 0.17], [0.52, -0.43], [-1.27, 0.11], [0.71, 1.83]]
    where = torch.tensor(points, dtype=torch.float64).reshape(1, 2, 2, 2)
    return numbers(1, 2, 3, 3).requires_grad_(x), where.requires_grad_(grid)


def found(names: list[str]) -> str:
    """Describe how many operators ran, and which ran first."""
    return f"yours ran {len(names)}, the first {names[0]}" if names else "yours ran none"


@step_four
def test_each_direction_is_one_operator(extension: Extension) -> None:
    """The kernel, called below autograd; and no graph if no gradient is needed."""
    grid_sample = extension.op("grid_sample")
    x, grid = small()
    for padding in (ZEROS, REFLECTION):
        with Log() as log:
            output = grid_sample(x, grid, padding)
        ran = found(log.names)
        assert log.names == ["lecture21_k07.grid_sample.default"], (
            f"forward: expected one operator, grid_sample; {ran}. Is it called below autograd?"
        )
        with Log() as log:
            yours = torch.autograd.grad(output, (x, grid), torch.ones_like(output))
        names = [name for name in log.names if not name.startswith("aten.ones_like")]
        assert names == ["lecture21_k07.grid_sample_backward.default"], (
            f"backward: expected one operator, grid_sample_backward; {found(names)}: is"
            " recorded_backward called although grad mode is off?"
        )
        expected = torch.autograd.grad(sampled(x, grid, padding).sum(), (x, grid))
        for mine, theirs, name in zip(yours, expected, ("image", "grid"), strict=True):
            close(mine, theirs, f"{MODES[padding]}, by autograd: the gradient of the {name}")
    assert not grid_sample(x.detach(), grid.detach(), ZEROS).requires_grad, (
        "your result requires grad, but neither input does"
    )


@step_four
def test_the_inputs_are_saved(extension: Extension) -> None:
    """Inputs are saved with save_for_backward, so that a write to one of them is noticed."""
    for changed in range(2):
        leaves = small()
        result = extension.op("grid_sample")(*leaves, BORDER).sum()
        with torch.no_grad():
            leaves[changed].mul_(2)
        name = ("image", "grid")[changed]
        problem = ""
        try:
            result.backward()
        except RuntimeError as error:
            problem = str(error)
        assert "modified by an inplace operation" in problem, (
            f"the {name} was changed before backward: yours raised {problem or 'nothing'!r}"
        )


@step_four
@pytest.mark.parametrize("padding", [ZEROS, BORDER, REFLECTION], ids=MODES)
def test_gradcheck_twice(extension: Extension, padding: int) -> None:
    """First derivatives, and then the derivatives of a recorded backward."""
    grid_sample = extension.op("grid_sample")
    for x, grid in ((True, True), (True, False), (False, True)):
        which = f"{MODES[padding]}, image requires grad {x}, grid {grid}"
        for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
            try:
                check(lambda *each: grid_sample(*each, padding), small(x=x, grid=grid))
            except (GradcheckError, RuntimeError) as error:
                text = " ".join(str(error).split())[:600]
                raise AssertionError(f"{which}: {check.__name__} says: {text}") from None


@step_four
def test_opcheck_agrees(extension: Extension) -> None:
    """PyTorch examines the operator too: schema, keys, and a run without data."""
    op = extension.op("grid_sample").default
    op(*small(), BORDER)
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    found = torch.library.opcheck(op, (*small(), BORDER), test_utils=checks)
    assert {*found.values()} == {"SUCCESS"}, f"opcheck: {found}"


def test_written_by_yourself(extension: Extension) -> None:
    """ATen's own sampling is not called, in any namespace."""
    extension.op("grid_sample")(*small(), ZEROS)
    names = ("grid_sampler", "grid_sampler_2d", "grid_sampler_2d_backward")
    others = ("_grid_sampler_2d_cpu_fallback", "_grid_sampler_2d_cpu_fallback_backward")
    forbids_tokens(source("katas.lecture21", "csrc/k07_grid_sample.cpp"), *names, *others)
