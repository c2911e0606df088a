"""Tests of k15_triton_softmax: a row in registers, reductions, programs that take many rows."""

from __future__ import annotations

from importlib.util import find_spec
from math import inf
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
    import triton.language as tl

    from katas.lecture09 import k15_triton_softmax as kata


pytestmark = [pytest.mark.backend("triton"), pytest.mark.device("cpu", "cuda")]

PROGRAMS = 16
WIDTH = 1024
# The calls that are compiled for a GPU.
CALLS = {
    "plain": f"kata.softmax(torch.empty(64, {WIDTH}))",
    "scaled": f"kata.softmax(torch.empty(64, {WIDTH}), 0.125)",
    "causal": f"kata.softmax(torch.empty(64, {WIDTH}), 0.125, causal=True)",
    "odd": "kata.softmax(torch.empty(63, 1001, dtype=torch.float16), 0.125)",
    "transposed": "kata.softmax(torch.empty(1001, 63).t())",
}


def visible(x: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """Return which elements their rows see."""
    ones = torch.ones(x.shape, dtype=torch.bool, device=x.device)
    return ones.tril() if causal else ones


def check(x: torch.Tensor, scale: float = 1.0, *, causal: bool = False) -> torch.Tensor:
    """Compare one call with PyTorch's three operators in float64."""
    out = kata.softmax(x, scale, causal=causal)
    scores = (scale * x.double()).masked_fill(~visible(x, causal=causal), -inf)
    assert (x.shape, x.dtype, x.device) == (out.shape, out.dtype, out.device)
    assert out.is_contiguous()
    # In float32 large scores have large units; of float16 half a unit, of subnormal numbers too.
    rtol, atol = (6e-4, 3.1e-8) if x.dtype == torch.float16 else (1e-4, 1e-12)
    torch.testing.assert_close(out.double(), scores.softmax(-1), rtol=rtol, atol=atol)
    return out


def one(launches: list[Launch]) -> Launch:
    """Return the only launch."""
    assert 1 == len(launches), f"expected one launch of a kernel, found {len(launches)}"
    return launches[0]


def test_one_row(device: str) -> None:
    """8 elements are a block of 8: one maximum, one sum."""
    x = torch.randn(1, 8, device=device)
    check(x)
    torch.testing.assert_close(kata.softmax(x), x.softmax(-1))


@pytest.mark.parametrize("n", [1, 3, 31, 33, 1000, 1025])
def test_a_row_of_any_length(device: str, n: int) -> None:
    """The block is the next power of 2; lanes beyond the row are neither loaded nor stored."""
    check(torch.randn(1, n, device=device))


def test_padding_is_no_element(device: str) -> None:
    """Far below 0 a lane that holds 0 would be the maximum, and most of the sum."""
    check(torch.randn(2, 5, device=device) - 50)
    check(torch.randn(2, 5, device=device) + 50)


def test_the_maximum_is_taken_off(device: str) -> None:
    """exp(89) is infinite in float32, and exp(-104) is 0: so is a sum of such."""
    check(torch.tensor([[300.0, 299, 301], [-300, -299, -301]], device=device))


@pytest.mark.parametrize("rows", [2, 15, 16, 17, 31, 33, 100])
def test_more_rows_than_programs(device: str, rows: int) -> None:
    """A program goes on to the next row that is its own, until there is none."""
    check(torch.randn(rows, 20, device=device))


@pytest.mark.parametrize("scale", [0.125, 3.0, -2.0])
def test_scores_are_scaled(device: str, scale: float) -> None:
    """Before the maximum is taken: below 0 the smallest element becomes the largest score."""
    check(torch.randn(20, 40, device=device), scale)
    check(30 * torch.randn(20, 40, device=device), scale)


def test_minus_infinity_becomes_zero(device: str) -> None:
    """How a mask from outside comes in."""
    x = torch.randn(20, 40, device=device)
    x[:, ::3] = -inf
    x[4, 1:] = -inf
    x[4, 0] = -5
    check(x, 0.5)


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (40, 40), (40, 10), (10, 40)])
@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_causal(device: str, shape: tuple[int, int], scale: float) -> None:
    """Row i sees the columns up to i, the first row one; what nobody sees is stored as 0."""
    check(torch.randn(shape, device=device) - 3, scale, causal=True)


def test_float16_is_rounded_once(device: str) -> None:
    """Scores, powers and sums are float32: the scores here are beyond the largest float16."""
    check(torch.randn(20, 300, device=device).half())
    check((30000 + 100 * torch.randn(20, 30, device=device)).half(), 4.0)


def test_strides(device: str) -> None:
    """A transpose, a slice with steps, a part of a larger matrix, the same row again and again."""
    check(torch.randn(60, 33, device=device).t(), causal=True)
    check(torch.randn(50, 90, device=device)[::2, 1:81:2])
    check(torch.randn(40, 100, device=device)[5:35, 20:60])
    check(torch.randn(40, device=device).expand(30, 40), causal=True)


@pytest.mark.parametrize("shape", [(0, 6), (5, 0), (0, 0)])
def test_no_elements(device: str, launches: list[Launch], shape: tuple[int, int]) -> None:
    """The result is empty as well, and nothing is launched."""
    check(torch.randn(shape, device=device))
    assert [] == launches


@pytest.mark.cpu
def test_the_result_is_where_x_is() -> None:
    """Whatever device new tensors are made on by default."""
    x = torch.randn(3, 4)
    with torch.device("meta"):
        out = kata.softmax(x)
    assert x.device == out.device


