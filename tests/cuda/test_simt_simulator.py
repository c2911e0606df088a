"""The simulator of CUDA kernels, on right kernels and on wrong ones, with both compilers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pytest

from tests.support.simulator import KERNELS
from tests.support.simulator import Simulator
from tests.support.simulator import floats
from tests.support.simulator import line_of
from tests.support.simulator import simulator


if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]


pytestmark = pytest.mark.torch
SEEDS = (0, 1, 2)
N = 200


@pytest.fixture(scope="module")
def right(compiler: str) -> Simulator:
    """Return the kernels that are right."""
    return simulator("right.cu", compiler)


@pytest.fixture(scope="module")
def wrong(compiler: str) -> Simulator:
    """Return the kernels that are wrong."""
    return simulator("wrong.cu", compiler)


def softmax(x: Array) -> Array:
    """Return the softmax of the rows."""
    powers = np.exp(x - x.max(1, keepdims=True))
    quotients: Array = powers / powers.sum(1, keepdims=True)
    return quotients


def layer_norm(x: Array) -> Array:
    """Return the rows with mean 0 and variance 1."""
    normal: Array = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return normal


def compacted(x: Array) -> Array:
    """Return the positive elements, then zeros."""
    kept = x[x > 0]
    return np.concatenate([kept, np.zeros(len(x) - len(kept), np.float32)])


def blurred(x: Array) -> Array:
    """Return a quarter of each neighbour and half of each element; ends are repeated."""
    padded = np.pad(x, 1, mode="edge")
    return 0.25 * padded[:-2] + 0.5 * x + 0.25 * padded[2:]


def stencil(x: Array) -> Array:
    """Return the sums of three neighbours; the ends stay."""
    return np.concatenate([x[:1], x[:-2] + x[1:-1] + x[2:], x[-1:]])


VECTORS: dict[str, Callable[[Array], Array]] = {
    "copy4": lambda x: x,
    "tree_sum": lambda x: x.sum(keepdims=True),
    "two_launches": lambda x: x.sum(keepdims=True),
    "last_block": lambda x: x.sum(keepdims=True),
    "scan": np.cumsum,
    "warp_scan": lambda x: np.concatenate([np.cumsum(x[i : i + 32]) for i in range(0, N, 32)]),
    "stencil": stencil,
    "compact": compacted,
    "blur": blurred,
    "magnitude": lambda x: abs(x / 16),
    "points": lambda x: x + x.reshape(-1, 2)[::-1, ::-1].reshape(-1),
    "through_half": lambda x: x.astype(np.float16).astype(np.float32),
}
MATRICES: dict[str, Callable[[Array], Array]] = {
    "transpose": lambda x: x.T.copy(),
    "softmax": softmax,
    "layer_norm": layer_norm,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", VECTORS)
def test_a_right_kernel_on_a_vector(right: Simulator, name: str, seed: int) -> None:
    """It computes what NumPy does, in any order of blocks and threads, and has no fault."""
    x = floats(N, seed) + np.float32(0.001) * (name == "through_half")
    expected = VECTORS[name](x)
    y = np.full(expected.shape, np.nan, np.float32)

    assert "" == right.run(name, N, seed, x=("in", x), y=("out", y))
    np.testing.assert_array_equal(expected, y)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MATRICES)
def test_a_right_kernel_on_a_matrix(right: Simulator, name: str, seed: int) -> None:
    """It computes what NumPy does, for a size that is no multiple of a tile or a warp."""
    x = floats(45 * 45, seed).reshape(45, 45)
    y = np.full((45, 45), np.nan, np.float32)

    assert "" == right.run(name, 45, seed, x=("in", x), y=("out", y))
    np.testing.assert_allclose(y, MATRICES[name](x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_right_kernels_with_other_arguments(right: Simulator, seed: int) -> None:
    """A buffer that is read and written, two inputs, integers, votes of a block."""
    x, y = floats(N, seed), floats(N, seed + 1)
    expected = 2 * x + y
    assert "" == right.run("axpy", N, seed, x=("in", x), y=("inout", y))
    np.testing.assert_array_equal(expected, y)

    a, b = floats(35 * 35, seed).reshape(35, 35), floats(35 * 35, seed + 1).reshape(35, 35)
    c = np.empty((35, 35), np.float32)
    assert "" == right.run("matmul", 35, seed, a=("in", a), b=("in", b), c=("out", c))
    np.testing.assert_array_equal(a @ b, c)

    values = np.random.default_rng(seed).integers(0, 16, N).astype(np.int32)
    bins = np.empty(16, np.int32)
    assert "" == right.run("histogram", N, seed, x=("in", values), bins=("out", bins))
    np.testing.assert_array_equal(np.bincount(values, minlength=16), bins)

    counts = np.empty(2, np.int32)
    assert "" == right.run("count_positive", 90, seed, x=("in", x), counts=("out", counts))
    positive = np.flatnonzero(x[:90] > 0)
    last = positive[positive >= 64]
    assert [len(positive), last.max() if len(last) else 0] == counts.tolist()


@dataclass(frozen=True)
class Fault:
    """The message about a kernel: its beginning, and words that are in it."""

    begins: str
    words: tuple[str, ...] = ()
    # Whether it is one only if the test asks for more than a GPU does.
    strict: bool = False


BARRIER = " stands between the two: either may come first."
FAULTS = {
    # The lanes of a warp run one after the other: the uninitialised read may show first.
    "no_barrier": Fault("", ("tile[", "__syncthreads()")),
    "no_second_barrier": Fault("race in kernel", ("tile[", "No __syncthreads()")),
    "tile_filled_too_early": Fault("race in kernel", ("tile[", BARRIER)),
    "no_syncwarp": Fault("", ("tile[", "__syncthreads()")),
    "shuffle_is_no_barrier": Fault("race in kernel", ("tile[", "or __syncwarp()")),
    "plain_sum": Fault("race in kernel", ("y[0]", "Nothing orders two blocks", "atomicAdd")),
    "counts_without_atomics": Fault("race in kernel", ("counts[1]", "A barrier does not help")),
    "counts_in_two_steps": Fault("race in kernel", ("counts[1]", "If each adds to it, use an")),
    "no_fence": Fault("race in kernel", ("y[", "Nothing orders two blocks")),
    "atomic_and_plain": Fault("race in kernel", ("y[0]", "changes (atomically)")),
    "zeroes_while_adding": Fault("race in kernel", ("y[0]", "Nothing orders two blocks")),
    "barrier_in_branch": Fault("divergent barrier", ("32 threads", "All threads of a block")),
    "returns_early": Fault(
        "divergent barrier", ("60 threads", "returned", "stricter than a GPU"), strict=True
    ),
    "past_the_end": Fault("out of bounds", ("reads x[", "x has 64 elements of 4 bytes")),
    "pair_past_the_end": Fault("out of bounds", ("reads x[64]", "x has 64 elements of 4 bytes")),
    "copies_past_the_end": Fault("out of bounds", ("reads x[64]",)),
    "before_the_start": Fault("out of bounds", ("reads x[-1]",)),
    "past_the_tile": Fault("out of bounds", ("writes tile[", "tile has 32 elements")),
    "null_pointer": Fault("out of bounds", ("The pointer is null",)),
    "misaligned": Fault("misaligned access", ("16 bytes at x[",)),
    "unwritten_shared": Fault("uninitialised read", ("tile[0]", "No thread of this block")),
    "adds_to_nothing": Fault("uninitialised read", ("reads y[", "It was never written")),
    "mask_without_me": Fault("absent lane", ("The mask does not name the lane",)),
    "reads_who_left": Fault("absent lane", ("That lane has returned",)),
    "reads_no_lane": Fault("absent lane", ("The block has no such thread",)),
    "shuffle_in_branch": Fault("absent lane", ("waits in __shfl_xor_sync", "in __syncthreads")),
    "endless": Fault("endless in kernel", ("0.5 s of processor time",)),
    "endless_without_memory": Fault("endless in kernel", ("without touching memory",)),
    "changes_input": Fault("input changed", ("x is an input",)),
    "leaves_some": Fault("output not written: 1 of the 64 elements of y, the first is y[5]"),
    "launches_nothing": Fault("launch refused", ("The grid has no blocks",)),
    "too_many_threads": Fault("launch refused", ("1025 threads; 1024 are possible",)),
    "too_deep": Fault("launch refused", ("65 threads along z",)),
    "too_many_blocks": Fault("launch refused", ("65536",)),
    "too_much_dynamic": Fault("launch refused", ("50000 bytes of dynamic shared memory",)),
    "too_much_static": Fault("too much shared memory", ("49156 bytes with tile",)),
    "too_much_of_both": Fault("too much shared memory", ("256 bytes with tile, and 49152",)),
    "unused_bytes": Fault("unused shared memory: fine<<<(1,1,1), (64,1,1)>>>"),
    "never_freed": Fault("device memory is not freed: 64 elements of 4 bytes"),
    "host_reads": Fault("host code touches device memory", ("the host reads x[0]",)),
    "uses_freed": Fault("out of bounds"),
    "copies_to_host": Fault("copy to the host: a cudaMemcpy of x"),
    "copies_as_if_on_host": Fault("copy to the host"),
    "races_on_a_variable": Fault("race in kernel", ("everybodys", "atomicAdd")),
    "copies_too_much": Fault("invalid argument"),
}
# Faults that have no line.
PLACELESS: tuple[str, ...] = ("leaves", "launches", "too_", "endless_without", "never", "unused")
PLACELESS += ("copies_to", "copies_as", "copies_too")


@pytest.mark.parametrize(
    ("name", "seed"),
    # What never ends takes its time, and has one thread: there is no other order.
    [(name, seed) for name in FAULTS for seed in SEEDS if not (seed and "endless" in name)],
)
def test_a_wrong_kernel_is_named(wrong: Simulator, name: str, seed: int) -> None:
    """The fault, the kernel, the block, the thread and the line, in any order of threads."""
    fault = FAULTS[name]
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)

    problem = wrong.run(name, 64, seed, strict=fault.strict, x=("in", x), y=("out", y))

    assert problem.startswith(fault.begins)
    for words in fault.words:
        assert words in problem
    if not name.startswith(PLACELESS):
        assert f"\n  wrong.cu:{line_of('wrong.cu', name)}  " in problem
    whole = ("launch", "output", "host", "invalid", "device", "copy", "shared", "unused")
    if not problem.startswith(whole):
        assert f" in kernel {name}, block (" in problem


def test_a_block_may_wait_for_another_in_any_order(wrong: Simulator) -> None:
    """Blocks run one after the other, but one that only waits stands aside."""
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)

    problem = [
        wrong.run("waits_for_a_block", 64, seed, x=("in", x), y=("out", y)) for seed in (0, 1)
    ]

    assert ["", ""] == problem


def test_an_error_that_the_source_asks_for_is_no_fault(wrong: Simulator) -> None:
    """After cudaGetLastError() it may launch again, smaller."""
    x, y = floats(64), np.zeros(64, np.float32)

    assert "" == wrong.run("asked_for", 64, x=("in", x), y=("out", y))
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", ["past_a_row"])
def test_some_faults_are_not_seen(wrong: Simulator, name: str) -> None:
    """In an array of arrays a row may overflow."""
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)

    assert "" == wrong.run(name, 64, x=("in", x), y=("out", y))


def aligned(n: int) -> Array:
    """Return a square matrix that begins at a multiple of 64 bytes, as PyTorch's do."""
    memory = np.zeros(n * n + 16, np.float32)
    return memory[(-memory.ctypes.data // 4) % 16 :][: n * n].reshape(n, n)


def test_counts_of_a_coalesced_and_of_a_transposed_access(right: Simulator) -> None:
    """Aligned rows: 4 sectors per request; a padded tile: one wavefront per request."""
    x, y = aligned(64), aligned(64)

    assert "" == right.run("transpose", 64, x=("in", x), y=("out", y))

    (launch,) = right.launches()
    assert ("transpose", (2, 2, 1), (32, 8, 1), 4) == (
        launch.kernel,
        launch.grid,
        launch.block,
        launch.barriers,
    )
    assert 1024 == launch.threads
    for kind in ("read", "write"):
        moved = launch.count("global", kind)
        assert (4096, 128, 512, 0) == (
            moved.accesses,
            moved.requests,
            moved.sectors,
            moved.partial,
        )
    shared = launch.count("shared")
    assert (8192, 256, 256, 0) == (
        shared.accesses,
        shared.requests,
        shared.wavefronts,
        shared.conflicts,
    )
    assert "right.cu:" in launch.table()
    with pytest.raises(ValueError, match="expected a space"):
        launch.count("local")


def test_launches_are_counted_apart(right: Simulator) -> None:
    """Even if the second begins with the line that the first ended with."""
    x, y = floats(N), np.zeros(N, np.float32)

    assert "" == right.run("magnitude", N, x=("in", x), y=("out", y))

    first, second = right.launches()
    assert first.lines == second.lines
    assert N == first.count("global", "write").accesses


def test_counts_of_atomics_and_of_lanes_that_do_not_take_part(right: Simulator) -> None:
    """One per thread in shared memory, one per bin and block in global memory."""
    values = np.zeros(90, np.int32)
    bins = np.empty(16, np.int32)

    assert "" == right.run("histogram", 90, x=("in", values), bins=("out", bins))

    (launch,) = right.launches()
    assert 90 == launch.count("shared", "atomic").accesses
    assert 16 * 4 == launch.count("global", "atomic").accesses
    assert 0 < launch.count("shared", "atomic").partial
    assert 2 * 4 == launch.barriers
    assert 4 == launch.storing_blocks


def test_idle_threads_are_counted_apart(right: Simulator) -> None:
    """Threads beyond the end of the data neither load nor store."""
    x, y = floats(N), np.zeros(N, np.float32)

    assert "" == right.run("magnitude", N, x=("in", x), y=("out", y))

    for launch in right.launches():
        assert launch.threads >= launch.active_threads == N
        assert math.prod(launch.grid) == launch.storing_blocks


def test_the_page_about_the_simulator_names_every_example() -> None:
    """It lists each fault with its message, and the examples that are not seen."""
    page = (KERNELS.parents[1] / "plugins/cuda/csrc/README.md").read_text(encoding="utf-8")

    reported, _, not_seen = page.partition("## What is not seen")
    named = set(re.findall(r"`([a-z_]+)`", reported))
    assert set(FAULTS) <= named
    for name, fault in FAULTS.items():
        row = next(line for line in reported.splitlines() if f"`{name}`" in line)
        head = fault.begins.partition(":")[0]
        assert head.removesuffix(" in kernel") in row, name
    assert {"past_a_row"} <= set(re.findall(r"`([a-z_]+)`", not_seen))
