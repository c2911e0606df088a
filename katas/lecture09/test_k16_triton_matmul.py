"""Tests of k16_triton_matmul: what a step loads and adds, and what is fused after it."""

from __future__ import annotations

from math import inf
from math import nan
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture09 import k16_triton_matmul as kata


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Compiled
    from plugins.kit import TritonLaunch


pytestmark = pytest.mark.device("cpu", "cuda")
# Part two, the kernel, needs Triton.
triton = pytest.mark.backend("triton")

TILE, STEP, GROUP = 64, 32, 4
HALF = ", dtype=torch.float16"
# The calls that are compiled for a GPU.
CALLS = {
    "float16": f"kata.linear(torch.empty(128, 256{HALF}), torch.empty(128, 256{HALF}))",
    "float16 fused": f"kata.linear(torch.empty(128, 256{HALF}), torch.empty(128, 256{HALF}),"
    f" torch.empty(128{HALF}), relu=True)",
    "float32": "kata.linear(torch.empty(128, 256), torch.empty(128, 256))",
    "float32 fused": "kata.linear(torch.empty(128, 256), torch.empty(128, 256), torch.empty(128),"
    " relu=True)",
    "odd": "kata.linear(torch.empty(63, 101), torch.empty(101, 99).t(), torch.empty(99))",
}


def matrices(
    m: int, k: int, n: int, dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return x, w and bias: odd numbers and quarters, so that all sums are exact in float32."""
    x = 2 * torch.randint(-4, 5, (m, k)) + 1
    w = 2 * torch.randint(-4, 5, (n, k)) + 1
    bias = torch.randint(-400, 400, (n,)) / 4
    return x.to(device, dtype), w.to(device, dtype), bias.to(device, dtype)


# Part one: which tile.


def places(tensor: torch.Tensor) -> torch.Tensor:
    """Return the offset of each element from the first."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    memory = torch.arange(1 + sum((size - 1) * stride for size, stride in pairs))
    return memory.as_strided(tensor.shape, tensor.stride())


def steps(x: torch.Tensor, w: torch.Tensor) -> None:
    """Compare what all steps of all tiles load with where PyTorch finds the elements."""
    (m, k), n = x.shape, w.shape[0]
    # -1 where a tile hangs over the edge.
    pad = (0, TILE + STEP, 0, TILE + STEP)
    lie_x = torch.nn.functional.pad(places(x), pad, value=-1)
    lie_w = torch.nn.functional.pad(places(w), pad, value=-1).t()
    for i in range(0, m, TILE):
        for j in range(0, n, TILE):
            for p in range(0, k, STEP):
                at = (i // TILE, j // TILE)
                found = kata.step(at, p, (m, n, k), x.stride(), w.stride())
                what = f"x {tuple(x.shape)}, w {tuple(w.shape)}, tile {at}, step at {p}"
                same(f"{what}: x", lie_x[i : i + TILE, p : p + STEP], found.x, found.x_mask)
                same(f"{what}: w", lie_w[p : p + STEP, j : j + TILE], found.w, found.w_mask)


def same(what: str, expected: torch.Tensor, found: torch.Tensor, mask: torch.Tensor) -> None:
    """Compare the mask, and the offsets of the lanes that it lets through."""
    assert (expected.shape, torch.int64) == (found.shape, found.dtype), what
    assert (expected.shape, torch.bool) == (mask.shape, mask.dtype), f"{what}_mask"
    inside = expected >= 0
    assert torch.equal(inside, mask), (
        f"{what}_mask lets {int(mask.sum())} lanes through, {int(inside.sum())} stand for elements"
    )
    if wrong := ((expected != found) & inside).nonzero().tolist():
        a, b = wrong[0]
        raise AssertionError(
            f"{what}[{a}][{b}] is offset {int(found[a, b])}, expected {int(expected[a, b])};"
            f" {len(wrong)} of {int(inside.sum())} are wrong"
        )


def test_the_only_step_of_one_tile() -> None:
    """Load 64 x 32 elements of x, and 32 x 64 of w, whose rows are the columns of the block."""
    steps(torch.empty(TILE, STEP), torch.empty(TILE, STEP))


def test_other_tiles_have_other_rows() -> None:
    """The row of a tile selects rows of x, its column rows of w."""
    steps(torch.empty(2 * TILE, STEP), torch.empty(3 * TILE, STEP))


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 1, 1), (63, 32, 64), (64, 31, 64), (64, 32, 63), (65, 33, 130)]
)
def test_tiles_hang_over_the_edges(m: int, k: int, n: int) -> None:
    """A lane stands for an element if its row and its column are inside."""
    steps(torch.empty(m, k), torch.empty(n, k))


@pytest.mark.parametrize("kind", ["transposed x", "transposed w", "slices", "an expanded row"])
def test_places_follow_the_strides(kind: str) -> None:
    """A transposed factor is not copied, but read through its strides."""
    steps(
        *{
            "transposed x": lambda: (torch.empty(40, 70).t(), torch.empty(50, 40)),
            "transposed w": lambda: (torch.empty(70, 40), torch.empty(40, 50).t()),
            "slices": lambda: (torch.empty(70, 90)[::2, 1::3], torch.empty(90, 30)[20:]),
            "an expanded row": lambda: (torch.empty(40).expand(70, 40), torch.empty(50, 40)),
        }[kind]()
    )


