"""What the simulator supports of CUDA, each with kernels that are right and kernels that are wrong.

``python -m tests.cuda.features`` writes the table of ``plugins/cuda/csrc/README.md`` anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from plugins import ROOT


if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

README = ROOT / "plugins/cuda/csrc/README.md"
BEGIN, END = "<!-- features: begin -->\n", "<!-- features: end -->\n"


@dataclass(frozen=True)
class Fault:
    """The message about a kernel: its beginning, and words that are in it.

    `placed` says whether it names the line that is marked WRONG.
    """

    begins: str
    words: tuple[str, ...] = ()
    placed: bool = True


@dataclass(frozen=True)
class Feature:
    """A row of the table.

    Attributes
    ----------
    name
        What a kernel may use, in Markdown.
    source
        The file with its kernels.
    right
        What each right kernel makes of 64 numbers.
    wrong
        The fault of each wrong kernel.
    sanitizer
        What NVIDIA's compute-sanitizer calls the faults, by its documentation.
    strict
        Whether the wrong kernels are faults only if a test asks for more than a GPU does.
    """

    name: str
    source: str
    right: dict[str, Callable[[Array], Any]]
    wrong: dict[str, Fault]
    sanitizer: str
    strict: bool = False


def half(x: Any) -> Any:
    """Round to half precision, and compute on in float."""
    return np.float32(np.float16(x))


def half_operators(x: Array) -> Array:
    """Return what `half_operators` computes, each step rounded once."""
    a, b = x.astype(np.float16), np.float16(0.1)
    fused = half(a.astype(np.float64) * float(b) + 1.0).astype(np.float16)
    a = a * b + fused
    a = a + b
    kept: Array = a.astype(np.float32)
    return kept


def bfloat(x: Array) -> Array:
    """Round to nearest even among the numbers with 8 significant bits."""
    bits = x.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def bfloat_operators(x: Array) -> Array:
    """Return the products of neighbours."""
    a = bfloat(x + np.float32(0.01))
    return bfloat(a * a.reshape(-1, 2)[:, ::-1].reshape(-1))


def warp_sums(x: Array) -> Array:
    """Return the sum of each 32 elements, 32 times."""
    return np.repeat(x.reshape(2, 32).sum(1), 32)


def tile_values(x: Array) -> Array:
    """Return the sum and the greatest of each 16 elements."""
    tiles = x.reshape(4, 16)
    return np.repeat(tiles.sum(1) + tiles.max(1), 16)


def products(x: Array) -> Array:
    """Return twice the first 64 elements of a matrix times its transpose."""
    a = np.resize(x, (16, 16))
    kept: Array = 2 * (a @ a.T).reshape(-1)[:64]
    return kept


def of_shape(m: int, n: int, k: int) -> Callable[[Array], Array]:
    """Return what a product of that size leaves of 64 numbers, which are small and whole first."""

    def expected(x: Array) -> Array:
        whole = np.trunc(4 * x)
        a = np.resize(whole, (m, k))
        b = np.resize(whole[::-1], (k, n))
        kept: Array = (a @ b).reshape(-1)[:64]
        return kept

    return expected


def eighth(x: Any, bits: int, least: int, most: float) -> Any:
    """Round to so many significant bits, to nearest even, and to multiples of the least of them."""
    exponent = np.maximum(np.floor(np.log2(np.maximum(np.abs(x), 1e-30))), least)
    step = 2.0 ** (exponent - bits + 1)
    return np.clip(np.round(np.float64(x) / step) * step, -most, most)


def intrinsics(x: Array) -> Array:
    """Return the sum of what `intrinsics` calls."""
    i = np.arange(64)
    whole = 3 * i + 8 + 2 - 1 + 1 + 2 + 12 + 5 + 63 + 4 + 1
    return 3 * x + x / 2 + 2 + 0.5 + whole


RACE, UNWRITTEN = "race in kernel", "uninitialised read in kernel"
USELESS = "Nothing that the kernel leaves depends on the value"
FEATURES = (
    Feature(
        "`cooperative_groups`: block, tiles, shuffles, `reduce`, scans",
        "groups.cu",
        {
            "group_sum": lambda x: np.full(64, x.sum()),
            "group_reduce": tile_values,
            "group_scan": lambda x: x,
            "tile_sync": lambda x: x.reshape(-1, 4)[:, ::-1].reshape(-1),
            "any_group": lambda x: x.reshape(-1, 2)[:, ::-1].reshape(-1),
            "wide_tile": lambda x: np.full(64, x.sum()),
        },
        {
            "no_tile_sync": Fault("", ("part[",)),
            "tile_too_small": Fault("", ("part[",)),
            "reduce_is_no_barrier": Fault("", ("part[",)),
            "wide_tile_is_no_barrier": Fault(RACE, ("part[",)),
            "tile_in_branch": Fault("absent lane in kernel", ("in __syncthreads",)),
            "block_sync_in_branch": Fault("divergent barrier in kernel", ("32 threads",)),
        },
        "racecheck: hazard; synccheck: divergent thread(s) in warp, in block",
    ),
    Feature(
        "`coalesced_threads`, `binary_partition`, `labeled_partition`",
        "groups.cu",
        {
            "coalesced": lambda x: np.full(64, (x > 0).sum()),
            "binary_groups": lambda x: np.concatenate(
                [np.where(p > 0, (p > 0).sum(), (p <= 0).sum()) for p in x.reshape(2, 32)]
            ),
            "coalesced_exchange": lambda x: np.where(
                np.arange(64) % 2 == 0, x[np.arange(64) ^ 2], 0
            ),
        },
        {"no_coalesced_sync": Fault("", ("all[",))},
        "racecheck: hazard",
    ),
    Feature(
        "`grid.sync()` of a cooperative launch",
        "groups.cu",
        {"across_the_grid": lambda x: 2 * (x[::-1] + x)},
        {
            "no_grid_sync": Fault("", ("scratch[",)),
            "not_cooperative": Fault("no cooperative launch in kernel"),
            "grid_sync_in_branch": Fault("divergent barrier in kernel", ("in grid.sync",)),
            "too_large_together": Fault("launch refused", ("has room for 16",), placed=False),
        },
        "racecheck sees shared memory only; a wait without end",
    ),
    Feature(
        "`half`, `half2`, `__nv_bfloat16`, `__nv_bfloat162`",
        "sixteen.cu",
        {
            "half_operators": half_operators,
            "half_pairs": lambda x: 4 * x,
            "half_shuffle": warp_sums,
            "bfloat_operators": bfloat_operators,
            "half_atomics": lambda x: np.full(64, x.sum()),
        },
        {
            "half_no_barrier": Fault("", ("all[",)),
            "half_past_the_end": Fault("out of bounds in kernel", ("writes all[64]",)),
            "half_misaligned": Fault("misaligned access in kernel", ("4 bytes at all[1]",)),
            "half_sum_without_atomics": Fault(RACE, ("sum", "atomicAdd")),
        },
        "racecheck: hazard; memcheck: invalid access, misaligned access",
    ),
    Feature(
        "`__ldg`, `__ldca`, `__ldcg`, `__ldcs`, `__ldcv`, `__stcg`, `__stcs`, `__stwb`, `__stwt`",
        "order.cu",
        {"cache_hints": lambda x: 4 * x, "wide_hints": lambda x: x},
        {
            "hint_past_the_end": Fault("out of bounds in kernel", ("reads x[64]",)),
            "hint_is_no_order": Fault("", ("y[",)),
        },
        "memcheck: invalid access",
    ),
    Feature(
        "a fence and an atomic operation hand over to another block",
        "order.cu",
        {
            "last_block": lambda x: np.full(64, x.sum()),
            "fence_for_all": lambda x: 2 * x,
        },
        {
            "last_without_fence": Fault(RACE, ("parts[", "Nothing orders two blocks")),
            "fence_afterwards": Fault(RACE, ("parts[", "Nothing orders two blocks")),
            "last_by_two_variables": Fault(RACE, ("parts[", "Nothing orders two blocks")),
            "fence_of_a_block": Fault(RACE, ("parts[", "Nothing orders two blocks")),
        },
        "no tool does: racecheck sees shared memory only",
    ),
    Feature(
        "`volatile` variables to wait for; blocks that wait for others, if there is room for all",
        "order.cu",
        {
            "waits_for_a_block": lambda x: np.concatenate([x[:32], np.full(32, x[0])]),
            "waits_its_turn": lambda x: (
                x + np.repeat(np.cumsum([0, *x.reshape(4, 16).sum(1)[:3]]), 16)
            ),
            "waits_for_all": lambda x: 2 * x.reshape(4, 16)[:, ::-1].reshape(-1) + x[::-1],
            "lock_by_volatile": lambda x: x,
            "flag_between_warps": lambda x: np.concatenate([x[:32], np.full(32, x[0])]),
        },
        {
            "volatile_without_fence": Fault(RACE, ("given[0]", "Nothing orders two blocks")),
            "volatile_sum": Fault(RACE, ("volatile_total[0]", "atomicAdd")),
            "volatile_in_a_warp": Fault(RACE, ("all[", "__syncwarp()")),
            "waits_for_no_one": Fault("endless in kernel"),
        },
        "no tool does between blocks; racecheck: hazard",
    ),
    Feature(
        "a plain load before an `atomicCAS` that compares the value",
        "order.cu",
        {"adds_by_comparing": lambda x: np.repeat(x.reshape(4, 16).sum(1), 16)},
        {
            "uses_before_adding": Fault(RACE, ("in_float[0]", "changes (atomically)")),
            "compares_another": Fault(RACE, ("in_float[0]", "changes (atomically)")),
        },
        "racecheck: hazard",
    ),
    Feature(
        "`__device__` and `__constant__` variables, as the source has them at every run",
        "runtime.cu",
        {
            "symbols": lambda x: 3 * x + 5,
            "symbols_again": lambda x: 0 * x,
        },
        {"symbol_past_the_end": Fault("invalid argument", placed=False)},
        "memcheck: an error of the API",
    ),
    Feature(
        "`cuda::atomic`, `cuda::atomic_ref`, `cuda::atomic_thread_fence`",
        "order.cu",
        {
            "last_by_atomic_ref": lambda x: np.full(64, x.sum()),
            "lock_by_atomic": lambda x: np.full(64, x[0] + x[32]),
            "atomic_greatest": lambda x: np.full(64, np.trunc(x).max()),
        },
        {
            "relaxed_atomic_ref": Fault(RACE, ("parts[", "Nothing orders two blocks")),
            "relaxed_lock": Fault(RACE, ("sum",)),
        },
        "no tool does between blocks; racecheck: hazard",
    ),
    Feature(
        "`__device__` variables, changed by kernels",
        "order.cu",
        {"counts_into_variable": lambda x: np.full(64, (x > 0).sum())},
        {
            "sums_into_variable": Fault(RACE, ("total[0]", "atomicAdd")),
            "past_a_variable": Fault("out of bounds in kernel", ("parts has 8 elements",)),
            "changes_a_constant": Fault("a variable of the source is changed in kernel"),
        },
        "memcheck: invalid access",
    ),
    Feature(
        "shared arrays: `extern` or not, any order of the words, `alignas`, rows, file scope",
        "order.cu",
        {
            "static_spellings": lambda x: 6 * x[::-1],
            "dynamic_spellings": lambda x: x[::-1] + x,
        },
        {
            "file_scope_no_barrier": Fault("", ("at_file_scope[",)),
            "past_dynamic": Fault("out of bounds in kernel", ("has 64 elements",)),
        },
        "racecheck: hazard; memcheck: invalid access",
    ),
    Feature(
        "lanes of one warp store the same value",
        "order.cu",
        {"same_value": lambda x: np.full(64, x[0])},
        {
            "other_values": Fault(RACE, ("any",)),
            "same_value_of_warps": Fault(RACE, ("first",)),
        },
        "racecheck: hazard, with the note that identical data is written if it is",
    ),
    Feature(
        "a value that is read and not used; too early, or though it was never written",
        "order.cu",
        {"discards_in_time": lambda x: x},
        {
            "discards_unwritten": Fault(UNWRITTEN, ("all[", USELESS)),
            "multiplies_unwritten": Fault(UNWRITTEN, ("all[",)),
            "discards_too_early": Fault(RACE, ("all[", "reads", USELESS)),
            "reads_past_its_share": Fault(RACE, ("all[63]", USELESS)),
            "reads_the_last": Fault(RACE, ("all[63]",)),
        },
        "racecheck: hazard; initcheck sees global memory only",
    ),
    Feature(
        "a lock by `atomicCAS` between warps",
        "order.cu",
        {"lock_of_warps": lambda x: np.full(64, x[0] + x[32])},
        {
            "lock_without_fence": Fault(RACE, ("sum",)),
            "lock_never_freed": Fault("endless in kernel"),
        },
        "racecheck: hazard",
    ),
    Feature(
        "`__syncthreads()` in each of two branches, of which the whole block takes one",
        "order.cu",
        {"barrier_in_one_branch": lambda x: x[::-1]},
        {
            "barriers_in_both_branches": Fault(
                "divergent barrier in kernel", ("32 threads", "whole block takes the branch")
            )
        },
        "synccheck: divergent thread(s) in block",
    ),
    Feature(
        "threads that have returned, before a barrier or in a mask, as since Volta",
        "order.cu",
        {
            "returns_before": lambda x: np.concatenate([x[:48][::-1], np.zeros(16)]),
            "full_mask_after": lambda x: np.where(
                np.arange(64) % 32 < 16, x.reshape(-1, 2)[:, ::-1].reshape(-1), 0
            ),
        },
        {},
        "",
    ),
    Feature(
        "the same, `simulated(strict=True)`",
        "order.cu",
        {},
        {
            "strict_barrier": Fault("divergent barrier in kernel", ("stricter than a GPU",)),
            "strict_mask": Fault("absent lane in kernel", ("stricter than a GPU",)),
        },
        "synccheck, if at all: divergent thread(s)",
        strict=True,
    ),
    Feature(
        "`assert`, `__trap`, whole numbers, arrays of a thread up to 512 KB",
        "order.cu",
        {"asserts": lambda x: x / 2},
        {
            "assertion_fails": Fault("assertion failed in kernel", ("threadIdx.x != 5", "(5,0,0)")),
            "traps": Fault("trap in kernel", ("(5,0,0)",)),
            "divides_by_zero": Fault("division by zero in kernel", ("(5,0,0)",)),
            "too_large_an_array": Fault(
                "too much local memory in kernel", ("(0,0,0)", "order.cu:"), placed=False
            ),
            "too_large_by_far": Fault(
                "too much local memory in kernel", ("(0,0,0)", "order.cu:"), placed=False
            ),
        },
        "memcheck: the launch failed; nothing of a division by zero",
    ),
    Feature(
        "intrinsics, `clock64`, `__CUDA_ARCH__`, names that `std` has too, `float3`, `cuComplex.h`",
        "runtime.cu",
        {
            "intrinsics": intrinsics,
            "more_intrinsics": lambda x: x + 12 - 2 - 2050 - 2048 + 3 - 1 + 0.25 + 4,
            "complex_numbers": lambda x: (x.reshape(32, 2)[::-1] * [1, -1] + [5, 0.5]).reshape(-1),
            "three_floats": lambda x: np.repeat(6 * x[:16][::-1] + 3, 4),
        },
        {"float3_past_the_end": Fault("out of bounds in kernel", ("reads x[",))},
        "memcheck: invalid access",
    ),
    Feature(
        "`cudaLaunchKernel`, kernels in variables, streams, events, managed memory",
        "runtime.cu",
        {
            "by_address": lambda x: x + 1,
            "by_variable": lambda x: x + 1,
            "own_stream": lambda x: x + 1,
            "managed": lambda x: x + (np.arange(64) == 0),
            "pitched": lambda x: x,
        },
        {
            "stream_that_waits_for_none": Fault(
                "another stream", ("waits for no other",), placed=False
            ),
            "managed_never_freed": Fault("device memory is not freed", placed=False),
            "launches_a_kernel": Fault(
                "dynamic parallelism in kernel", ("not supported",), placed=False
            ),
        },
        "memcheck --leak-check: leaked bytes; of streams nothing",
    ),
    Feature(
        "streams of the source's own among themselves, and with the caller's",
        "runtime.cu",
        {
            "event_between": lambda x: 2 * x + 2,
            "host_between": lambda x: 2 * x + 2,
            "default_between": lambda x: 2 * x + 2,
            "fork_and_join": lambda x: 2 * x + 2,
        },
        {
            "no_event_between": Fault(
                "race between streams", ("doubles", "kernel adds on another"), placed=False
            ),
            "event_too_early": Fault(
                "race between streams", ("kernel adds on another",), placed=False
            ),
            "copies_too_early": Fault("race between streams", ("cudaMemcpy reads",), placed=False),
            "never_joined": Fault(
                "another stream", ("no one waits for kernel adds",), placed=False
            ),
        },
        "nothing: memcheck --track-stream-ordered-races is about cudaMallocAsync",
    ),
    Feature(
        "`cuda::barrier`, `cuda::memcpy_async`",
        "async.cu",
        {
            "arrives_and_waits": lambda x: 2 * x + x[::-1],
            "copies_to_barrier": lambda x: x[::-1],
            "group_copies": lambda x: x[::-1],
        },
        {
            "reads_before_the_barrier": Fault("", ("all[",)),
            "arrives_only": Fault("", ("all[",)),
            "expects_too_many": Fault("waits for ever in kernel", ("cuda::barrier::wait",)),
            "never_initialised": Fault("uninitialised", ()),
        },
        "racecheck: hazard; synccheck: barrier errors",
    ),
    Feature(
        "`__pipeline_memcpy_async`, `cuda::pipeline`",
        "async.cu",
        {
            "primitives": lambda x: 2 * x[::-1],
            "two_stages": lambda x: np.tile(x.reshape(4, 16)[:, ::-1].sum(0), 4),
            "own_pipeline": lambda x: x[::-1],
            "never_released": lambda x: 3 * x,
        },
        {
            "reads_before_the_wait": Fault("read before the wait in kernel", ("copies to it",)),
            "waits_for_too_few": Fault("read before the wait in kernel", ("two[1]",)),
            "wait_is_no_barrier": Fault("", ("all[",)),
            "released_too_early": Fault("", ("stage[",)),
        },
        "racecheck: hazard",
    ),
    Feature(
        "`__nv_fp8_e4m3`, `__nv_fp8_e5m2`, conversions only",
        "sixteen.cu",
        {
            "eight_bits": lambda x: eighth(30 * x, 4, -6, 448) + eighth(30 * x, 3, -14, 57344),
            "eight_bits_small": lambda x: eighth(x / 512, 4, -6, 448),
            "eight_bits_large": lambda x: np.where(x > 0, 448, np.where(x < 0, -448, 0)),
        },
        {
            "eight_no_barrier": Fault("", ("all[",)),
            "eight_past_the_end": Fault("out of bounds in kernel", ("writes all[64]",)),
        },
        "racecheck: hazard; memcheck: invalid access",
    ),
    Feature(
        "`nvcuda::wmma` on `half`, `__nv_bfloat16`, `tf32`, `signed char`, in all sizes",
        "matrix.cu",
        {
            "matrix_in_float": products,
            "matrix_in_half": products,
            "matrix_wide": of_shape(32, 8, 16),
            "matrix_high": of_shape(8, 32, 16),
            "matrix_bfloat": of_shape(16, 16, 16),
            "matrix_tf32": of_shape(16, 16, 8),
            "matrix_whole": of_shape(16, 16, 16),
        },
        {
            "matrix_no_barrier": Fault("", ("a[",)),
            "matrix_in_branch": Fault("absent lane in kernel", ("wmma::store_matrix_sync",)),
            "matrix_misaligned": Fault("misaligned access in kernel", ("32 bytes",)),
            "matrix_past_the_end": Fault("out of bounds in kernel", ("y has 64 elements",)),
        },
        "racecheck: hazard; memcheck: invalid access",
    ),
)
# What is refused before anything runs, by the compiler or before it, in one line.
REFUSED = {
    "inline PTX": (
        '__global__ void k(int* y) { asm volatile("mov.u32 %0, %laneid;" : "=r"(*y)); }',
        "inline PTX is not supported on the CPU",
    ),
    "textures and surfaces": (
        "__global__ void k(cudaTextureObject_t t, float* y) { *y = tex2D<float>(t, 0, 0); }",
        "textures and surfaces are not supported on the CPU",
    ),
}


def table() -> str:
    """Return the table of the README, from the features above."""
    rows = [
        "| feature | supported | told as | what compute-sanitizer calls it |",
        "| --- | --- | --- | --- |",
    ]
    for feature in FEATURES:
        right = ", ".join(f"`{name}`" for name in feature.right)
        told = "; ".join(
            f"`{name}`: {fault.begins.removesuffix(' in kernel') or 'race or uninitialised read'}"
            for name, fault in feature.wrong.items()
        )
        supported = f"yes: {right}" if right else "yes"
        rows.append(f"| {feature.name} | {supported} | {told} | {feature.sanitizer} |")
    for name, (_, message) in REFUSED.items():
        rows.append(f"| {name} | no | {message} | |")
    return "\n".join(rows) + "\n"


def write() -> None:
    """Put the table into the README."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


def kernels(source: str) -> Path:
    """Return the path of a file with examples."""
    return Path(__file__).parent / source


if __name__ == "__main__":
    write()
