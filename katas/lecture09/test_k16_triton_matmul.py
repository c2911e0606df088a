"""Tests of k16_triton_matmul: tiles, their order, and what is fused behind the product."""

from __future__ import annotations

from math import inf
from math import nan
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture09 import k16_triton_matmul as kata
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from plugins.kit import Compiled
    from plugins.kit import TritonLaunch


pytestmark = pytest.mark.device("cpu", "cuda")
# What the interpreter and the tests' count of loads run themselves, beside torch.empty.
ALLOWED = {
    *("aten::empty", "aten::new_empty", "aten::set_", "aten::copy_", "aten::as_strided"),
    *("aten::detach", "aten::fill_", "aten::resolve_conj", "aten::resolve_neg", "aten::to"),
    *("aten::zero_", "aten::zeros"),
}
# What part two needs, the kernel.
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


def order(rows: int, columns: int, group: int = GROUP) -> list[tuple[int, int]]:
    """Return the tiles in the order of the programs."""
    groups = [range(first, min(first + group, rows)) for first in range(0, rows, group)]
    return [(i, j) for each in groups for j in range(columns) for i in each]


def follow(rows: int, columns: int, group: int) -> None:
    """Compare the tiles of all programs."""
    found = [tuple(kata.tile(p, rows, columns, group)) for p in range(rows * columns)]
    assert order(rows, columns, group) == found, (
        f"programs 0, 1, 2, ... of {rows} x {columns} tiles in groups of {group} rows compute"
        f" {found}, expected {order(rows, columns, group)}"
    )


def test_one_group_is_taken_column_by_column() -> None:
    """4 rows of tiles are a group: down its 4 rows, then on to the next column."""
    follow(4, 3, 4)


def test_one_row_of_tiles() -> None:
    """There is no row to go down to."""
    follow(1, 5, 4)


@pytest.mark.parametrize("rows", [8, 12])
def test_the_next_group_begins_behind_all_columns(rows: int) -> None:
    """A full group has 4 * tiles_n programs."""
    follow(rows, 3, 4)


@pytest.mark.parametrize("rows", [2, 5, 6, 7, 11])
def test_the_last_group_may_have_fewer_rows(rows: int) -> None:
    """So its programs go down fewer rows before the next column."""
    follow(rows, 3, 4)


def test_groups_of_one_row_are_row_major() -> None:
    """And one group of all rows is column-major: the order in between is what a group is for."""
    follow(5, 4, 1)
    follow(5, 4, 100)


@given(rows=st.integers(1, 12), columns=st.integers(1, 12), group=st.integers(1, 6))
def test_any_order(rows: int, columns: int, group: int) -> None:
    """Each tile is some program's, and no other's."""
    follow(rows, columns, group)


