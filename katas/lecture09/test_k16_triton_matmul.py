"""Tests of k16_triton_matmul: tiles, their order, and what is fused behind the product."""

from __future__ import annotations

from importlib.util import find_spec
from math import inf
from math import nan
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from plugins.ahead import Compiled
    from plugins.programs import Launch

if find_spec("triton"):
    from katas.lecture09 import k16_triton_matmul as kata


pytestmark = [pytest.mark.backend("triton"), pytest.mark.device("cpu", "cuda")]

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


def check(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None, *, relu: bool = False
) -> torch.Tensor:
    """Compare one call with what float64 gives, rounded once: not a bit may differ."""
    out = kata.linear(x, w, bias, relu=relu)
    wide = torch.nn.functional.linear(
        x.double(), w.double(), None if bias is None else bias.double()
    )
    expected = (wide.relu() if relu else wide).to(x.dtype)
    assert (expected.shape, x.dtype, x.device) == (out.shape, out.dtype, out.device)
    assert out.is_contiguous()
    wrong = ((expected != out) & ~(expected.isnan() & out.isnan())).nonzero().tolist()
    if wrong:
        i, j = wrong[0]
        raise AssertionError(
            f"{len(wrong)} of {expected.numel()} elements are wrong, the first is out[{i}][{j}]:"
            f" {out[i, j].item()}, expected {expected[i, j].item()}"
        )
    return out


def one(launches: list[Launch]) -> Launch:
    """Return the only launch."""
    assert 1 == len(launches), f"expected one launch of a kernel, found {len(launches)}"
    return launches[0]


def test_one_tile(device: str) -> None:
    """64 rows, 64 columns, one step of 32 along k: two loads, a product, a store."""
    x, w, _ = matrices(TILE, STEP, TILE, device=device)
    check(x, w)
    assert torch.equal(x @ w.t(), kata.linear(x, w)), "by default no bias and no relu"


def test_steps_along_k(device: str) -> None:
    """The sum goes on from step to step."""
    x, w, _ = matrices(TILE, 5 * STEP, TILE, device=device)
    check(x, w)


@pytest.mark.parametrize("tiles", [(1, 2), (2, 1), (4, 3), (5, 2), (9, 1)])
def test_many_tiles(device: str, tiles: tuple[int, int]) -> None:
    """One program for each, in groups of 4 rows of tiles; the last group may have fewer."""
    x, w, _ = matrices(tiles[0] * TILE, STEP, tiles[1] * TILE, device=device)
    check(x, w)


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(1, 1, 1), (63, 31, 65), (65, 33, 63), (1, 257, 2), (130, 1, 33), (33, 1, 130)],
)
def test_edges(device: str, m: int, k: int, n: int) -> None:
    """What stands for no element of x or w adds 0, and is stored nowhere."""
    x, w, _ = matrices(m, k, n, device=device)
    check(x, w)


@pytest.mark.parametrize(("m", "k", "n"), [(0, 3, 5), (3, 5, 0), (0, 0, 0), (70, 0, 20)])
def test_nothing_to_multiply(device: str, m: int, k: int, n: int) -> None:
    """No rows or no columns: no program. Where k is 0 all sums are empty: the bias is left."""
    x, w, bias = matrices(m, k, n, device=device)
    check(x, w, bias)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
def test_bias_and_relu(device: str, with_bias: bool, relu: bool) -> None:  # noqa: FBT001 - parameters
    """Element j of bias is for column j of out, and relu comes last."""
    x, w, bias = matrices(70, 40, 100, device=device)
    check(x, w, bias if with_bias else None, relu=relu)


@pytest.mark.parametrize("k", [40, 300])
def test_float16_is_summed_in_float32(device: str, k: int) -> None:
    """Rounded once, behind the bias: 2049 is no float16, and a sum that is rounded goes astray."""
    x, w, bias = matrices(70, k, 80, torch.float16, device)
    check(x, w, bias, relu=True)
    # No sign changes: a few products are beyond 2048.
    x, w = x.abs() + 6, w.abs() + 6
    check(x, w)
    check(x, w, -(x.double() @ w.double().t())[3].to(torch.float16))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinities_do_not_meet_the_padding(device: str) -> None:
    """0 * inf is NaN: beyond k both tiles hold 0, and not an element of the next row."""
    x, w = torch.ones(20, 33, device=device), torch.ones(21, 33, device=device)
    x[:, -1] = inf
    check(x, w)
    x[:, -1], w[:, -1] = 1, inf
    check(x, w)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_nan_stays_in_its_row_and_column(device: str) -> None:
    """A NaN in row 18 of x and one in row 3 of w: one row and one column of out are NaN."""
    x, w, _ = matrices(40, 37, 35, device=device)
    x[18, 36] = w[3, 36] = nan
    check(x, w)


