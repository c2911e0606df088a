"""Tests of k14_triton_mask: programs, blocks, masks and strides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture09 import k14_triton_mask as kata
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from plugins.kit import Compiled
    from plugins.kit import TritonLaunch


pytestmark = pytest.mark.device("cpu", "cuda")
# The steps of the lab.
step_one = pytest.mark.step(1, "what the launch knows")
step_two = pytest.mark.step(2, "lanes")
step_three = pytest.mark.step(3, "vectors")
step_four = pytest.mark.step(4, "the kernel")
# Operators that the interpreter and the tests run themselves, besides torch.empty.
ALLOWED = {
    *("aten::empty", "aten::new_empty", "aten::set_", "aten::copy_", "aten::as_strided"),
    *("aten::detach", "aten::fill_", "aten::resolve_conj", "aten::resolve_neg", "aten::to"),
    *("aten::zero_", "aten::zeros"),
}
# Part two, the kernel, needs Triton.
triton = pytest.mark.backend("triton")

BLOCK = 1024
# The calls that are compiled for a GPU: a row has a multiple of 16 elements, or not.
CALLS = {
    "float32": "kata.glu(torch.empty(64, 256))",
    "float16": "kata.glu(torch.empty(64, 256, dtype=torch.float16))",
    "a slice": "kata.glu(torch.empty(64, 512)[:, 128:384])",
    "odd": "kata.glu(torch.empty(63, 202))",
    "transposed": "kata.glu(torch.empty(202, 63).t())",
}
# Matrices that are not row-major, or only a part of one.
STRIDED = {
    "a transpose": lambda: torch.randn(60, 33).t(),
    "every second row and column": lambda: torch.randn(50, 90)[::2, 1:81:2],
    "a part of a matrix": lambda: torch.randn(80, 100)[5:75, 20:60],
    "one row, expanded": lambda: torch.randn(40).expand(90, 40),
    "one column, expanded": lambda: torch.randn(90, 1).expand(90, 40),
}


# Part one: what the programs touch.


@step_one
@pytest.mark.parametrize(
    ("size", "count"), [(1024, 1), (102_400, 100), (1, 1), (1023, 1), (1025, 2), (0, 0)]
)
def test_a_rest_takes_a_program_too(size: int, count: int) -> None:
    """The number of blocks is rounded up; without elements there is no block."""
    found = kata.programs(size)
    assert count == found, (
        f"{size} elements take {count} blocks of 1024, yours is {found}: every block has "
        "an element, and the last may have fewer than 1024"
    )


@step_one
def test_what_a_kernel_is_told() -> None:
    """The kernel gets an address, not a tensor: the size of the result, n and strides are ints."""
    for x, told in (
        (torch.randn(32, 64), (1024, 32, 64, 1)),
        (torch.randn(10, 7).t(), (35, 5, 1, 7)),
        (torch.randn(40).expand(30, 40), (600, 20, 0, 1)),
    ):
        found = kata.arguments(x)
        assert told == tuple(found), (
            f"x of shape {tuple(x.shape)} with strides {x.stride()}: expected {told}, got {found}"
        )


@step_one
@pytest.mark.parametrize("shape", [(3, 5), (4,), (), (2, 3, 4)])
def test_other_shapes_are_an_error(shape: tuple[int, ...]) -> None:
    """The CPU raises the error, before anything is launched."""
    message = f"glu: expected a matrix with an even number of columns, got shape {shape}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kata.arguments(torch.randn(shape))


@step_two
def test_the_lanes_of_one_full_block() -> None:
    """32 rows of 32 results: lane e is in row e // 32, and its gate is 32 columns further on."""
    found = kata.lanes(0, 1024, 32, 64, 1)
    lane = torch.arange(BLOCK)
    assert found.mask.all(), "expected all 1024 lanes to stand for an element"
    for name, places in (
        ("out", lane),
        ("left", lane // 32 * 64 + lane % 32),
        ("right", lane // 32 * 64 + lane % 32 + 32),
    ):
        same(name, places, getattr(found, name), found.mask)


@step_two
def test_blocks_are_of_one_length() -> None:
    """A block has 1024 lanes even for 3 elements: its length is known before any launch."""
    found = kata.lanes(0, 3, 3, 6, 1)
    kinds = [(tuple(each.shape), each.dtype) for each in found]
    assert [((BLOCK,), torch.int64)] * 3 == kinds[:3], f"left, right and out are {kinds[:3]}"
    assert ((BLOCK,), torch.bool) == kinds[3], f"your mask is {kinds[3]}"


@step_two
def test_a_program_begins_where_the_last_one_ended() -> None:
    """Program p has the elements from p * 1024 on: it knows only its own index."""
    for program in (1, 3):
        found = kata.lanes(program, 5000, 5000, 10000, 1)
        first = program * BLOCK
        same("out", torch.arange(first, first + BLOCK), found.out, found.mask)
        same("right", torch.arange(first + 5000, first + 5000 + BLOCK), found.right, found.mask)


@step_two
@pytest.mark.parametrize(("program", "size"), [(0, 1), (0, 1023), (1, 1025)])
def test_the_last_block_is_masked(program: int, size: int) -> None:
    """The first lanes of the last block stand for the remaining elements, the others for none."""
    found = kata.lanes(program, size, 1, 2, 1).mask
    left = size - program * BLOCK
    assert torch.equal(torch.arange(BLOCK) < left, found), (
        f"program {program} has {left} of {size} elements; its mask lets {int(found.sum())} lanes"
        " through"
    )


@step_two
@pytest.mark.parametrize("shape", [(7, 334), (500, 6), (3, 4098), (1025, 2)])
def test_a_block_is_cut_without_regard_to_rows(shape: tuple[int, int]) -> None:
    """A block holds parts of many rows, or a part of one."""
    follow(torch.randn(shape))


@step_two
@pytest.mark.parametrize("kind", STRIDED)
def test_places_follow_the_strides(kind: str) -> None:
    """The matrix may have any strides: its memory need not be row-major, nor without gaps."""
    follow(STRIDED[kind]())


def same(name: str, places: torch.Tensor, found: torch.Tensor, mask: torch.Tensor) -> None:
    """Compare the places of the lanes that stand for an element."""
    if wrong := ((places != found[: len(places)]) & mask[: len(places)]).nonzero().tolist():
        lane = wrong[0][0]
        raise AssertionError(
            f"{name}[{lane}] is {int(found[lane])}, expected {int(places[lane])}; {len(wrong)} of"
            f" {int(mask.sum())} places are wrong"
        )


def follow(x: torch.Tensor) -> None:
    """Compare what all programs load and store with where PyTorch finds the elements of x."""
    rows, n = x.shape[0], x.shape[1] // 2
    size = rows * n
    # The strided view of 0, 1, 2, ... says where each element is.
    memory = torch.arange(1 + sum((s - 1) * d for s, d in zip(x.shape, x.stride(), strict=True)))
    places = memory.as_strided(x.shape, x.stride())
    told = (size, n, *x.stride())
    for program in range(-(-size // BLOCK)):
        found = kata.lanes(program, *told)
        block = slice(program * BLOCK, (program + 1) * BLOCK)
        same("out", torch.arange(size)[block], found.out, found.mask)
        same("left", places[:, :n].flatten()[block], found.left, found.mask)
        same("right", places[:, n:].flatten()[block], found.right, found.mask)
        inside = len(torch.arange(size)[block])
        assert inside == int(found.mask.sum()), (
            f"program {program} has {inside} of {size} elements; its mask lets"
            f" {int(found.mask.sum())} lanes through"
        )


@st.composite
def matrices(draw: st.DrawFn) -> torch.Tensor:
    """Draw a matrix of any shape and strides."""
    rows, n = draw(st.integers(0, 60)), draw(st.integers(0, 40))
    steps = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    dtype = draw(st.sampled_from([torch.float32, torch.float16]))
    first = draw(st.integers(0, 5))
    if draw(st.booleans()):
        x = torch.randn(2 * n * steps[1] + first, rows * steps[0] + first).t()
    else:
        x = torch.randn(rows * steps[0] + first, 2 * n * steps[1] + first)
    return x.to(dtype)[first :: steps[0], first :: steps[1]]


@step_two
@settings(max_examples=25)
@given(x=matrices())
def test_all_programs_together_compute_glu(x: torch.Tensor) -> None:
    """Each element of out is stored once; unmasked lanes load what it needs.

    Here a test simulates the GPU: it runs the programs one after the other, on memory that is NaN
    wherever there is no element of x. Masked lanes hold NaN too.
    """
    told = kata.arguments(x)
    count = kata.programs(told[0])
    memory = torch.full((x.untyped_storage().nbytes() // x.element_size(),), float("nan"))
    memory.as_strided(x.shape, x.stride(), x.storage_offset()).copy_(x)
    out = torch.full((told[0],), float("nan"))
    stored = torch.zeros(told[0], dtype=torch.int64)
    for program in range(count):
        block = kata.lanes(program, *told)
        loaded = []
        for places in (block.left, block.right):
            there = places[block.mask] + x.storage_offset()
            assert not there.numel() or 0 <= int(there.min()) <= int(there.max()) < len(memory), (
                f"program {program} loads from outside the memory of x: which lanes are masked?"
            )
            loaded.append(
                torch.full((BLOCK,), float("nan")).masked_scatter(block.mask, memory[there])
            )
        value, gate = loaded
        places = block.out[block.mask]
        assert not places.numel() or int(places.max()) < len(out), (
            f"program {program} stores to element {int(places.max())} of {len(out)}"
        )
        out[places] = (value * torch.sigmoid(gate))[block.mask]
        stored[places] += 1

    assert torch.equal(torch.ones_like(stored), stored), "expected each element to be stored once"
    torch.testing.assert_close(out, torch.nn.functional.glu(x.float(), -1).flatten())


class Largest(TorchFunctionMode):
    """Records the size of the largest tensor that a PyTorch function returns."""

    elements = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function, and look at its result."""
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.elements = max(self.elements, result.numel())
        return result


@step_two
def test_a_program_knows_its_block_alone() -> None:
    """A program does not pick its elements from a list of all, which it would have to build."""
    with Largest() as largest:
        found = kata.lanes(1000, 2_000_000, 1000, 3000, 2)

    assert 1000 * BLOCK == int(found.out[0]), (
        f"program 1000: expected {1000 * BLOCK} first, yours is {int(found.out[0])}"
    )
    assert largest.elements <= BLOCK, (
        f"a tensor of {largest.elements} elements for one block of {BLOCK}: work out the places"
        " from the number of the program"
    )
    # No memory holds a list of all these elements.
    far = kata.lanes(2**30, 2**44, 1000, 3000, 2)
    assert 2**30 * BLOCK == int(far.out[0]), (
        f"program 2^30: expected {2**30 * BLOCK} first, yours is {int(far.out[0])}"
    )
    row, column = divmod(2**30 * BLOCK, 1000)
    for name, there in (("left", column), ("right", column + 1000)):
        place = int(getattr(far, name)[0])
        assert row * 3000 + there * 2 == place, (
            f"element 2^40 is in row {row}, column {column}: its {name} half is at"
            f" {row * 3000 + there * 2}, yours at {place}. Float division rounds"
        )


# Part one: how many lanes one instruction serves.


def whole(lanes: int = 32) -> torch.Tensor:
    """Return a mask that lets all lanes through."""
    return torch.ones(lanes, dtype=torch.bool)


@step_three
@pytest.mark.parametrize(("element_size", "width"), [(1, 16), (2, 8), (4, 4), (8, 2), (16, 1)])
def test_neighbours_move_together(element_size: int, width: int) -> None:
    """For places 0, 1, 2, ... without a mask, 16 bytes move at once, whatever the dtype."""
    found = kata.vector_width(torch.arange(32), whole(), element_size)
    assert width == found, (
        f"16 bytes are {width} elements of {element_size} bytes, yours is {found}"
    )


@step_three
@pytest.mark.parametrize(("first", "width"), [(1, 1), (2, 2), (4, 4), (6, 2)])
def test_a_vector_begins_at_a_multiple_of_its_length(first: int, width: int) -> None:
    """The address of a group has to be a multiple of the group's size."""
    found = kata.vector_width(first + torch.arange(32), whole(), 4)
    assert width == found, (
        f"places {first}, {first + 1}, ... of float32: expected {width} at a time, found {found}"
    )


@step_three
@pytest.mark.parametrize(
    "kind", ["steps", "the same", "backwards", "pairs", "two swapped", "one astray"]
)
def test_places_must_be_neighbours(kind: str) -> None:
    """Places must follow the order of the lanes; one group that does not narrows all groups."""
    lane = torch.arange(32)
    astray = lane.clone()
    astray[30] = 77
    places, width = {
        "steps": (2 * lane, 1),
        "the same": (0 * lane, 1),
        "backwards": (31 - lane, 1),
        "pairs": (lane // 2 * 4 + lane % 2, 2),
        "two swapped": (lane + (lane % 4 == 1).long() - (lane % 4 == 2).long(), 1),
        "one astray": (astray, 1),
    }[kind]
    found = kata.vector_width(places, whole(), 4)
    assert width == found, f"{kind}: expected {width} at a time, found {found}"


@step_three
@pytest.mark.parametrize(("end", "width"), [(28, 4), (0, 4), (30, 2), (31, 1)])
def test_a_mask_cuts_between_vectors(end: int, width: int) -> None:
    """One instruction has one predicate: all its lanes stand for elements, or none does."""
    lane = torch.arange(32)
    mask = lane < end
    with unchanged(places=lane, mask=mask):
        found = kata.vector_width(lane, mask, 4)
    assert width == found, (
        f"a mask that ends after lane {end - 1} of 32: expected {width} at a time, found {found}"
    )


@step_three
def test_what_nobody_loads_may_lie_anywhere() -> None:
    """The places of a masked group do not matter."""
    lane = torch.arange(32)
    found = kata.vector_width(torch.where(lane < 16, lane, 7 * lane + 1), lane < 16, 4)
    assert 4 == found, f"only lanes 0 to 15 load: expected 4 at a time, found {found}"


@step_three
@pytest.mark.parametrize(
    ("kind", "widths"),
    [
        ("row-major", (4, 8)),
        ("a slice at a multiple of 16", (4, 8)),
        ("a slice at column 2", (2, 2)),
        ("101 columns in a half", (1, 1)),
        ("a transpose", (1, 1)),
    ],
)
def test_which_matrices_move_16_bytes_at_once(kind: str, widths: tuple[int, int]) -> None:
    """The strides and n determine the width of all programs, for float32 and float16."""
    x, first = {
        "row-major": (torch.empty(64, 256), 0),
        "a slice at a multiple of 16": (torch.empty(64, 512)[:, 128:384], 128),
        "a slice at column 2": (torch.empty(64, 512)[:, 2:258], 2),
        "101 columns in a half": (torch.empty(63, 202), 0),
        "a transpose": (torch.empty(202, 64).t(), 0),
    }[kind]
    told = kata.arguments(x)
    blocks = [kata.lanes(program, *told) for program in range(kata.programs(told[0]))]
    for width, element_size in zip(widths, (4, 2), strict=True):
        found = min(
            kata.vector_width(places + first, block.mask, element_size)
            for block in blocks
            for places in (block.left, block.right)
        )
        assert width == found, f"{kind}, {element_size} bytes: expected {width}, found {found}"


@step_three
@given(
    step=st.sampled_from([0, 1, 1, 1, 2]),
    first=st.integers(0, 17),
    jump=st.tuples(st.integers(0, 48), st.integers(0, 16)),
    masked=st.tuples(st.integers(0, 48), st.integers(0, 48)),
    element_size=st.sampled_from([1, 2, 4, 8, 16]),
)
def test_any_places(
    step: int, first: int, jump: tuple[int, int], masked: tuple[int, int], element_size: int
) -> None:
    """The width is the largest for which every group is fit, checked group by group."""
    lane = torch.arange(48)
    places = first + step * lane + (lane >= jump[0]) * jump[1]
    mask = (lane < masked[0]) | (lane >= masked[1])

    def fit(group: list[tuple[int, bool]]) -> bool:
        begin = group[0][0]
        if not any(there for _, there in group):
            return True
        order = [place for place, _ in group] == list(range(begin, begin + len(group)))
        return all(there for _, there in group) and order and begin % len(group) == 0

    pairs = list(zip(places.tolist(), mask.tolist(), strict=True))
    widest = max(
        wide
        for wide in (1, 2, 4, 8, 16)
        if wide * element_size <= 16
        and all(fit(pairs[at : at + wide]) for at in range(0, 48, wide))
    )
    found = kata.vector_width(places, mask, element_size)
    assert widest == found, (
        f"yours is {found}, expected {widest}: elements of {element_size} bytes, places"
        f" {places.tolist()}, mask {mask.int().tolist()}"
    )


# Part two: the kernel.


def expected(x: torch.Tensor) -> torch.Tensor:
    """Return PyTorch's result, not rounded."""
    return torch.nn.functional.glu(x.double(), -1)


def check(x: torch.Tensor) -> torch.Tensor:
    """Compare one call with PyTorch; rounding once is off by at most half a unit."""
    out = kata.glu(x)
    assert (x.dtype, x.device) == (out.dtype, out.device), (
        f"your result is {out.dtype} on {out.device}, but x is {x.dtype} on {x.device}"
    )
    assert out.is_contiguous(), f"yours has the strides {out.stride()}, expected row-major ones"
    rounding = 5e-4 if x.dtype == torch.float16 else 1e-5
    torch.testing.assert_close(out.double(), expected(x), rtol=rounding, atol=1e-7)
    return out


def one(launches: list[TritonLaunch]) -> TritonLaunch:
    """Return the only launch."""
    assert 1 == len(launches), f"expected one launch of a kernel, found {len(launches)}"
    return launches[0]


def touched(launch: TritonLaunch, kind: str, program: int) -> list[int]:
    """Return the positions in storage that one program touches."""
    found = [
        each.places for each in launch.accesses if (each.kind, each.program) == (kind, program)
    ]
    return sorted(int(place) for places in found for place in places)


@step_four
@triton
def test_one_full_block(device: str) -> None:
    """32 rows of 32 results take one program, and no lane is masked."""
    check(torch.randn(32, 64, device=device))
    # The sigmoid of a large gate is 0 or 1, although exp(89) is infinite.
    check(100 * torch.randn(32, 64, device=device))


@step_four
@triton
@pytest.mark.parametrize(
    "shape", [(1, 2), (3, 10), (32, 128), (1, 2046), (1, 2050), (7, 334), (1025, 2), (0, 6)]
)
def test_several_blocks(device: str, shape: tuple[int, int]) -> None:
    """Program p begins at element p * BLOCK of out; sizes around one block and two."""
    check(torch.randn(shape, device=device))


@step_four
@triton
def test_strides(device: str) -> None:
    """A transpose, a slice with steps, a part of a larger matrix, one row again and again."""
    for make in STRIDED.values():
        check(make().to(device))


@step_four
@triton
def test_float16_is_rounded_once(device: str) -> None:
    """Compute in float32: rounding the sigmoid to float16 first would change the product."""
    check(torch.randn(40, 120, device=device, dtype=torch.float16))
    check((torch.randn(120, 40, device=device) * 8).half().t())


@step_four
@triton
def test_each_result_has_memory_of_its_own(device: str) -> None:
    """The next call of the same shape returns a new tensor, and the input is not changed."""
    x, other = (torch.randn(3, 4, device=device) for _ in range(2))
    with unchanged(x=x):
        first = kata.glu(x)
    with unchanged(x=x, first_result=first):
        kata.glu(other)


@step_four
@triton
@pytest.mark.cpu
def test_the_result_is_where_x_is() -> None:
    """The result is on x's device, whatever the default device."""
    x = torch.randn(3, 4)
    with torch.device("meta"):
        out = kata.glu(x)
    assert x.device == out.device, f"your result is on {out.device}, but x is on {x.device}"


@step_four
@triton
@pytest.mark.cpu
@settings(max_examples=40)
@given(x=matrices())
def test_any_matrix(x: torch.Tensor) -> None:
    """Test any shape, any strides, any offset into the storage."""
    check(x)


@step_four
@triton
@pytest.mark.cpu
@pytest.mark.parametrize("shape", [(1, 2), (32, 64), (7, 2000)])
def test_one_launch_of_a_program_per_block(
    launches: list[TritonLaunch], shape: tuple[int, int]
) -> None:
    """There are as many programs as blocks, and program p computes block p."""
    out = check(torch.randn(shape))
    launch = one(launches)
    blocks = -(-out.numel() // BLOCK)

    assert (blocks, 1, 1) == launch.grid, (
        f"expected {blocks} blocks for {out.numel()} results, your grid is {launch.grid}"
    )
    for program in range(blocks):
        block = list(range(out.numel()))[program * BLOCK : (program + 1) * BLOCK]
        stored = touched(launch, "store", program)
        assert block == stored, (
            f"program {program} computes {block[0]} to {block[-1]} of out, each element once; it"
            f" stores {len(stored)} elements, {stored[0]} to {stored[-1]}"
        )


@step_four
@triton
@pytest.mark.cpu
@pytest.mark.parametrize("shape", [(41, 50), (7, 2000)])
def test_each_element_moves_once(launches: list[TritonLaunch], shape: tuple[int, int]) -> None:
    """Each element of x is loaded once, and each element of out stored once."""
    x = torch.randn(shape[::-1]).t()
    out = check(x)
    launch = one(launches)

    assert torch.equal(torch.ones_like(x), launch.count("load", x).float()), (
        f"one element of x is loaded {launch.count('load', x).max()} times, expected once for each"
    )
    others = {access.argument for access in launch.accesses}
    others -= {launch.argument(x), launch.argument(out)}
    assert not others, f"the kernel uses {others}, expected no memory other than x and out"
    assert not launch.count("load", out).any(), "your kernel loads from out, expected only stores"
    stores = launch.count("store", out)
    assert stores.eq(1).all(), (
        f"elements of out are stored {stores.min()} to {stores.max()} times, expected once for each"
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
    """Only torch.empty runs: no glu, no copy that makes x contiguous."""
    x = torch.randn(40, 40).t()
    # The first shows who calls what, the second sees every thread, whatever modes are off.
    with watched_operators() as watched, Operators() as operators:
        kata.glu(x)

    one(launches)
    others = [name for name in operators.names if not name.startswith("aten::empty")]
    others += sorted(set(watched) - ALLOWED)
    assert [] == others, f"your code runs {', '.join(others)}: the kernel should do this"


def kernel(compiled: Callable[..., dict[str, Compiled]], name: str) -> Compiled:
    """Return the compiled kernel of a call."""
    found = compiled(kata, CALLS)[name]
    assert not found.error, f"{CALLS[name]} does not compile for a GPU:\n{found.error}"
    assert 1 == found.launches, f"expected one launch of a kernel, found {found.launches}"
    return found


@step_four
@triton
@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float32", "odd", "transposed"])
def test_a_mask_becomes_predicates(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """Compiled for a GPU, each load and each store has a predicate, so that threads can skip it."""
    found = kernel(compiled, call)
    lines = [*found.lines("ld.global"), *found.lines("st.global")]
    always = [line for line in lines if not line.startswith("@%p")]

    assert len(found.lines("ld.global")) >= 2, "expected a load of each half of x"
    assert found.lines("st.global"), "no st.global, expected a store"
    assert [] == always, f"an access without a predicate, so without a mask: {always[0]}"


@step_four
@triton
@pytest.mark.time_limit(120)
@pytest.mark.parametrize("call", ["float32", "float16", "a slice"])
def test_threads_move_16_bytes(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """The compiler gives a thread neighbouring elements and moves them at once."""
    found = kernel(compiled, call)
    moves = {*found.instructions("ld.global"), *found.instructions("st.global")}

    assert {"ld.global.v4.b32", "st.global.v4.b32"} == moves, (
        f"expected 4 words of 32 bits for each load and store, found {', '.join(sorted(moves))};"
        " does the kernel know the strides of x, and do neighbouring lanes stand for neighbouring"
        " elements?"
    )