@st.composite
def matrices(draw: st.DrawFn) -> torch.Tensor:
    """Draw a matrix of any shape and strides."""
    rows, n = draw(st.integers(1, 50)), draw(st.integers(1, 70))
    steps = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    first = draw(st.integers(0, 5))
    dtype = draw(st.sampled_from([torch.float32, torch.float16]))
    size = draw(st.sampled_from([0.1, 3.0, 100.0]))
    if draw(st.booleans()):
        x = torch.randn(n * steps[1] + first, rows * steps[0] + first).t()
    else:
        x = torch.randn(rows * steps[0] + first, n * steps[1] + first)
    return (size * x).to(dtype)[first :: steps[0], first :: steps[1]]


@pytest.mark.cpu
@settings(max_examples=25)
@given(x=matrices(), scale=st.sampled_from([1.0, 0.3, -0.7]), causal=st.booleans())
def test_any_matrix(x: torch.Tensor, scale: float, causal: bool) -> None:  # noqa: FBT001 - drawn
    """Any shape, any strides, any offset into the storage."""
    check(x, scale, causal=causal)


@pytest.mark.cpu
@pytest.mark.parametrize("rows", [1, 3, 15, 16, 17, 40])
def test_rows_are_dealt_to_the_programs(launches: list[Launch], rows: int) -> None:
    """Row r belongs to program r % P; there are no more programs than rows, and than 16."""
    out = check(torch.randn(rows, 12))
    launch = one(launches)
    programs = min(rows, PROGRAMS)

    assert (programs, 1, 1) == launch.grid, f"{rows} rows are for {programs} programs"
    for access in launch.accesses:
        found = {int(place) // out.shape[1] % programs for place in access.places}
        assert {access.program} == found, (
            f"program {access.program} does a {access.kind} of a row of program {found}"
        )


@pytest.mark.cpu
@pytest.mark.parametrize("causal", [False, True])
def test_what_is_seen_is_loaded_once(launches: list[Launch], causal: bool) -> None:  # noqa: FBT001 - a parameter
    """A second load would be a row that was not kept; a load of what is not seen is wasted."""
    x = torch.randn(45, 40).t()
    out = check(x, causal=causal)
    launch = one(launches)
    loads, stores = launch.count("load", x), launch.count("store", out)

    others = {access.argument for access in launch.accesses}
    others -= {launch.argument(x), launch.argument(out)}
    assert not others, f"{others} are neither x nor out: the kernel needs no other memory"
    assert not launch.count("load", out).any(), "nothing of out is loaded"
    assert torch.equal(visible(x, causal=causal).long(), loads), (
        f"{int(visible(x, causal=causal).sum())} elements are seen; {int(loads.bool().sum())} are"
        f" loaded, by {int(loads.sum())} loads"
    )
    assert torch.equal(torch.ones_like(stores), stores), "each element of out is stored once"


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
@pytest.mark.parametrize("causal", [False, True])
def test_the_kernel_does_all_of_it(launches: list[Launch], causal: bool) -> None:  # noqa: FBT001 - a parameter
    """No other operator than torch.empty: no softmax, no product, no mask of PyTorch's."""
    x = torch.randn(40, 40).t()
    with Operators() as operators:
        kata.softmax(x, 0.5, causal=causal)

    one(launches)
    others = [name for name in operators.names if not name.startswith("aten::empty")]
    assert [] == others, f"the kernel should do this: {', '.join(others)}"


@pytest.mark.cpu
def test_the_reductions_are_your_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton has tl.softmax, which is the middle of this kata."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("tl.softmax is what you write here")

    for place in (tl, tl.standard):
        monkeypatch.setattr(place, "softmax", refuse)
    check(torch.randn(3, 10))


def kernel(compiled: Callable[..., dict[str, Compiled]], name: str) -> Compiled:
    """Return the kernel of a call, as it was compiled."""
    found = compiled(kata, CALLS)[name]
    assert not found.error, f"{CALLS[name]} does not compile for a GPU:\n{found.error}"
    assert 1 == found.launches, f"expected one launch of a kernel, found {found.launches}"
    return found


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", CALLS)
def test_it_compiles_for_a_gpu(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """The interpreter takes more than the compiler; each access has a predicate, its mask."""
    found = kernel(compiled, call)
    stores = found.lines("st.global")
    always = [line for line in stores if not line.startswith("@%p")]

    assert stores
    # Where n is known to be a power of 2 there is nothing to mask.
    assert [] == always or call not in {"odd", "transposed"}, f"no predicate: {always[0]}"


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["plain", "scaled", "causal"])
def test_a_row_stays_in_registers(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """16 bytes for each load and store, no more of them than the row has pieces."""
    found = kernel(compiled, call)
    pieces = WIDTH // (32 * found.warps) // 4
    # With causal, neighbouring lanes may differ in what they see, so each is loaded for itself.
    for kind in ("ld.global", "st.global")[call == "causal" :]:
        instructions = found.instructions(kind)
        assert [f"{kind}.v4.b32"] * pieces == instructions, (
            f"{found.warps} warps share {WIDTH} elements, {4 * pieces} per thread: expected"
            f" {pieces} times {kind}.v4.b32, found {instructions}"
        )


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", CALLS)
def test_threads_pass_on_little(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """Reductions by shuffles; shared memory holds one number per warp and reduction, no row."""
    found = kernel(compiled, call)

    assert found.instructions("shfl.sync"), "no shuffle: which lanes reduce the row?"
    assert found.shared <= 8 * found.warps, (
        f"{found.shared} bytes of shared memory for {found.warps} warps: a row goes through it"
    )
