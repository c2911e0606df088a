"""Tests of k04_strided: a kernel that reads views through their sizes and strides."""

from __future__ import annotations

import math
import re
from itertools import chain
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas import source
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.kit import CudaExtension
    from plugins.kit import Launch
    from plugins.kit import Ptx


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Names that the compiler knows, and names of types and conversions.
CONSTANT = re.compile(r"\bconstexpr\s+[\w:]+\s+(\w+)|#define\s+(\w+)|[<,]\s*int\s+(\w+)(?=\s*[>,])")
WORDS = {"int", "unsigned", "long", "size_t", "int64_t", "static_cast"}
# Pointers to floats, and shared arrays.
MEMORY = re.compile(r"\bfloat\s*\*\s*(?:__restrict__\s*)?(\w+)|__shared__[\w\s]*\s(\w+)\s*\[")
FOR = re.compile(r"\bfor\s*\(\s*(?:[\w:]+\s+)*?(\w+)\s*=\s*([^;]*);([^;]*);")
DECLARED = re.compile(r"\bint\s+(\w+)\s*=\s*([^;,]*);")
ELEMENT = re.compile(r"(\.\s*|->\s*)?\b([A-Za-z_]\w*)\s*((?:\[[^\[\]]*\]\s*)+)")


def numbers(*shape: int, device: str = "cpu") -> torch.Tensor:
    """Return a contiguous tensor of whole numbers, whose differences are exact."""
    return torch.randint(-999, 1000, shape, dtype=torch.float32, device=device)


def check(extension: CudaExtension, x: torch.Tensor, y: torch.Tensor) -> None:
    """Compare one call with x - y."""
    expected = x - y
    with unchanged(x=x, y=y):
        actual = extension.op("sub")(x, y)
    wrong = ((expected != actual) & ~(expected.isnan() & actual.isnan())).nonzero().tolist()
    assert [] == wrong, (
        f"{len(wrong)} of {x.numel()} elements are wrong, the first is out{wrong[0]}:"
        f" {actual[tuple(wrong[0])].item():g}, expected {expected[tuple(wrong[0])].item():g};"
        f" sizes {tuple(x.shape)}, strides of out {actual.stride()}, of x {x.stride()},"
        f" of y {y.expand_as(x).stride()}"
    )


def indices_of_the_run(text: str) -> list[str]:
    """Return the array elements in device code whose index is not a constant.

    The variable of an unrolled loop is a constant in each step, if the loop begins at a constant
    and has a constant bound. The memory of tensors, and shared memory, are not in registers.
    """
    code = COMMENT.sub(" ", text)
    device = "\n".join(bodies(code))
    constants = {*WORDS, *chain(*CONSTANT.findall(code))}
    memory = {*chain(*MEMORY.findall(code))}
    counted: set[str] = set()
    running: set[str] = set()
    for variable, first, condition in FOR.findall(device):
        bounds = [names_in(part) <= {variable, *constants} for part in condition.split("&&")]
        known = names_in(first) <= constants and any(bounds)
        (counted if known else running).add(variable)
    constants |= counted - running
    for variable, first in DECLARED.findall(device):
        changes = re.findall(
            rf"(?:--|\+\+)\s*{variable}\b|\b{variable}\s*(?:[-+*/%]?=(?!=)|--|\+\+)", device
        )
        if names_in(first) <= constants and len(changes) == 1:
            constants.add(variable)
    return [
        f"{member}{name}[{index}]"
        for member, name, indices in ELEMENT.findall(device)
        for index in re.findall(r"\[([^\[\]]*)\]", indices)
        if (member or name not in memory) and names_in(index) - constants
    ]


def bodies(code: str) -> Iterator[str]:
    """Yield the functions for the device, from the brace on."""
    for match in re.finditer(r"__(?:global|device)__[^;{]*\{", code):
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        yield code[match.end() - 1 : end]


def names_in(code: str) -> set[str]:
    """Return the names in a piece of code."""
    return {*re.findall(r"\b[A-Za-z_]\w*", code)}


def launched(extension: CudaExtension, x: torch.Tensor, y: torch.Tensor) -> Launch:
    """Check one call, and return its only launch."""
    check(extension, x, y)
    launches = extension.launches()
    tables = "\n".join(launch.table() for launch in launches)
    assert 1 == len(launches), f"expected one launch, found {len(launches)}\n{tables}"
    return launches[0]