class Number:
    """What a kernel knows of a number: it can be computed with and compared."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __repr__(self) -> str:
        return str(self.value)

    def __lt__(self, other: Number | int) -> bool:
        return self.value < value_of(other)

    def __le__(self, other: Number | int) -> bool:
        return self.value <= value_of(other)

    def __gt__(self, other: Number | int) -> bool:
        return self.value > value_of(other)

    def __ge__(self, other: Number | int) -> bool:
        return self.value >= value_of(other)

    def __neg__(self) -> Number:
        return Number(-self.value)

    def __add__(self, other: Number | int) -> Number:
        return Number(self.value + value_of(other))

    def __sub__(self, other: Number | int) -> Number:
        return Number(self.value - value_of(other))

    def __rsub__(self, other: int) -> Number:
        return Number(other - self.value)

    def __mul__(self, other: Number | int) -> Number:
        return Number(self.value * value_of(other))

    def __floordiv__(self, other: Number | int) -> Number:
        return Number(self.value // value_of(other))

    def __mod__(self, other: Number | int) -> Number:
        return Number(self.value % value_of(other))

    def __divmod__(self, other: Number | int) -> tuple[Number, Number]:
        return self // other, self % other

    __radd__ = __add__
    __rmul__ = __mul__


def value_of(number: Number | int) -> int:
    """Return the int."""
    return number.value if isinstance(number, Number) else number


def test_a_program_works_out_its_tile_by_arithmetic() -> None:
    """All that it has are numbers on a GPU: no list of the tiles before it, no loop over them."""
    try:
        found = kata.tile(Number(57), Number(6), Number(10), Number(4))
    except TypeError as error:
        raise AssertionError(
            f"this is no arithmetic, and a kernel could not do it: {error}"
        ) from error
    own = tuple(value_of(each) for each in found)
    assert (5, 8) == own, (
        f"of 6 x 10 tiles in groups of 4 rows program 57 has {own}: the last group has 2 rows"
    )


# Part one: what a step loads.


def places(tensor: torch.Tensor) -> torch.Tensor:
    """Return where each element lies, counted from the first."""
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
    """Compare the mask, and the places of what it lets through."""
    assert (expected.shape, torch.int64) == (found.shape, found.dtype), what
    assert (expected.shape, torch.bool) == (mask.shape, mask.dtype), f"{what}_mask"
    inside = expected >= 0
    assert torch.equal(inside, mask), (
        f"{what}_mask lets {int(mask.sum())} lanes through, {int(inside.sum())} stand for elements"
    )
    if wrong := ((expected != found) & inside).nonzero().tolist():
        a, b = wrong[0]
        raise AssertionError(
            f"{what}[{a}][{b}] is place {int(found[a, b])}, expected {int(expected[a, b])};"
            f" {len(wrong)} of {int(inside.sum())} are wrong"
        )


def test_the_only_step_of_one_tile() -> None:
    """64 x 32 places in x; 32 x 64 in w, whose rows are the columns of the block."""
    steps(torch.empty(TILE, STEP), torch.empty(TILE, STEP))


def test_the_next_steps_go_on_along_k() -> None:
    """To the right in x and in w, which is downwards in w's block."""
    steps(torch.empty(TILE, 3 * STEP), torch.empty(TILE, 3 * STEP))


def test_other_tiles_have_other_rows() -> None:
    """The row of a tile is about x, its column about w."""
    steps(torch.empty(2 * TILE, STEP), torch.empty(3 * TILE, STEP))


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 1, 1), (63, 32, 64), (64, 31, 64), (64, 32, 63), (65, 33, 130)]
)
def test_tiles_hang_over_the_edges(m: int, k: int, n: int) -> None:
    """A lane stands for an element if its row and its column are inside."""
    steps(torch.empty(m, k), torch.empty(n, k))


@pytest.mark.parametrize("kind", ["transposed x", "transposed w", "slices", "an expanded row"])
def test_places_follow_the_strides(kind: str) -> None:
    """Nobody copies a transposed factor: it is read where it lies."""
    steps(
        *{
            "transposed x": lambda: (torch.empty(40, 70).t(), torch.empty(50, 40)),
            "transposed w": lambda: (torch.empty(70, 40), torch.empty(40, 50).t()),
            "slices": lambda: (torch.empty(70, 90)[::2, 1::3], torch.empty(90, 30)[20:]),
            "an expanded row": lambda: (torch.empty(40).expand(70, 40), torch.empty(50, 40)),
        }[kind]()
    )


