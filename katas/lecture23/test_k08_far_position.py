"""Tests of k08_far_position: angles computed in float64, far from position 0."""

from __future__ import annotations

import pytest
import torch

from katas.lecture23.k08_far_position import Rotary
from katas.lecture23.k08_far_position import grid
from katas.lecture23.k08_far_position import rotate
from katas.lecture23.k08_far_position import table
from plugins.kit import unchanged


DIM, COUNT = 64, 4096
# How far a cos or sin rounded to each dtype may be off, plus the error of float32 angles.
HALVES = {torch.float32: 0.0, torch.float16: 2.0**-12, torch.bfloat16: 2.0**-9}
FLOAT32 = 4e-4
FAR = torch.tensor([[4095, 0, 257, 1000], [2049, 4094, 3, 511]])


def exact(positions: torch.Tensor, dim: int = DIM) -> torch.Tensor:
    """Return all angles in float64, of the given float32 frequencies."""
    rates = (10000.0 ** -(torch.arange(0, dim, 2) / dim)).double()
    return positions.double()[..., None] * rates


def turned(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """Return x rotated by complex numbers, in complex128."""
    a, b = x.double().chunk(2, -1)
    z = torch.complex(a, b) * torch.exp(1j * angles)[:, None]
    return torch.cat([z.real, z.imag], -1)


def queries(dtype: torch.dtype) -> torch.Tensor:
    """Return [2, 3, 4, DIM] in a dtype."""
    dice = torch.Generator().manual_seed(5)
    return torch.randn(2, 3, 4, DIM, generator=dice).to(dtype)


def same_angle(yours: torch.Tensor, right: torch.Tensor, bar: float, what: str) -> None:
    """Compare, and name the worst position."""
    __tracebackhide__ = True
    assert yours.shape == right.shape, (
        f"{what}: your shape is {list(yours.shape)}, expected {list(right.shape)}"
    )
    off = (yours.double() - right).abs()
    place = tuple(int(i) for i in torch.unravel_index(off.argmax(), off.shape))
    assert bool(off.max() <= bar), (
        f"{what}, at {list(place)}: yours is {yours[place].item():.6f}, expected"
        f" {right[place].item():.6f}; at most {bar:.1e} apart"
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_table_is_right_at_each_position(dtype: torch.dtype) -> None:
    """The table holds rounded cos and sin, not cos and sin of rounded angles."""
    yours = table(COUNT, DIM, dtype)
    right = exact(torch.arange(COUNT))

    for name, found, wanted in zip(("cos", "sin"), yours, (right.cos(), right.sin()), strict=True):
        assert found.dtype == dtype, f"your {name} is {found.dtype}, expected {dtype}"
        bar = HALVES[dtype] + FLOAT32
        same_angle(found, wanted, bar, f"{name} as [position, frequency], in {dtype}")


def test_the_table_leaves_the_default_alone() -> None:
    """The default dtype is not changed, and float32 is as exact as float32 can be."""
    with unchanged():
        cos, _ = table(COUNT, DIM, torch.bfloat16)
        cos32, _ = table(COUNT, DIM, torch.float32)

    assert cos.dtype == torch.bfloat16, f"your cos is {cos.dtype}, expected torch.bfloat16"
    same_angle(cos32, exact(torch.arange(COUNT)).cos(), FLOAT32, "cos in float32")
    rows = len(cos[:, :8].unique(dim=0))
    assert rows > COUNT - 50, (
        f"in bfloat16, {COUNT} positions have only {rows} different rows of cos"
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_grid_under_autocast(dtype: torch.dtype) -> None:
    """The angles are those without autocast, in float32."""
    with torch.autocast("cpu", dtype), unchanged(positions=FAR):
        yours = grid(FAR, DIM)

    assert yours.dtype == torch.float32, (
        f"under autocast your angles are {yours.dtype}, expected torch.float32"
    )
    same_angle(yours, exact(FAR), FLOAT32, f"the angle under autocast to {dtype}")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_turned_in_its_own_dtype(dtype: torch.dtype) -> None:
    """A bfloat16 query stays bfloat16, and is rounded once; a float64 query is not rounded."""
    x, angles = queries(dtype), exact(FAR).float()
    with unchanged(x=x, angles=angles):
        yours = rotate(x, angles)
    right = turned(x, angles.double())

    assert yours.dtype == dtype, f"x has dtype {dtype}, but your result has {yours.dtype}"
    off = (yours.double() - right).abs()
    bar = 2 * HALVES[dtype] * right.abs() * 1.01 + 2e-5
    bad = int((off > bar).sum())
    assert bad == 0, (
        f"{bad} of {off.numel()} elements are further from the exact product than one rounding"
        f" to {dtype} explains, off by up to {off.max().item():.1e}: what else was rounded?"
    )

    x64 = x.double() + torch.pi
    y64 = rotate(x64, torch.zeros(2, 4, DIM // 2))
    assert y64.dtype == torch.float64, f"x has dtype torch.float64, but your result has {y64.dtype}"
    off64 = (y64 - x64).abs().max().item()
    assert off64 == 0, (
        f"for a float64 x and angles of 0, yours is up to {off64:.1e} from x, expected 0; was x"
        " rounded to float32?"
    )


def test_a_converted_module_knows_far_positions() -> None:
    """``.bfloat16()`` converts parameters and buffers, but far positions stay distinct."""
    plain, served = Rotary(DIM), Rotary(DIM).bfloat16()
    for module, dtype in ((served, torch.bfloat16), (plain, torch.float32)):
        x = queries(dtype)
        with unchanged(module, x=x, positions=FAR):
            yours = module(x, FAR)
        assert yours.dtype == dtype, f"x has dtype {dtype}, but your module returns {yours.dtype}"
        right = turned(x, exact(FAR))
        bar = 8 * (HALVES[dtype] + FLOAT32)
        what = f"[row, head, n, dim] of Rotary in {dtype}"
        ask = " (what dtype are the frequencies and positions now?)"
        same_angle(yours, right, bar, what + ask)


def test_there_and_back() -> None:
    """``.half().float()`` loses nothing, nothing is saved, and the module can change devices."""
    module = Rotary(DIM).half().float()
    x = queries(torch.float32)
    what = "after .half().float() (what dtype did the frequencies have in between?)"
    same_angle(module(x, FAR), turned(x, exact(FAR)), 8 * FLOAT32, what)

    assert not module.state_dict(), (
        f"the state dict contains {list(module.state_dict())}, expected nothing"
    )
    try:
        moved = Rotary(DIM).to("meta")(x.to("meta"), FAR.to("meta"))
    except RuntimeError as error:
        raise AssertionError(f"x and positions on another device: {error}") from None
    assert moved.device.type == "meta", f"x is on meta, but your result is on {moved.device}"


def test_one_module_and_two_devices() -> None:
    """The module works on the CPU, on another device, and on the CPU again."""
    module, x = Rotary(DIM), queries(torch.float32)
    right = turned(x, exact(FAR))
    for device in ("cpu", "meta", "cpu"):
        try:
            yours = module(x.to(device), FAR.to(device))
        except (RuntimeError, NotImplementedError) as error:
            raise AssertionError(
                f"one module, called on cpu, meta and cpu, x on {device}: {error}; what did it keep"
                " from the previous call?"
            ) from None
        assert yours.device.type == device, (
            f"x is on {device}, but your result is on {yours.device}"
        )
        if device == "cpu":
            same_angle(yours, right, 8 * FLOAT32, "of one module, called on cpu, meta and cpu")
