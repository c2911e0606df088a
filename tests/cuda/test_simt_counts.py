"""The counts of a kernel's accesses: what they are, and that they depend on no compiler."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from plugins.cuda.launches import KINDS
from plugins.cuda.launches import SPACES
from plugins.cuda.launches import Launch
from tests.support.compilers import compiler_of
from tests.support.compilers import installed
from tests.support.simulator import KERNELS
from tests.support.simulator import Simulator
from tests.support.simulator import simulator


Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.torch
# How often each thread reads and writes global memory: the kernels of `counts.cu` that do.
GLOBAL = [
    # A statement that reads an address twice reads it once.
    (1, 1, "twice twice_whole three_times square positive positive_whole size rest bits"),
    (1, 1, "no_number within either cases constant lambda bytes longs"),
    (2, 1, "neighbours larger reference references pointer through_max conditions"),
    (2, 1, "doubles_64 halves pairs_of_halves array_made"),
    (3, 1, "distributed"),
    (2, 2, "several_lines"),
    # Another statement reads it again, and so does a function, or a thread that has met others.
    (2, 1, "two_statements two_loops function function_and_element met_between"),
    # On the same line too.
    (2, 1, "two_in_a_line head_and_body"),
    (3, 2, "loop_and_body"),
    (3, 1, "lambda_in_a_line"),
    # What a statement changes it reads once, and what it has stored it need not read.
    (1, 1, "doubles adds_itself counts_up counts_before tested itself"),
    (2, 1, "adds shorts"),
    (2, 2, "swapped std_swapped chained_far"),
    (1, 2, "value_before value_after chained stored_and_used"),
    # Each turn of a loop reads it again.
    (4, 1, "loop same_in_loop largest_in_loop array"),
    (8, 4, "adds_in_loop"),
    (4, 4, "counts_in_loop copied moved"),
    (4, 8, "chained_in_loop"),
    (1, 1, "bound"),
    (3, 3, "unrolled"),
    # A choice reads what is chosen.
    (1, 1, "chosen chosen_place"),
    # Vectors are accesses of all their bytes, but for those of three elements.
    (1, 1, "vector vector_made vector_cast vector_of_doubles"),
    (2, 1, "vector_parts"),
    (1, 2, "vector_of_two"),
    (3, 3, "vector_of_three"),
    # Structures are copied by 4 bytes, or by 8 if they are aligned to as many.
    (2, 2, "pair pair_parts pair_local chosen_pair"),
    (1, 2, "pair_made"),
    (0, 2, "pair_named pair_zero"),
    (2, 1, "bound_parts"),
    (3, 3, "triple small"),
    (4, 4, "four"),
    (1, 4, "four_made"),
    (8, 8, "many"),
    (0, 8, "many_made"),
    (1, 1, "close close_made close_parts one"),
    (2, 2, "wide wide_local complex complex_made"),
    (1, 1, "wide_part"),
    (3, 3, "mixed"),
    # One with a vector in it is copied member by member.
    (3, 3, "body body_local"),
    # So are bytes.
    (0, 4, "set"),
    (16, 16, "copied_far"),
    # A volatile variable is accessed as often as the source says.
    (2, 1, "is_volatile"),
    (1, 1, "volatile_stores hints"),
]
# Kernels whose numbers are in other tests.
OTHERS = {"branch", "shared_sum", "shared_structs", "shared_close", "conflicts", "atomics"}
OTHERS |= {"atomic_value"}
DTYPES = {"bytes": np.uint8, "conditions": np.bool_, "shorts": np.int16, "halves": np.float16}


@cache
def kernels(compiler: str) -> Simulator:
    """Return the kernels, built by the compiler at a path."""
    return simulator("counts.cu", compiler)


@cache
def names() -> tuple[str, ...]:
    """Return the names of all kernels."""
    text = (KERNELS / "counts.cu").read_text(encoding="utf-8")
    found = re.findall(r"^(?:COUNT|LAUNCH)\((\w+),|kata_(\w+)\(int", text, re.MULTILINE)
    return tuple(one or other for one, other in found if one != "NAME")


def launched(built: Simulator, name: str) -> Launch:
    """Run a kernel on whole numbers, and return its launch."""
    memory = np.zeros((2, 2048 + 64), np.float32)
    x, y = (row[(-row.ctypes.data // 4) % 64 :][:2048] for row in memory)
    x[:] = np.random.default_rng(0).integers(-8, 9, 2048)
    if name == "chained_far":
        # Each thread has a place of its own.
        x.view(np.int32)[:] = np.arange(2048)
    if name == "loop_and_body":
        x.view(np.int32)[64] = 1
    if name == "conditions":
        x.view(np.uint8)[:] = 1
    y[:] = 1
    kind = DTYPES.get(name, np.float32)

    problem = built.run(name, 64, x=("in", x.view(kind)), y=("inout", y.view(kind)))

    assert "" == problem
    (launch,) = built.launches()
    return launch


def accesses(launch: Launch, space: str) -> tuple[int, ...]:
    """Return how many reads, writes and atomic operations there are."""
    return tuple(launch.count(space, kind).accesses for kind in KINDS)


def test_each_kernel_has_its_numbers() -> None:
    """In the table, or in a test of its own."""
    listed = [name for *_, group in GLOBAL for name in group.split()]

    assert sorted(names()) == sorted([*listed, *OTHERS])


@pytest.mark.parametrize(
    ("reads", "writes", "name"),
    [(reads, writes, name) for reads, writes, group in GLOBAL for name in group.split()],
)
def test_accesses_to_global_memory(compiler: str, reads: int, writes: int, name: str) -> None:
    """They are those of the source, but for what a statement has read or stored already."""
    launch = launched(kernels(compiler), name)

    assert (64 * reads, 64 * writes, 0) == accesses(launch, "global")


def test_accesses_in_a_branch(compiler: str) -> None:
    """Its head is a statement; the lanes that take it make requests of their own."""
    launch = launched(kernels(compiler), "branch")

    taken = launch.count("global", "write").accesses
    assert 0 < taken < 64
    assert (64 + taken, taken, 0) == accesses(launch, "global")
    assert 2 == launch.count("global", "read").partial


def test_accesses_to_shared_memory(compiler: str) -> None:
    """A tree of 64 values: 63 additions, and what all threads read in the end."""
    launch = launched(kernels(compiler), "shared_sum")
    assert (2 * 63 + 64, 64 + 63, 0) == accesses(launch, "shared")

    launch = launched(kernels(compiler), "conflicts")
    assert (64, 128, 0) == accesses(launch, "shared")
    assert (64, 62) == (
        launch.count("shared", "read").wavefronts,
        launch.count("shared", "read").conflicts,
    )

    # Pairs of 8 bytes, made member by member or copied whole.
    assert (128, 128, 0) == accesses(launched(kernels(compiler), "shared_structs"), "shared")
    launch = launched(kernels(compiler), "shared_close")
    assert (64, 64, 0) == accesses(launch, "shared")
    assert 0 == launch.count("shared").conflicts


@pytest.mark.parametrize(("name", "writes"), [("atomics", 0), ("atomic_value", 64)])
def test_atomic_operations(compiler: str, name: str, writes: int) -> None:
    """Each is counted, on the same address too."""
    assert (0, writes, 128) == accesses(launched(kernels(compiler), name), "global")


@pytest.mark.slow
@pytest.mark.parametrize("other", installed())
def test_counts_depend_on_no_compiler(other: str) -> None:
    """Requests, sectors, wavefronts and conflicts are the same too, in each kernel."""
    chosen = compiler_of("clang") or compiler_of("g++")
    assert chosen
    pair = [kernels(path) for path in (chosen.path, installed()[other].path)]

    for name in names():
        one, two = ([numbers(launched(built, name))] for built in pair)
        # By a choice of two places g++ stores twice, with some lanes each.
        if name != "chosen_place":
            assert one == two, name


def numbers(launch: Launch) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return all counts of a launch."""
    return {(space, kind): launch.count(space, kind).numbers for space in SPACES for kind in KINDS}