class Largest(TorchFunctionMode):
    """Notes how many elements the largest tensor has that a function of PyTorch returns."""

    elements = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let it run, and look."""
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.elements = max(self.elements, result.numel())
        return result


def test_a_program_knows_its_blocks_alone() -> None:
    """It makes no list of all places to cut its own from."""
    with Largest() as largest:
        found = kata.step((5, 7), 64, (1000, 900, 800), (800, 1), (800, 1))

    assert (5 * TILE + 3) * 800 + 64 + 2 == int(found.x[3, 2]), f"x[3, 2] is {int(found.x[3, 2])}"
    assert largest.elements <= TILE * STEP, (
        f"a tensor of {largest.elements} elements, where a block has {TILE * STEP}: work out the"
        " places from the tile and the step"
    )
    # No memory holds a list of all of these, however it is made.
    far = kata.step((2**30, 7), 64, (2**40, 900, 800), (800, 1), (800, 1))
    assert (2**30 * TILE + 3) * 800 + 64 + 2 == int(far.x[3, 2]), f"x[3, 2] is {int(far.x[3, 2])}"


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
                    f"yours is {sum_.dtype} of shape {tuple(sum_.shape)}, a tile of float32 is due"
                )
                assert torch.equal(before, total), "the sum so far is not written to"
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
    """No mask, no sum so far."""
    equals(*matrices(TILE, STEP, TILE)[:2])


def test_steps_are_added() -> None:
    """To what the steps before have left."""
    equals(*matrices(TILE, 3 * STEP, TILE)[:2])
    # Numbers that round: nothing of float32 is cut before it is multiplied.
    x, w = torch.randn(TILE, 3 * STEP), torch.randn(TILE, 3 * STEP)
    close(by_steps(x, w), x.double() @ w.double().t())


@pytest.mark.parametrize("other", [0.0, 1.0, nan, inf])
def test_masked_lanes_add_nothing(other: float) -> None:
    """Whatever a load has left there, in x's block and in w's."""
    equals(*matrices(65, 33, 63)[:2], other)


def test_infinities_do_not_meet_padding() -> None:
    """0 * inf is NaN: beyond k both blocks hold 0."""
    x, w = torch.ones(20, 33), torch.ones(21, 33)
    x[:, -1] = inf
    equals(x, w)
    x[:, -1], w[:, -1] = 1, inf
    equals(x, w)


@pytest.mark.parametrize("k", [40, 300])
def test_products_of_float16_are_summed_in_float32(k: int) -> None:
    """2049 is no float16: neither the blocks' product nor the sum may be rounded."""
    x, w, _ = matrices(30, k, 40, torch.float16)
    equals(x.abs() + 6, w.abs() + 6)


# Part one: what comes from memory.


def test_without_tiles_everything_is_loaded_again() -> None:
    """1 * 1 elements per program: a row of x and one of w for each element of out."""
    found = kata.traffic(10, 20, 30, 1, 1, 1, 1)
    assert isinstance(found, int), f"a number of elements is an int, not {type(found).__name__}"
    assert 2 * 10 * 20 * 30 == found, f"200 results need 60 elements each, 12000; found {found}"


@pytest.mark.parametrize("side", [4, 8, 16])
def test_a_tile_divides_the_traffic_by_its_side(side: int) -> None:
    """One element of x serves as many products as the tile is wide, one of w as it is high."""
    found = kata.traffic(64, 64, 64, side, side, 1, 1)
    assert 2 * 64**3 // side == found, f"tiles of {side} x {side}: 1/{side} of 524288, not {found}"


def test_a_tile_lies_as_the_result_does() -> None:
    """One row of 64 results: a wide tile loads it once, tiles of a column load it 64 times."""
    found = kata.traffic(1, 64, 8, 1, 64, 1, 1)
    assert 8 + 64 * 8 == found, f"a tile of 1 x 64: one strip of x, 64 rows of w; found {found}"
    found = kata.traffic(1, 64, 8, 64, 1, 1, 1)
    assert 64 * (8 + 8) == found, f"64 tiles of 64 x 1, of which 1 x 1 is there; found {found}"


def test_edges_load_less() -> None:
    """A tile that hangs over has fewer rows to load: 10 rows are 4, 4 and 2."""
    found = kata.traffic(10, 7, 3, 4, 4, 1, 1)
    assert 10 * 3 * 2 + 7 * 3 * 3 == found, f"found {found}"


def test_programs_of_a_wave_share() -> None:
    """All at the same time: each element comes from memory once."""
    found = kata.traffic(10, 7, 3, 4, 4, 2, 6)
    assert (10 + 7) * 3 == found, (
        f"yours is {found}: x has 30 elements, w has 21, and all 6 tiles are in one wave"
    )
    assert (10 + 7) * 3 == kata.traffic(10, 7, 3, 4, 4, 2, 1000), "a wave may have fewer programs"


def test_the_order_of_programs_decides() -> None:
    """16 x 16 tiles, 16 programs at a time: 1 + 16 strips in rows, 4 + 4 in groups of 4 rows."""
    strip = 64 * 1024
    for group, strips in ((1, 17), (2, 10), (4, 8), (8, 10), (16, 17)):
        found = kata.traffic(1024, 1024, 1024, 64, 64, group, 16)
        assert 16 * strips * strip == found, (
            f"in groups of {group} rows, each of the 16 waves needs {strips} strips of 64 x 1024;"
            f" found {found / 16 / strip:g}"
        )