# Part one: what a step adds.


def by_steps(x: torch.Tensor, w: torch.Tensor, other: float = nan) -> torch.Tensor:
    """Return the product as the programs compute it; masked lanes hold `other`."""
    (m, k), n = x.shape, w.shape[0]
    out = torch.full((m, n), nan)
    for i in range(0, m, TILE):
        for j in range(0, n, TILE):
            total = torch.zeros(TILE, TILE)
            for p in range(0, k, STEP):
                step = kata.step((i // TILE, j // TILE), p, (m, n, k), x.stride(), w.stride())
                blocks = []
                for tensor, lie, mask in ((x, step.x, step.x_mask), (w, step.w, step.w_mask)):
                    block = torch.full(mask.shape, other, dtype=tensor.dtype)
                    memory = tensor.as_strided((1 + int(lie[mask].max()),), (1,))
                    block[mask] = memory[lie[mask]]
                    blocks.append(block)
                before = total.clone()
                sum_ = kata.accumulate(total, *blocks, step)
                assert ((TILE, TILE), torch.float32) == (tuple(sum_.shape), sum_.dtype), (
                    f"yours is {sum_.dtype} of shape {tuple(sum_.shape)}, expected a float32 tile"
                )
                assert torch.equal(before, total), (
                    "your function wrote to total: return total plus the product as a new tensor"
                )
                total = sum_
            out[i : i + TILE, j : j + TILE] = total[: m - i, : n - j]
    return out


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare with float64 where float32 rounds."""
    torch.testing.assert_close(
        found.double(),
        expected,
        rtol=1e-5,
        atol=1e-4,
        msg=lambda text: f"float32 is multiplied and summed as float32: {text}",
    )


def equals(x: torch.Tensor, w: torch.Tensor, other: float = nan) -> None:
    """Compare with float64: not a bit may differ, since all sums are exact in float32."""
    found, expected = by_steps(x, w, other).double(), x.double() @ w.double().t()
    wrong = ((found != expected) & ~(found.isnan() & expected.isnan())).nonzero().tolist()
    if wrong:
        i, j = wrong[0]
        raise AssertionError(
            f"{len(wrong)} of {expected.numel()} elements are wrong, the first is out[{i}][{j}]:"
            f" {found[i, j].item()}, expected {expected[i, j].item()}"
        )


def test_one_step_is_a_product() -> None:
    """A step on whole tiles, with a sum of 0 so far, is the product."""
    equals(*matrices(TILE, STEP, TILE)[:2])


@pytest.mark.parametrize("other", [0.0, 1.0, nan, inf])
def test_masked_lanes_add_nothing(other: float) -> None:
    """Masked lanes of both blocks may hold anything."""
    equals(*matrices(65, 33, 63)[:2], other)


@pytest.mark.parametrize("k", [40, 300])
def test_products_of_float16_are_summed_in_float32(k: int) -> None:
    """2049 is not a float16: neither the blocks' product nor the sum may be rounded."""
    x, w, _ = matrices(30, k, 40, torch.float16)
    equals(x.abs() + 6, w.abs() + 6)


# Part one: what comes from memory.


def check(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None, *, relu: bool = False
) -> torch.Tensor:
    """Compare one call with what float64 gives, rounded once: not a bit may differ."""
    out = kata.linear(x, w, bias, relu=relu)
    wide = torch.nn.functional.linear(
        x.double(), w.double(), None if bias is None else bias.double()
    )
    expected = (wide.relu() if relu else wide).to(x.dtype)
    assert (expected.shape, x.dtype, x.device) == (out.shape, out.dtype, out.device), (
        f"yours is {out.dtype} of shape {tuple(out.shape)} on {out.device}, expected {x.dtype} of"
        f" shape {tuple(expected.shape)} on {x.device}"
    )
    assert out.is_contiguous(), f"yours has the strides {out.stride()}, expected row-major ones"
    wrong = ((expected != out) & ~(expected.isnan() & out.isnan())).nonzero().tolist()
    if wrong:
        i, j = wrong[0]
        raise AssertionError(
            f"{len(wrong)} of {expected.numel()} elements are wrong, the first is out[{i}][{j}]:"
            f" {out[i, j].item()}, expected {expected[i, j].item()}"
        )
    return out


def one(launches: list[TritonLaunch]) -> TritonLaunch:
    """Return the only launch."""
    assert 1 == len(launches), f"expected one launch of a kernel, found {len(launches)}"
    return launches[0]


@triton
@pytest.mark.parametrize("tiles", [(1, 1), (2, 1), (5, 2)])
def test_many_tiles(device: str, tiles: tuple[int, int]) -> None:
    """Each tile has one program, in groups of 4 rows of tiles; the last group may have fewer."""
    for k in (STEP, 5 * STEP):
        x, w, _ = matrices(tiles[0] * TILE, k, tiles[1] * TILE, device=device)
        check(x, w)


@triton
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(1, 1, 1), (65, 33, 63), (33, 257, 130), (70, 0, 20)],
)
def test_edges(device: str, m: int, k: int, n: int) -> None:
    """Lanes that stand for no element add 0, and are not stored."""
    x, w, _ = matrices(m, k, n, device=device)
    check(x, w)