def test_contiguous_tensors(extension: CudaExtension, device: str) -> None:
    """The stride of the last dim is 1, and every other stride the product of the sizes after it."""
    check(extension, numbers(7, device=device), numbers(7, device=device))
    check(extension, numbers(2, 3, 4, device=device), numbers(2, 3, 4, device=device))


def test_every_other_element(extension: CudaExtension, device: str) -> None:
    """A vector may have a stride; the result is contiguous."""
    check(extension, numbers(14, device=device)[::2], numbers(21, device=device)[::3])


def test_part_of_a_matrix(extension: CudaExtension, device: str) -> None:
    """The row stride of a slice comes from the whole matrix, not from the width of the slice."""
    x, y = numbers(9, 10, device=device), numbers(4, 8, device=device)
    check(extension, x[2:8:2, 3:9], y[1:, 1:7])
    # Equal strides do not imply contiguous tensors.
    check(extension, x[2:5, 3:9], x[5:8, 2:8])
    check(extension, *numbers(2, 2, 70_000, device=device)[:, :, ::69_999])


@pytest.mark.parametrize("which", ["x", "y", "both"])
def test_transposed(extension: CudaExtension, device: str, which: str) -> None:
    """Indices, not offsets, say which elements belong together: x[i, j] and y[i, j]."""
    x, y = numbers(5, 3, device=device), numbers(5, 3, device=device)
    if which != "y":
        x = numbers(3, 5, device=device).t()
    if which != "x":
        y = numbers(3, 5, device=device).t()
    check(extension, x, y)


@pytest.mark.parametrize("shape", [(1, 4), (3, 1), (4,), (1, 1), ()])
def test_expanded(extension: CudaExtension, device: str, shape: tuple[int, ...]) -> None:
    """Broadcasting gives strides of 0: one element of memory appears at many indices."""
    check(extension, numbers(3, 4, device=device), numbers(*shape, device=device))
    check(extension, numbers(*shape, device=device).expand(3, 4), numbers(3, 4, device=device))


def test_no_dims(extension: CudaExtension, device: str) -> None:
    """A tensor without dims has one element, at offset 0."""
    check(extension, numbers(device=device), numbers(device=device))
    check(extension, numbers(3, 4, device=device)[1, 2], numbers(5, device=device)[3])


def test_sizes_of_one(extension: CudaExtension, device: str) -> None:
    """The stride of a dim of size 1 may be any number, and is never used."""
    memory = numbers(30, device=device)
    x = memory.as_strided((1, 4, 1, 2), (777, 3, 555, 13), 1)
    check(extension, x, numbers(4, 1, 2, device=device))


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_five_dims(extension: CudaExtension, device: str, order: tuple[int, ...]) -> None:
    """Five dims, the most allowed, have five different sizes."""
    sizes = [6, 2, 5, 3, 4]
    x = numbers(*sizes, device=device).permute(order)
    y = numbers(*(x.size(dim) for dim in (4, 3, 2, 1, 0)), device=device).permute(4, 3, 2, 1, 0)
    check(extension, x, y)


def layout(sizes: Sequence[int], draw: st.DrawFn) -> torch.Tensor:
    """Return a tensor of these sizes: permuted, sliced in steps, expanded, as drawn."""
    order = draw(st.permutations(range(len(sizes))))
    steps = [draw(st.integers(1, 3)) for _ in sizes]
    starts = [draw(st.integers(0, 2)) for _ in sizes]
    kept = [1 if draw(st.integers(0, 4)) == 0 else size for size in sizes]
    whole = [starts[dim] + kept[dim] * steps[dim] for dim in order]
    tensor = numbers(*whole)
    for place, dim in enumerate(order):
        last = starts[dim] + kept[dim] * steps[dim]
        tensor = tensor[(slice(None),) * place + (slice(starts[dim], last, steps[dim]),)]
    inverse = sorted(range(len(sizes)), key=order.__getitem__)
    return tensor.permute(inverse).expand(sizes)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw two tensors of one shape whose layouts have nothing to do with each other."""
    sizes = draw(st.lists(st.integers(0, 5), max_size=5))
    return layout(sizes, draw), layout(sizes, draw)


@given(pair=pairs())
def test_any_layout(extension: CudaExtension, pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Test any sizes, any order of the dims, steps, offsets and expanded dims."""
    check(extension, *pair)


