"""CUDA C++ as a language that `plugins.native` builds: for the CPU, with what runs it there.

`CUDA` is found by its name (``pytest_kata_languages``), also in processes without pytest.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from plugins import HERE
from plugins.cuda.source import rewrite_cuda
from plugins.cuda.statements import statement_spans
from plugins.native.languages import Language
from plugins.native.tiers import Tier


if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


CSRC = HERE / "cuda/csrc"
# The sanitizer's calls go to csrc/simt.cpp. With -O0, each load and store of the source is one of
# the machine, with either compiler.
SIMT = ("-O0", "-fsanitize=thread", "-isystem", ".")
# A function with many variables touches each page of the stack in turn, so a large array ends in
# the gap below it, however large: else it reaches over the gap. Clang lacks the option on macOS.
PROBES = "-fstack-clash-protection"
SIMT_CLANG = (
    *("-mllvm", "-tsan-instrument-func-entry-exit=0"),
    *("-mllvm", "-tsan-instrument-read-before-write=1"),
    *("-mllvm", "-tsan-distinguish-volatile=1"),
    # A structure with a vector in it is copied member by member, as with g++: no room is added.
    *("-Xclang", "-fsanitize-address-field-padding=1"),
)
SIMT_GXX = (
    "--param=tsan-instrument-func-entry-exit=0",
    "--param=tsan-distinguish-volatile=1",
)
# The simulator finds the variables of the function that called it.
FRAMES = "-fno-omit-frame-pointer"
# CUDA has these headers in folders; ours lie side by side, so whatever reads `csrc` reads all.
# None of our names may be that of a header of CUDA's, as ``cuda_pipeline.h`` is.
NESTED = {
    "cooperative_groups_memcpy_async.h": "cooperative_groups/memcpy_async.h",
    "cooperative_groups_reduce.h": "cooperative_groups/reduce.h",
    "cooperative_groups_scan.h": "cooperative_groups/scan.h",
    "libcu_atomic.h": "cuda/atomic",
    "libcu_barrier.h": "cuda/barrier",
    "libcu_pipeline.h": "cuda/pipeline",
}
# Headers of CUDA's in which kernels find nothing that simt.h has not.
SAME = (
    *("cuda.h", "cuda_profiler_api.h", "cuda_runtime.h", "cuda_runtime_api.h"),
    *("device_functions.h", "device_launch_parameters.h", "math_constants.h", "math_functions.h"),
    *("sm_60_atomic_functions.h", "sm_61_intrinsics.h", "vector_types.h"),
)


def files_of_the_tier() -> dict[str, Path]:
    """Return the files of `csrc` by the names that sources include them by."""
    own = {file.name: file for file in sorted(CSRC.iterdir()) if file.name != "README.md"}
    same = own.pop("same.h")
    found = {NESTED.get(name, name): file for name, file in own.items()}
    return {**found, **dict.fromkeys(SAME, same)}


def describe_statements(rewritten: Mapping[str, str]) -> str:
    """Return what tells the simulator where statements are; empty if each is a whole line."""
    lines = []
    for shown, text in rewritten.items():
        if spans := statement_spans(text):
            places = ("-".join(f"{line}:{column}" for line, column in span) for span in spans)
            lines += [shown, *places]
    text = "\\n".join(lines)
    return f'SIMT_STATEMENTS("{text}");\n' if text else ""


CUDA = Language(
    suffix=".cu",
    headers=(".cuh",),
    tier=Tier(
        "simt",
        ("simt.h",),
        (9, 11),
        (*SIMT, *[PROBES] * (platform.system() == "Linux")),
        compiled=False,
        torch=False,
        files=files_of_the_tier(),
        linked=(FRAMES,),
        clang=SIMT_CLANG,
        gxx=SIMT_GXX,
    ),
    rewrite=rewrite_cuda,
    before=describe_statements,
)