@pytest.mark.parametrize(("m", "n", "k"), [(0, 5, 3), (5, 0, 3), (5, 3, 0)])
def test_nothing_to_load(m: int, n: int, k: int) -> None:
    """No program, or none with a step to make."""
    found = kata.traffic(m, n, k, 4, 4, 4, 2)
    assert 0 == found, f"m, n, k = {m}, {n}, {k}: nothing is to be loaded, yours is {found}"


@settings(max_examples=50)
@given(
    sizes=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 3)),
    blocks=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    group=st.integers(1, 5),
    wave=st.integers(1, 12),
)
def test_any_traffic(
    sizes: tuple[int, int, int], blocks: tuple[int, int], group: int, wave: int
) -> None:
    """As counted element by element, one wave after the other."""
    (m, n, k), (block_m, block_n) = sizes, blocks
    programs = order(-(-m // block_m), -(-n // block_n), group)
    expected = 0
    for first in range(0, len(programs), wave):
        needed = set()
        for i, j in programs[first : first + wave]:
            rows, columns = range(m)[i * block_m :][:block_m], range(n)[j * block_n :][:block_n]
            needed |= {("x", row, p) for row in rows for p in range(k)}
            needed |= {("w", column, p) for column in columns for p in range(k)}
        expected += len(needed)
    found = kata.traffic(m, n, k, block_m, block_n, group, wave)
    assert expected == found, (
        f"yours is {found}, counted one by one {expected}: m, n, k = {sizes}, tiles of {blocks},"
        f" groups of {group}, waves of {wave}"
    )


# Part two: the kernel.


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
    assert out.is_contiguous(), f"yours has the strides {out.stride()}, out is row-major"
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
def test_one_tile(device: str) -> None:
    """64 rows, 64 columns, one step of 32 along k: two loads, a product, a store."""
    x, w, _ = matrices(TILE, STEP, TILE, device=device)
    check(x, w)
    assert torch.equal(x @ w.t(), kata.linear(x, w)), "by default no bias and no relu"


@triton
def test_steps_along_k(device: str) -> None:
    """The sum goes on from step to step."""
    x, w, _ = matrices(TILE, 5 * STEP, TILE, device=device)
    check(x, w)


@triton
@pytest.mark.parametrize("tiles", [(2, 1), (5, 2)])
def test_many_tiles(device: str, tiles: tuple[int, int]) -> None:
    """One program for each, in groups of 4 rows of tiles; the last group may have fewer."""
    x, w, _ = matrices(tiles[0] * TILE, STEP, tiles[1] * TILE, device=device)
    check(x, w)


@triton
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(1, 1, 1), (65, 33, 63), (33, 257, 130)],
)
def test_edges(device: str, m: int, k: int, n: int) -> None:
    """What stands for no element of x or w adds 0, and is stored nowhere."""
    x, w, _ = matrices(m, k, n, device=device)
    check(x, w)


@triton
@pytest.mark.parametrize(("m", "k", "n"), [(0, 3, 5), (3, 5, 0), (70, 0, 20)])
def test_nothing_to_multiply(device: str, m: int, k: int, n: int) -> None:
    """No rows or no columns: no program. Where k is 0 all sums are empty: the bias is left."""
    x, w, bias = matrices(m, k, n, device=device)
    check(x, w, bias)


@triton
def test_bias_and_relu(device: str) -> None:
    """Element j of bias is for column j of out, and relu comes last."""
    x, w, bias = matrices(70, 40, 100, device=device)
    check(x, w, bias)
    check(x, w, relu=True)
    check(x, w, bias, relu=True)
    # Numbers that round: nothing of float32 is cut before it is multiplied or added.
    x, w, bias = (torch.randn(shape, device=device) for shape in ((70, 40), (100, 40), (100,)))
    close(
        kata.linear(x, w, bias),
        torch.nn.functional.linear(*(x.double(), w.double(), bias.double())),
    )