def test_strides(device: str) -> None:
    """Transposes, slices with steps, one row again and again."""
    x, w, bias = matrices(50, 70, 90, device=device)
    check(x.t().contiguous().t(), w, bias)
    check(x, w.t().contiguous().t(), bias)
    check(x[::2, 1::3], w[1::2, 1::3], bias[:45])
    check(x[:1].expand(80, 70), w[10:])


@pytest.mark.cpu
def test_the_result_is_where_x_is() -> None:
    """Whatever device new tensors are made on by default."""
    x, w, _ = matrices(3, 4, 5)
    with torch.device("meta"):
        out = kata.linear(x, w)
    assert x.device == out.device


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


def order(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return the tiles in the order of the programs."""
    groups = [range(first, min(first + GROUP, rows)) for first in range(0, rows, GROUP)]
    return [(i, j) for group in groups for j in range(columns) for i in group]


@pytest.mark.cpu
@pytest.mark.parametrize("tiles", [(1, 3), (3, 1), (4, 4), (8, 3), (6, 5), (9, 2)])
def test_programs_go_in_groups(launches: list[Launch], tiles: tuple[int, int]) -> None:
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


@pytest.mark.cpu
@pytest.mark.parametrize(("m", "k", "n"), [(64, 32, 64), (130, 70, 200), (300, 33, 10)])
def test_each_tile_is_loaded_once(launches: list[Launch], m: int, k: int, n: int) -> None:
    """By each program that needs it; each element of out is stored once."""
    x, w, bias = matrices(m, k, n)
    out = check(x, w, bias)
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
    assert torch.equal(torch.ones_like(stores), stores), "each element of out is stored once"
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


@pytest.mark.cpu
@pytest.mark.parametrize("fused", [False, True])
def test_the_kernel_does_all_of_it(launches: list[Launch], fused: bool) -> None:  # noqa: FBT001 - a parameter
    """No other operator than torch.empty: no product, no bias, no relu, no copy of PyTorch's."""
    x, w, bias = matrices(70, 40, 50)
    x = x.t().contiguous().t()
    with Operators() as operators:
        kata.linear(x, w, bias if fused else None, relu=fused)

    one(launches)
    others = [name for name in operators.names if not name.startswith("aten::empty")]
    assert [] == others, f"the kernel should do this: {', '.join(others)}"


def kernel(compiled: Callable[..., dict[str, Compiled]], name: str) -> Compiled:
    """Return the kernel of a call, as it was compiled."""
    found = compiled(kata, CALLS)[name]
    assert not found.error, f"{CALLS[name]} does not compile for a GPU:\n{found.error}"
    assert 1 == found.launches, f"expected one launch of a kernel, found {found.launches}"
    return found


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", CALLS)
def test_it_compiles_for_a_gpu(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """The interpreter takes more than the compiler does."""
    assert kernel(compiled, call).instructions("st.global")


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


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float32", "float32 fused", "odd"])
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


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float16", "float16 fused", "float32", "float32 fused"])
def test_loads_run_ahead(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """The compiler takes a for loop over range apart: it loads for later steps meanwhile."""
    found = kernel(compiled, call)

    assert found.instructions("cp.async.cg.shared.global"), (
        "no asynchronous copy: are the loads in a for loop over range(...), and does the kernel"
        " know the strides as they are?"
    )


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float16", "float16 fused", "float32", "float32 fused"])
def test_results_are_stored_in_pieces(
    compiled: Callable[..., dict[str, Compiled]], call: str
) -> None:
    """16 bytes at once, although the tensor cores deal the tile to the threads differently."""
    assert {"st.global.v4.b32"} == {*kernel(compiled, call).instructions("st.global")}
