"""Tests of k15_triton_softmax: a row in registers, reductions, programs that take many rows."""

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
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture09 import k15_triton_softmax as kata
from plugins.kit import forbids
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from plugins.kit import Compiled
    from plugins.kit import TritonLaunch

if find_spec("triton"):
    import triton.language as tl


pytestmark = pytest.mark.device("cpu", "cuda")
# The steps of the lab.
step_one = pytest.mark.step(1, "blocks and rows")
step_two = pytest.mark.step(2, "what a row sees")
step_three = pytest.mark.step(3, "one row in PyTorch")
step_four = pytest.mark.step(4, "the kernel")
# Operators that the interpreter and the tests run themselves, besides torch.empty.
ALLOWED = {
    *("aten::empty", "aten::new_empty", "aten::set_", "aten::copy_", "aten::as_strided"),
    *("aten::detach", "aten::fill_", "aten::resolve_conj", "aten::resolve_neg", "aten::to"),
    *("aten::zero_", "aten::zeros"),
}
# Part two, the kernel, needs Triton.
triton = pytest.mark.backend("triton")

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
    """Return which elements each row sees."""
    ones = torch.ones(x.shape, dtype=torch.bool, device=x.device)
    return ones.tril() if causal else ones


# Part one: the block of a row, and whose row it is.


@step_one
@pytest.mark.parametrize(
    ("n", "length"), [(1, 1), (2, 2), (1024, 1024), (3, 4), (5, 8), (1000, 1024), (1025, 2048)]
)
def test_other_rows_take_the_next_power_of_2(n: int, length: int) -> None:
    """The block is longer than the row if n is not a power of 2."""
    found = kata.block_length(n)
    assert length == found, f"expected {length} lanes for a row of {n} elements, yours are {found}"


@step_one
@given(n=st.integers(1, 16384))
def test_any_row_has_a_block(n: int) -> None:
    """The length is the smallest power of 2 that is at least n."""
    length = kata.block_length(n)
    assert n <= length < 2 * n or 1 == n == length, (
        f"a row of {n} elements in a block of {length}: it has to fit, but not in half of the block"
    )
    assert 1 == length.bit_count(), f"{length} is not a power of 2"


@step_one
@pytest.mark.parametrize(
    ("program", "programs", "rows", "own"),
    [
        (0, 1, 3, [0, 1, 2]),
        (2, 5, 5, [2]),
        (0, 16, 40, [0, 16, 32]),
        (8, 16, 40, [8, 24]),
        (15, 16, 31, [15]),
        (3, 4, 2, []),
    ],
)
def test_rows_are_dealt(program: int, programs: int, rows: int, own: list[int]) -> None:
    """A program begins at its own index, and its step is the number of programs."""
    found = list(kata.rows_of(program, programs, rows))
    assert own == found, (
        f"program {program} of {programs} takes {own} of {rows} rows, yours {found}"
    )


# Part one: which lanes take part.


@step_two
@pytest.mark.parametrize(("n", "block"), [(8, 8), (5, 8), (1, 1), (1, 4)])
def test_a_row_sees_its_columns(n: int, block: int) -> None:
    """A row sees its n elements, and no lane after them."""
    for row in (0, 3, 100):
        found = kata.seen(row, n, block)
        assert ((block,), torch.bool) == (tuple(found.shape), found.dtype), (
            f"expected {block} bools, one per lane, yours is {found.dtype} of {tuple(found.shape)}"
        )
        assert [True] * n + [False] * (block - n) == found.tolist(), (
            f"row {row}: expected the first {n} of {block} lanes, yours is {found.tolist()}"
        )


@step_two
@pytest.mark.parametrize(("row", "columns"), [(0, 1), (3, 4), (4, 5), (5, 5), (9, 5)])
def test_a_causal_row_sees_the_columns_up_to_its_own(row: int, columns: int) -> None:
    """Row 0 sees one column. Rows below the diagonal's end see no more than n columns."""
    found = kata.seen(row, 5, 8, causal=True)
    assert [True] * columns + [False] * (8 - columns) == found.tolist(), (
        f"row {row} of a matrix with 5 columns sees {columns} of them; found {found.tolist()}"
    )


# Part one: reductions.