@triton
def test_float16_is_summed_in_float32(device: str) -> None:
    """Rounded once, behind the bias: 2049 is no float16, and a sum that is rounded goes astray."""
    x, w, bias = matrices(70, 300, 80, torch.float16, device)
    check(x, w, bias, relu=True)
    # No sign changes: a few products are beyond 2048.
    x, w = x.abs() + 6, w.abs() + 6
    check(x, w)
    check(x, w, -(x.double() @ w.double().t())[3].to(torch.float16))


@triton
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinities_do_not_meet_the_padding(device: str) -> None:
    """0 * inf is NaN: beyond k both tiles hold 0, and not an element of the next row."""
    x, w = torch.ones(20, 33, device=device), torch.ones(21, 33, device=device)
    x[:, -1] = inf
    check(x, w)
    x[:, -1], w[:, -1] = 1, inf
    check(x, w)


@triton
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_nan_stays_in_its_row_and_column(device: str) -> None:
    """A NaN in row 18 of x and one in row 3 of w: one row and one column of out are NaN."""
    x, w, _ = matrices(40, 37, 35, device=device)
    x[18, 36] = w[3, 36] = nan
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
def test_each_result_has_memory_of_its_own(device: str) -> None:
    """The next call of the same shape writes elsewhere, and nothing is written to the input."""
    x, other, w = (torch.randn(3, 4, device=device) for _ in range(3))
    with unchanged(x=x, w=w):
        first = kata.linear(x, w)
    with unchanged(x=x, w=w, first_result=first):
        kata.linear(other, w)


@triton
@pytest.mark.cpu
def test_the_result_is_where_x_is() -> None:
    """Whatever device new tensors are made on by default."""
    x, w, _ = matrices(3, 4, 5)
    with torch.device("meta"):
        out = kata.linear(x, w)
    assert x.device == out.device, f"yours is on {out.device}, x on {x.device}"


@triton
@pytest.mark.cpu
@settings(max_examples=20)
@given(
    m=st.integers(1, 150),
    k=st.integers(0, 70),
    n=st.integers(1, 150),
    dtype=st.sampled_from([torch.float32, torch.float16]),
    relu=st.booleans(),
)
def test_any_sizes(m: int, k: int, n: int, dtype: torch.dtype, relu: bool) -> None:  # noqa: FBT001 - drawn
    """Any m, k and n."""
    x, w, bias = matrices(m, k, n, dtype)
    check(x, w, bias, relu=relu)