def test_special_values_are_subtracted_like_others(extension: CudaExtension, device: str) -> None:
    """No element is skipped: inf - inf is NaN and x - x is +0, to the bit, and denormals stay."""
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**-149, -(2.0**-140), 1.0]
    x = torch.tensor(special, device=device)[:, None].expand(-1, len(special))
    check(extension, x, x)
    actual, expected = extension.op("sub")(x, x.t()), x - x.t()
    for one, other in ((actual, expected), (1 / actual, 1 / expected)):  # 1 / -0.0 is -inf
        wrong = ((one != other) & ~(one.isnan() & other.isnan())).nonzero().tolist()
        assert [] == wrong, (
            f"yours differs from PyTorch's x - y on special values, first where x is"
            f" {special[wrong[0][0]]} and y {special[wrong[0][1]]}:"
            f" yours {actual[tuple(wrong[0])].item()}, PyTorch's {expected[tuple(wrong[0])].item()}"
        )


@pytest.mark.parametrize("rows", [64, 65, 200])
def test_a_thread_goes_on_to_further_elements(
    extension: CudaExtension, device: str, rows: int
) -> None:
    """With as many elements as threads, or more, the loop goes on in steps of the whole grid."""
    x = numbers(256, rows, device=device).t()
    check(extension, x, numbers(rows, 1, device=device))
    check(extension, numbers(70_000, device=device), numbers(1, device=device))


def test_each_element_is_read_and_written_once(extension: CudaExtension) -> None:
    """The kernel makes 2 n loads and n stores: sizes and strides are arguments, not loaded."""
    x = numbers(8, 4, 7, 3, 64).permute(4, 1, 3, 0, 2)
    launch = launched(extension, x, numbers(7))
    assert 2 * x.numel() == launch.count("global", "read").accesses, (
        f"expected {2 * x.numel()} loads, one of x and one of y for each element\n{launch.table()}"
    )
    assert x.numel() == launch.count("global", "write").accesses, (
        f"expected {x.numel()} stores, one for each element\n{launch.table()}"
    )


def test_neighbouring_threads_take_neighbours_of_the_last_dim(extension: CudaExtension) -> None:
    """In contiguous tensors the 32 floats of a warp are 4 sectors of 32 bytes."""
    shape = (3, 7, 1024)
    launch = launched(extension, numbers(*shape), numbers(*shape))
    moved = launch.count("global")
    assert 4 * moved.requests == moved.sectors, (
        f"{moved.sectors / moved.requests:.1f} sectors per request of a warp, 4 would do: which"
        f" elements do threads 0 to 31 touch at the same time?\n{launch.table()}"
    )


@pytest.mark.parametrize("grid", [1, 3])
def test_the_kernel_is_right_for_any_grid(extension: CudaExtension, grid: int) -> None:
    """A grid-stride loop covers all elements, however few blocks there are."""
    with extension.simulated(grid=grid):
        check(extension, numbers(40, 50).t(), numbers(50, 40))


def test_indices_are_known_when_the_kernel_is_compiled(extension: CudaExtension) -> None:
    """Array indices in the source are constants, or count a loop with a constant bound."""
    check(extension, numbers(4, 5).t(), numbers(5, 4))
    found = indices_of_the_run(source("katas.lecture09", "csrc/k04_strided.cu").read_text("utf-8"))
    assert not found, (
        f"your code uses {', '.join(found)}, whose index is known only at run time:"
        " registers cannot be indexed, so sizes and strides are copied to local memory. Let the"
        " loop over dims have a constant bound, and leave it or skip a step inside"
    )


@pytest.mark.backend("nvcc")
def test_nvcc_needs_no_local_memory(ptx: Ptx) -> None:
    """Compiled for a GPU, no array is indexed by a value known only at run time."""
    assert ptx.count("ld.global*"), f"no ld.global, expected loads:\n{ptx.table()}"
    local = ptx.count("ld.local*", "st.local*")
    assert 0 == local, (
        f"{local} loads and stores of local memory: sizes and strides were copied to where they can"
        f" be indexed; unroll the loop over dims\n{ptx.table()}"
    )
