"""Tests of k14_triton_mask: programs, blocks, masks and strides."""

from __future__ import annotations

import re
from importlib.util import find_spec
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
    from katas.lecture09 import k14_triton_mask as kata


pytestmark = [pytest.mark.backend("triton"), pytest.mark.device("cpu", "cuda")]

BLOCK = 1024
# The calls that are compiled for a GPU: a row has a multiple of 16 elements, or it has not.
CALLS = {
    "float32": "kata.glu(torch.empty(64, 256))",
    "float16": "kata.glu(torch.empty(64, 256, dtype=torch.float16))",
    "a slice": "kata.glu(torch.empty(64, 512)[:, 128:384])",
    "odd": "kata.glu(torch.empty(63, 202))",
    "transposed": "kata.glu(torch.empty(202, 63).t())",
}


def expected(x: torch.Tensor) -> torch.Tensor:
    """Return what PyTorch says, not rounded."""
    return torch.nn.functional.glu(x.double(), -1)


def check(x: torch.Tensor) -> torch.Tensor:
    """Compare one call with PyTorch; what is rounded once is off by half a unit at most."""
    out = kata.glu(x)
    assert (x.dtype, x.device) == (out.dtype, out.device)
    assert out.is_contiguous()
    rounding = 5e-4 if x.dtype == torch.float16 else 1e-5
    torch.testing.assert_close(out.double(), expected(x), rtol=rounding, atol=1e-7)
    return out


def one(launches: list[Launch]) -> Launch:
    """Return the only launch."""
    assert 1 == len(launches), f"expected one launch of a kernel, found {len(launches)}"
    return launches[0]


def lanes(launch: Launch, kind: str, program: int) -> list[int]:
    """Return the positions in storage that one program touches."""
    found = [
        each.places for each in launch.accesses if (each.kind, each.program) == (kind, program)
    ]
    return sorted(int(place) for places in found for place in places)


def test_one_full_block(device: str) -> None:
    """32 rows of 32 results are 1024: one program, and no lane is masked."""
    check(torch.randn(32, 64, device=device))


@pytest.mark.parametrize("shape", [(1, 2), (3, 10), (1, 600)])
def test_a_block_with_few_elements(device: str, shape: tuple[int, int]) -> None:
    """The lanes that stand for no element touch no memory: tl.load and tl.store take a mask."""
    check(torch.randn(shape, device=device))


@pytest.mark.parametrize("shape", [(2, 1024), (32, 128), (1, 2046), (1, 2048), (1, 2050)])
def test_several_blocks(device: str, shape: tuple[int, int]) -> None:
    """Program p begins at element p * BLOCK of out; sizes around one block and two."""
    check(torch.randn(shape, device=device))


@pytest.mark.parametrize("shape", [(7, 334), (500, 6), (3, 4098), (1025, 2)])
def test_rows_and_columns(device: str, shape: tuple[int, int]) -> None:
    """A block holds parts of many rows, or a part of one: element e of out is in row e // n."""
    check(torch.randn(shape, device=device))


def test_strides(device: str) -> None:
    """A transpose, a slice with steps, a part of a larger matrix: read where they lie."""
    check(torch.randn(60, 33, device=device).t())
    check(torch.randn(50, 90, device=device)[::2, 1:81:2])
    check(torch.randn(40, 100, device=device)[5:35, 20:60])


def test_expanded(device: str) -> None:
    """A stride of 0: all rows, or all columns, are the same elements of storage."""
    check(torch.randn(40, device=device).expand(30, 40))
    check(torch.randn(30, 1, device=device).expand(30, 40))


def test_float16_is_rounded_once(device: str) -> None:
    """Computed in float32: a sigmoid that is rounded to float16 first would show in the product."""
    check(torch.randn(40, 120, device=device, dtype=torch.float16))
    check((torch.randn(120, 40, device=device) * 8).half().t())