@triton
def test_bias_and_relu(device: str) -> None:
    """Element j of bias is for column j of out, and relu comes last."""
    x, w, bias = matrices(70, 40, 100, device=device)
    check(x, w, bias)
    check(x, w, relu=True)
    check(x, w, bias, relu=True)
    # Numbers that round: no bits of float32 are dropped before it is multiplied or added.
    x, w, bias = (torch.randn(shape, device=device) for shape in ((70, 40), (100, 40), (100,)))
    close(
        kata.linear(x, w, bias),
        torch.nn.functional.linear(*(x.double(), w.double(), bias.double())),
    )


@triton
def test_float16_is_summed_in_float32(device: str) -> None:
    """The sum is rounded once, after the bias: 2049 is not a float16, so a rounded sum is wrong."""
    x, w, bias = matrices(70, 300, 80, torch.float16, device)
    check(x, w, bias, relu=True)
    # No sign changes: a few products are beyond 2048.
    x, w = x.abs() + 6, w.abs() + 6
    check(x, w)
    check(x, w, -(x.double() @ w.double().t())[3].to(torch.float16))


@triton
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinities_do_not_meet_the_padding(device: str) -> None:
    """0 * inf is NaN, so beyond k both tiles hold 0, not an element of the next row."""
    x, w = torch.ones(20, 33, device=device), torch.ones(21, 33, device=device)
    x[:, -1] = inf
    check(x, w)
    x[:, -1], w[:, -1] = 1, inf
    check(x, w)


@triton
def test_strides(device: str) -> None:
    """Transposes, slices with steps, one row again and again."""
    x, w, bias = matrices(50, 70, 90, device=device)
    check(x.t().contiguous().t(), w, bias)
    check(x, w.t().contiguous().t(), bias)
    check(x[::2, 1::3], w[1::2, 1::3], bias[:45])
    check(x[:1].expand(80, 70), w[10:])


@triton
@pytest.mark.cpu
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(("m", "k", "n"), [(130, 70, 200), (300, 33, 10)])
def test_each_tile_is_loaded_once(
    launches: list[TritonLaunch], m: int, k: int, n: int, *, relu: bool
) -> None:
    """Each program loads what it needs once; each element of out is stored once."""
    x, w, bias = matrices(m, k, n)
    out = check(x, w, bias, relu=relu)
    launch = one(launches)
    rows, columns = -(-m // TILE), -(-n // TILE)
    for name, tensor, times in (("x", x, columns), ("w", w, rows), ("bias", bias, rows)):
        loads = launch.count("load", tensor)
        assert torch.equal(torch.full_like(loads, times), loads), (
            f"elements of {name} are loaded {int(loads.min())} to {int(loads.max())} times,"
            f" expected {times}, once for each program that needs them"
        )
    others = {access.argument for access in launch.accesses}
    others -= {launch.argument(tensor) for tensor in (x, w, bias, out)}
    assert not others, f"the kernel uses {others}, expected no memory other than x, w, bias and out"
    stores = launch.count("store", out)
    assert stores.eq(1).all(), (
        f"elements of out are stored {stores.min()} to {stores.max()} times, expected once for each"
    )
    assert not launch.count("load", out).any(), (
        "your kernel loads from out: keep the sum in a block"
    )


def kernel(compiled: Callable[..., dict[str, Compiled]], name: str) -> Compiled:
    """Return the compiled kernel of a call."""
    found = compiled(kata, CALLS)[name]
    assert not found.error, f"{CALLS[name]} does not compile for a GPU:\n{found.error}"
    assert 1 == found.launches, f"expected one launch of a kernel, found {found.launches}"
    return found


@triton
@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float16", "float16 fused"])
def test_tensor_cores(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """float16 uses tensor cores with float32 sums, whose type the instruction names first."""
    found = kernel(compiled, call)
    products = [*found.instructions("wgmma.mma_async"), *found.instructions("mma.sync")]

    assert products, "no instruction of the tensor cores: is the product a tl.dot of float16?"
    assert [] == [name for name in products if ".f32.f16.f16" not in name], (
        f"the sum is not float32: {products[0]}"
    )


@triton
@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float32", "odd"])
def test_float32_is_not_cut_to_tf32(
    compiled: Callable[..., dict[str, Compiled]], call: str
) -> None:
    """float32 is not rounded to tf32, as tl.dot does by default and PyTorch does not."""
    found = kernel(compiled, call)

    assert ".tf32" not in found.ptx, (
        'your kernel uses tf32, expected float32: see input_precision of tl.dot, "ieee"'
    )
    steps = TILE * TILE * STEP // (32 * found.warps)
    assert len(found.instructions("fma.rn.f32")) >= steps, (
        f"expected {steps} fused multiply-adds per thread for one step along k"
    )