@triton
@pytest.mark.cpu
@pytest.mark.parametrize("tiles", [(4, 4), (6, 5), (9, 2)])
def test_programs_go_in_groups(launches: list[TritonLaunch], tiles: tuple[int, int]) -> None:
    """Those that run at the same time share rows of x and of w, which then are in the cache."""
    x, w, _ = matrices(tiles[0] * TILE - 5, STEP, tiles[1] * TILE - 5)
    out = check(x, w)
    launch = one(launches)
    stores = {access.program: access.places for access in launch.accesses if access.kind == "store"}
    tile = {
        p: (s.min() // out.shape[1] // TILE, s.min() % out.shape[1] // TILE)
        for p, s in stores.items()
    }
    found = [tuple(int(each) for each in tile[program]) for program in sorted(tile)]

    assert (tiles[0] * tiles[1], 1, 1) == launch.grid, "a program for each tile, along axis 0"
    assert order(*tiles) == found, (
        f"programs 0, 1, 2, ... of {tiles[0]} x {tiles[1]} tiles compute {found}, expected"
        f" {order(*tiles)}: down {GROUP} rows of tiles, then on to the next column"
    )


@triton
@pytest.mark.cpu
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(("m", "k", "n"), [(130, 70, 200), (300, 33, 10)])
def test_each_tile_is_loaded_once(
    launches: list[TritonLaunch], m: int, k: int, n: int, *, relu: bool
) -> None:
    """By each program that needs it; each element of out is stored once."""
    x, w, bias = matrices(m, k, n)
    out = check(x, w, bias, relu=relu)
    launch = one(launches)
    rows, columns = -(-m // TILE), -(-n // TILE)
    for name, tensor, times in (("x", x, columns), ("w", w, rows), ("bias", bias, rows)):
        loads = launch.count("load", tensor)
        assert torch.equal(torch.full_like(loads, times), loads), (
            f"{times} programs need an element of {name}; it is loaded {int(loads.min())} to"
            f" {int(loads.max())} times"
        )
    others = {access.argument for access in launch.accesses}
    others -= {launch.argument(tensor) for tensor in (x, w, bias, out)}
    assert not others, f"{others} are none of x, w, bias and out: no other memory is needed"
    stores = launch.count("store", out)
    assert stores.eq(1).all(), (
        f"each element of out is stored once, yours between {stores.min()} and {stores.max()} times"
    )
    assert not launch.count("load", out).any(), "nothing of out is loaded: the sum is a block"


class Operators(TorchDispatchMode):
    """Notes which operators of PyTorch run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note one, and let it run."""
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


@triton
@pytest.mark.cpu
def test_the_kernel_does_all_of_it(launches: list[TritonLaunch]) -> None:
    """No other operator than torch.empty: no product, no bias, no relu, no copy of PyTorch's."""
    x, w, bias = matrices(70, 40, 50)
    x = x.t().contiguous().t()
    # The one tells who calls what, the other sees every thread, whatever modes are off.
    with watched_operators() as watched, Operators() as operators:
        kata.linear(x, w, bias, relu=True)

    one(launches)
    others = [name for name in operators.names if not name.startswith("aten::empty")]
    others += sorted(set(watched) - ALLOWED)
    assert [] == others, f"yours runs {', '.join(others)}: the kernel should do this"


def kernel(compiled: Callable[..., dict[str, Compiled]], name: str) -> Compiled:
    """Return the kernel of a call, as it was compiled."""
    found = compiled(kata, CALLS)[name]
    assert not found.error, f"{CALLS[name]} does not compile for a GPU:\n{found.error}"
    assert 1 == found.launches, f"expected one launch of a kernel, found {found.launches}"
    return found


@triton
@pytest.mark.time_limit(120)
def test_it_compiles_for_a_gpu(compiled: Callable[..., dict[str, Compiled]]) -> None:
    """The interpreter takes more than the compiler does."""
    for call in CALLS:
        assert kernel(compiled, call).instructions("st.global"), f"{call}: nothing is stored"


@triton
@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float16", "float16 fused"])
def test_tensor_cores(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """Of float16: the type of the sum stands first in the instruction, those of a and b behind."""
    found = kernel(compiled, call)
    products = [*found.instructions("wgmma.mma_async"), *found.instructions("mma.sync")]

    assert products, "no instruction of the tensor cores: is the product a tl.dot of float16?"
    assert [] == [name for name in products if ".f32.f16.f16" not in name], (
        f"the sum is no float32: {products[0]}"
    )


@triton
@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float32", "odd"])
def test_float32_is_not_cut_to_tf32(
    compiled: Callable[..., dict[str, Compiled]], call: str
) -> None:
    """By default tl.dot multiplies float32 with 10 bits of mantissa, which PyTorch does not."""
    found = kernel(compiled, call)

    assert ".tf32" not in found.ptx, 'see input_precision in the documentation of tl.dot: "ieee"'
    steps = TILE * TILE * STEP // (32 * found.warps)
    assert len(found.instructions("fma.rn.f32")) >= steps, (
        f"expected {steps} fused multiply-adds per thread for one step along k"
    )


@triton
@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float16", "float32"])
def test_loads_run_ahead(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """The compiler takes a for loop over range apart: it loads for later steps meanwhile."""
    found = kernel(compiled, call)

    assert found.instructions("cp.async.cg.shared.global"), (
        "no asynchronous copy: are the loads in a for loop over range(...), and does the kernel"
        " know the strides as they are?"
    )


@triton
@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float16 fused", "float32 fused"])
def test_results_are_stored_in_pieces(
    compiled: Callable[..., dict[str, Compiled]], call: str
) -> None:
    """16 bytes at once, although the tensor cores deal the tile to the threads differently."""
    stores = {*kernel(compiled, call).instructions("st.global")}
    assert {"st.global.v4.b32"} == stores, f"expected stores of 16 bytes, found {stores}"