@pytest.mark.parametrize("shape", [(0, 6), (5, 0), (0, 0)])
def test_no_elements(device: str, shape: tuple[int, int]) -> None:
    """No block, so no program."""
    assert (shape[0], shape[1] // 2) == check(torch.randn(shape, device=device)).shape


@pytest.mark.cpu
def test_the_result_is_where_x_is() -> None:
    """Whatever device new tensors are made on by default."""
    x = torch.randn(3, 4)
    with torch.device("meta"):
        out = kata.glu(x)
    assert x.device == out.device


@pytest.mark.parametrize("shape", [(3, 5), (4,), (), (2, 3, 4)])
def test_other_shapes_are_an_error(device: str, shape: tuple[int, ...]) -> None:
    """Found before anything is launched."""
    message = f"glu: expected a matrix with an even number of columns, got shape {shape}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kata.glu(torch.randn(shape, device=device))


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


@pytest.mark.cpu
@settings(max_examples=40)
@given(x=matrices())
def test_any_matrix(x: torch.Tensor) -> None:
    """Any shape, any strides, any offset into the storage."""
    check(x)


@pytest.mark.cpu
@pytest.mark.parametrize("shape", [(1, 2), (32, 64), (41, 50), (7, 2000)])
def test_one_launch_of_a_program_per_block(launches: list[Launch], shape: tuple[int, int]) -> None:
    """As many programs as there are blocks, rounded up; program p computes block p."""
    out = check(torch.randn(shape))
    launch = one(launches)
    blocks = -(-out.numel() // BLOCK)

    assert (blocks, 1, 1) == launch.grid, f"{out.numel()} results are {blocks} blocks of {BLOCK}"
    for program in range(blocks):
        block = list(range(out.numel()))[program * BLOCK : (program + 1) * BLOCK]
        stored = lanes(launch, "store", program)
        assert block == stored, (
            f"program {program} computes {block[0]} to {block[-1]} of out, each of them once; it"
            f" stores {len(stored)} elements, {stored[0]} to {stored[-1]}"
        )


@pytest.mark.cpu
@pytest.mark.parametrize("shape", [(1, 2), (41, 50), (7, 2000)])
def test_each_element_moves_once(launches: list[Launch], shape: tuple[int, int]) -> None:
    """One load for each element of x, one store for each of out: what a fused kernel is about."""
    x = torch.randn(shape[::-1]).t()
    out = check(x)
    launch = one(launches)

    assert torch.equal(torch.ones_like(x), launch.count("load", x).float()), (
        f"each element of x is needed once, and is loaded {launch.count('load', x).max()} times"
    )
    others = {access.argument for access in launch.accesses}
    others -= {launch.argument(x), launch.argument(out)}
    assert not others, f"{others} are neither x nor out: the kernel needs no other memory"
    assert not launch.count("load", out).any(), "nothing of out is loaded"
    assert torch.equal(torch.ones_like(out), launch.count("store", out).float())


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
@pytest.mark.parametrize("transposed", [False, True])
def test_the_kernel_does_all_of_it(launches: list[Launch], transposed: bool) -> None:  # noqa: FBT001 - a parameter
    """No other operator than torch.empty: no glu, no copy that makes x contiguous."""
    x = torch.randn(40, 40).t() if transposed else torch.randn(40, 40)
    with Operators() as operators:
        kata.glu(x)

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
def test_a_mask_becomes_predicates(compiled: Callable[..., dict[str, Compiled]], call: str) -> None:
    """On a GPU each load and each store is an instruction that some threads leave out."""
    found = kernel(compiled, call)
    lines = [*found.lines("ld.global"), *found.lines("st.global")]
    always = [line for line in lines if not line.startswith("@%p")]

    assert len(found.lines("ld.global")) >= 2
    assert found.lines("st.global")
    assert [] == always, f"no predicate, so no mask: {always[0]}"


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


@pytest.mark.time_limit(120)
def test_no_shared_memory(compiled: Callable[..., dict[str, Compiled]]) -> None:
    """No element is needed by another thread than the one that loads it."""
    for call in CALLS:
        shared = [line for line in kernel(compiled, call).ptx.splitlines() if ".shared" in line]
        assert [] == shared, f"{call}: {shared[0].strip()}"