@step_three
@pytest.mark.parametrize("length", [2, 8, 1024])
def test_halves_are_combined(length: int) -> None:
    """A step combines all pairs at once: 3 calls for 8 elements, 10 for 1024."""
    calls = []

    def combine(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        calls.append((tuple(first.shape), tuple(second.shape)))
        return first + second

    found = kata.reduce(torch.arange(length), combine)
    halves = [((length >> step,),) * 2 for step in range(1, length.bit_length())]
    assert halves == calls, (
        f"combine was called with blocks of the shapes {calls}, expected {halves}"
    )
    assert ((), length * (length - 1) // 2) == (tuple(found.shape), found.item()), (
        f"yours is {found}, expected {length * (length - 1) // 2} without dims"
    )


@step_three
def test_the_first_half_is_on_the_left() -> None:
    """Element i of the first half is combined with element i of the second, first half first."""
    calls = []

    def combine(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        calls.append((first.tolist(), second.tolist()))
        return first - second

    found = kata.reduce(torch.tensor([1, 10, 100, 1000]), combine)
    assert [([1, 10], [100, 1000]), ([-99], [-990])] == calls, (
        f"combine was called with {calls}: pass the first half first, both by position"
    )
    assert 891 == found.item(), f"yours is {found.item()}, expected -99 - (-990), or 891"


@step_three
@settings(max_examples=15)
@given(exponent=st.integers(0, 7), seed=st.integers(0, 1000))
def test_any_block_is_reduced(exponent: int, seed: int) -> None:
    """The results are PyTorch's maximum and sum, and the block is not written to."""
    block = torch.randn(2**exponent, generator=torch.Generator().manual_seed(seed)).double()
    before = block.clone()
    torch.testing.assert_close(kata.reduce(block, torch.maximum), block.max())
    torch.testing.assert_close(kata.reduce(block, torch.add), block.sum())
    torch.testing.assert_close(
        block, before, rtol=0, atol=0, msg=lambda found: f"reduce wrote to its block: {found}"
    )


# Part one: the softmax of a block.


def lanes_of(elements: list[float], length: int, other: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a block that begins with the elements, and its mask; other lanes hold `other`."""
    loaded = torch.full((length,), other)
    loaded[: len(elements)] = torch.tensor(elements)
    return loaded, torch.arange(length) < len(elements)


def compare(loaded: torch.Tensor, mask: torch.Tensor, scale: float = 1.0) -> None:
    """Compare with PyTorch's float64 softmax of the elements that are seen."""
    found = kata.softmax_block(loaded.clone(), mask, scale)
    expected = torch.zeros(len(loaded), dtype=torch.float64)
    expected[mask] = (scale * loaded[mask].double()).softmax(-1)
    assert (loaded.shape, torch.float32) == (found.shape, found.dtype), (
        f"yours is {found.dtype} of shape {tuple(found.shape)}, expected float32 of"
        f" {tuple(loaded.shape)}"
    )
    what = f"softmax_block({loaded.tolist()[:8]}, {mask.tolist()[:8]}, {scale})"
    torch.testing.assert_close(
        found.double(), expected, rtol=1e-4, atol=1e-12, msg=lambda text: f"{what}\n{text}"
    )
    assert not found[expected == 0].any(), f"{what}: expected exactly 0 elsewhere, yours is {found}"


@step_three
def test_a_full_block() -> None:
    """For 8 elements in 8 lanes, softmax is the exponentials divided by their sum."""
    compare(*lanes_of([0.5, -1, 2, 0, 1, 1, -3, 0.25], 8, nan))


@step_three
@pytest.mark.parametrize("other", [0.0, nan, inf, -inf, 1e30])
def test_masked_lanes_hold_anything(other: float) -> None:
    """Masked lanes hold undefined values: they must change nothing, and their result is 0."""
    compare(*lanes_of([0.5, -1, 2], 4, other))


@step_three
def test_the_maximum_is_taken_off_first() -> None:
    """exp(89) is infinite in float32, and exp(-104) is 0: subtract the maximum first."""
    compare(*lanes_of([300.0, 299, 301], 4, nan))
    compare(*lanes_of([-300.0, -299, -301], 4, nan))
    # Large scores have large units: a factor such as log2(e) rounds them before they cancel.
    compare(*lanes_of([199_990 + each / 64 for each in (0, 50, 101, 7, 64)], 8, nan))


@step_three
@pytest.mark.parametrize("scale", [0.125, 3.0, -2.0, 100.0])
def test_blocks_are_scaled(scale: float) -> None:
    """Apply the scale before the maximum: a negative one makes the smallest element the largest."""
    compare(*lanes_of([0.5, -1, 2, 1, 7], 8, nan), scale)
    compare(*lanes_of([0.5, -1, 2, 1, 7], 8, 0.0), scale)


@step_three
def test_minus_infinity_is_an_element() -> None:
    """A lane that holds -inf is seen, but its exponential is 0."""
    compare(*lanes_of([-inf, -5, -inf, -4], 8, nan), 0.5)


@step_three
def test_a_block_of_float16() -> None:
    """The scores, 120000 and -120000, are beyond float16's range; the result is float32."""
    loaded, mask = lanes_of([30000, 29984, 30016, 1], 8, nan)
    compare(loaded.half(), mask, 4.0)
    compare(-loaded.half(), mask & (loaded > 1), 4.0)


SOFTMAXES = [
    f"{place}.{name}"
    for place in ("torch", "torch.Tensor", "torch.special", "torch.nn.functional")
    for name in ("softmax", "log_softmax", "softmin", "logsumexp")
]
RUN = ("aten::softmax", "aten::_softmax", "aten::_log_softmax", "aten::logsumexp")


class Refused(TorchFunctionMode):
    """Records what a kernel cannot have: softmax, or a block whose length is not a power of 2."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the function if a kernel cannot have it, and run it."""
        result = func(*args, **(kwargs or {}))
        if any(word in func.__name__ for word in ("softmax", "sumexp")):
            self.found.append(func.__name__)
        elif isinstance(result, torch.Tensor) and result.numel().bit_count() != 1:
            self.found.append(f"{func.__name__} that returns {result.numel()} elements")
        return result


@step_three
def test_a_block_keeps_its_length() -> None:
    """With 5 of 8 lanes seen, neither call PyTorch's softmax nor make a block of 5 by the mask."""
    loaded, mask = lanes_of([0.5, -1, 2, 4, 1], 8, nan)
    with forbids(kata, *SOFTMAXES, operators=RUN) as fresh, Refused() as refused:
        fresh.softmax_block(loaded, mask, 2.0)

    assert [] == refused.found, f"a kernel cannot have {', '.join(refused.found)}"
    assert torch.equal(torch.tensor([0.5, -1, 2, 4, 1]), loaded[:5]), (
        "your function wrote to `loaded`"
    )
    assert loaded[5:].isnan().all(), "your function wrote to `loaded`"


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


@step_three
@settings(max_examples=25)
@given(
    x=matrices(),
    scale=st.sampled_from([1.0, 0.3, -0.7]),
    causal=st.booleans(),
    programs=st.integers(1, 16),
)
def test_all_programs_together(x: torch.Tensor, scale: float, causal: bool, programs: int) -> None:  # noqa: FBT001 - drawn
    """Part one computes a matrix, program by program, with NaN in masked lanes."""
    rows, n = x.shape
    block = kata.block_length(n)
    out = torch.full((rows, n), nan)
    for program in range(programs):
        for row in kata.rows_of(program, programs, rows):
            mask = kata.seen(row, n, block, causal=causal)
            assert not mask[n:].any(), "your mask includes lanes past the end of the row"
            loaded = torch.full((block,), nan, dtype=x.dtype)
            loaded[:n] = torch.where(mask[:n], x[row], nan)
            out[row] = kata.softmax_block(loaded, mask, scale)[:n]

    scores = (scale * x.double()).masked_fill(~visible(x, causal=causal), -inf)
    torch.testing.assert_close(out.double(), scores.softmax(-1), rtol=1e-4, atol=1e-12)


# Part two: the kernel.


def check(x: torch.Tensor, scale: float = 1.0, *, causal: bool = False) -> torch.Tensor:
    """Compare one call with PyTorch's three operators in float64."""
    out = kata.softmax(x, scale, causal=causal)
    scores = (scale * x.double()).masked_fill(~visible(x, causal=causal), -inf)
    assert (x.shape, x.dtype, x.device) == (out.shape, out.dtype, out.device), (
        f"yours is {out.dtype} of shape {tuple(out.shape)} on {out.device}, x is {x.dtype} of"
        f" shape {tuple(x.shape)} on {x.device}"
    )
    assert out.is_contiguous(), f"yours has the strides {out.stride()}, expected row-major ones"
    # Large float32 scores have large units; float16 allows half a unit, even when subnormal.
    rtol, atol = (6e-4, 3.1e-8) if x.dtype == torch.float16 else (1e-4, 1e-12)
    torch.testing.assert_close(out.double(), scores.softmax(-1), rtol=rtol, atol=atol)
    return out


def one(launches: list[TritonLaunch]) -> TritonLaunch:
    """Return the only launch."""
    assert 1 == len(launches), f"expected one launch of a kernel, found {len(launches)}"
    return launches[0]


@step_four
@triton
@pytest.mark.parametrize("n", [3, 33, 1025])
def test_a_row_of_any_length(device: str, n: int) -> None:
    """The block is the next power of 2; lanes beyond the row are neither loaded nor stored."""
    check(torch.randn(1, n, device=device))


@step_four
@triton
@pytest.mark.parametrize("rows", [15, 17, 100])
def test_more_rows_than_programs(device: str, rows: int) -> None:
    """A program goes on to the next of its own rows, until there is none."""
    check(torch.randn(rows, 20, device=device))


@step_four
@triton
@pytest.mark.parametrize("shape", [(1, 1), (40, 10), (10, 40)])
def test_causal(device: str, shape: tuple[int, int]) -> None:
    """Row i sees the columns up to i, the first row one; elements not seen are stored as 0."""
    for scale in (1.0, -1.0):
        check(torch.randn(shape, device=device) - 3, scale, causal=True)


@step_four
@triton
def test_float16_is_rounded_once(device: str) -> None:
    """Scores, exponentials and sums are float32: these scores are beyond the largest float16."""
    check(torch.randn(20, 300, device=device).half())
    check((30000 + 100 * torch.randn(20, 30, device=device)).half(), 4.0)
    check((-30000 + 100 * torch.randn(20, 30, device=device)).half(), 4.0)


@step_four
@triton
def test_strides(device: str) -> None:
    """A transpose, a slice with steps, a part of a larger matrix, the same row again and again."""
    check(torch.randn(60, 33, device=device).t(), causal=True)
    check(torch.randn(50, 90, device=device)[::2, 1:81:2])
    check(torch.randn(40, 100, device=device)[5:35, 20:60])
    check(torch.randn(40, device=device).expand(30, 40), causal=True)


@step_four
@triton
def test_no_elements(device: str, launches: list[TritonLaunch]) -> None:
    """The result of an empty matrix is empty, and nothing is launched."""
    for shape in ((0, 6), (5, 0), (0, 0)):
        check(torch.randn(shape, device=device))
    assert [] == launches, "a kernel was launched for an empty result, expected none"


@step_four
@triton
def test_each_result_has_memory_of_its_own(device: str) -> None:
    """The next call of the same shape returns a new tensor, and the input is not changed."""
    x, other = (torch.randn(3, 4, device=device) for _ in range(2))
    with unchanged(x=x):
        first = kata.softmax(x)
    with unchanged(x=x, first_result=first):
        kata.softmax(other)


@step_four
@triton
@pytest.mark.cpu
@settings(max_examples=25)
@given(x=matrices(), scale=st.sampled_from([1.0, 0.3, -0.7]), causal=st.booleans())
def test_any_matrix(x: torch.Tensor, scale: float, causal: bool) -> None:  # noqa: FBT001 - drawn
    """Test any shape, any strides, any offset into the storage."""
    check(x, scale, causal=causal)


@step_four
@triton
@pytest.mark.cpu
@pytest.mark.parametrize("rows", [3, 16, 40])
def test_rows_go_round_the_programs(launches: list[TritonLaunch], rows: int) -> None:
    """Row r belongs to program r % P; there are no more programs than rows, and than 16."""
    out = check(torch.randn(rows, 12))
    launch = one(launches)
    programs = min(rows, PROGRAMS)

    assert (programs, 1, 1) == launch.grid, (
        f"expected {programs} programs for {rows} rows, your grid is {launch.grid}"
    )
    for access in launch.accesses:
        found = {int(place) // out.shape[1] % programs for place in access.places}
        assert {access.program} == found, (
            f"program {access.program} does a {access.kind} of a row of program {found}"
        )


@step_four
@triton
@pytest.mark.cpu
@pytest.mark.parametrize("causal", [False, True])
def test_what_is_seen_is_loaded_once(launches: list[TritonLaunch], causal: bool) -> None:  # noqa: FBT001 - a parameter
    """Each element that is seen is loaded once, and no other."""
    x = torch.randn(45, 40).t()
    out = check(x, causal=causal)
    launch = one(launches)
    loads, stores = launch.count("load", x), launch.count("store", out)

    others = {access.argument for access in launch.accesses}
    others -= {launch.argument(x), launch.argument(out)}
    assert not others, f"the kernel uses {others}, expected no memory other than x and out"
    assert not launch.count("load", out).any(), "your kernel loads from out, expected only stores"
    assert torch.equal(visible(x, causal=causal).long(), loads), (
        f"{int(visible(x, causal=causal).sum())} elements are seen; {int(loads.bool().sum())} are"
        f" loaded, by {int(loads.sum())} loads: expected one load for each element that is seen"
    )
    assert torch.equal(torch.ones_like(stores), stores), (
        "elements of out are not stored exactly once, expected one store for each"
    )


class Operators(TorchDispatchMode):
    """Records which operators of PyTorch run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record an operator, and run it."""
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


@step_four
@triton
@pytest.mark.cpu
def test_the_kernel_does_all_of_it(launches: list[TritonLaunch]) -> None:
    """Only torch.empty runs: PyTorch computes no softmax, product or mask."""
    x = torch.randn(40, 40).t()
    # The first shows who calls what, the second sees every thread, whatever modes are off.
    with watched_operators() as watched, Operators() as operators:
        kata.softmax(x, 0.5, causal=True)

    one(launches)
    others = [name for name in operators.names if not name.startswith("aten::empty")]
    others += sorted(set(watched) - ALLOWED)
    assert [] == others, f"your code runs {', '.join(others)}: the kernel should do this"


@step_four
@triton
@pytest.mark.cpu
def test_the_reductions_are_your_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton's tl.softmax is not called: you write it here."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("tl.softmax is what you write here")

    for place in (tl, tl.standard):
        monkeypatch.setattr(place, "softmax", refuse)
    check(torch.randn(3, 10))


def kernel(compiled: Callable[..., dict[str, Compiled]], name: str) -> Compiled:
    """Return the compiled kernel of a call."""
    found = compiled(kata, CALLS)[name]
    assert not found.error, f"{CALLS[name]} does not compile for a GPU:\n{found.error}"
    assert 1 == found.launches, f"expected one launch of a kernel, found {found.launches}"
    return found


@step_four
@triton
@pytest.mark.time_limit(120)
def test_it_compiles_for_a_gpu(compiled: Callable[..., dict[str, Compiled]]) -> None:
    """The compiler accepts the kernel, and each access has a predicate, its mask."""
    for call in CALLS:
        stores = kernel(compiled, call).lines("st.global")
        always = [line for line in stores if not line.startswith("@%p")]

        assert stores, f"{call}: no store to global memory"
        # If n is known to be a power of 2, there is nothing to mask.
        assert [] == always or call not in {"odd", "transposed"}, (
            f"an access without a predicate, so without a mask: {always[0]}"
        )
        assert ".f64" not in kernel(compiled, call).ptx, (
            f"{call}: your kernel computes in float64, expected float32"
        )


@step_four
@triton
@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["plain", "causal"])
def test_a_row_stays_in_registers(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """Each load and store moves 16 bytes, and there are no more of them than the row needs."""
    found = kernel(compiled, call)
    pieces = WIDTH // (32 * found.warps) // 4
    # With causal, neighbouring lanes may differ in what they see, so each is loaded separately.
    for kind in ("ld.global", "st.global")[call == "causal" :]:
        instructions = found.instructions(kind)
        assert [f"{kind}.v4.b32"] * pieces == instructions, (
            f"{found.warps} warps share {WIDTH} elements, {4 * pieces} per thread: expected"
            f" {pieces} times {kind}.v4.b32, found {instructions}"
        )
