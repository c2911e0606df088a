"""The tiers: sets of PyTorch headers, each compiled once, that C++ katas build on.

A source names its tier in its first line, ``// tier: small``. Headers are nearly the whole cost
of a build, so a kata names the lowest tier that serves it.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from plugins import HERE


if TYPE_CHECKING:
    from collections.abc import Mapping


STABLE = (
    "torch/csrc/stable/library.h",
    "torch/csrc/stable/tensor.h",
    "torch/csrc/stable/ops.h",
    "torch/csrc/stable/accelerator.h",
    "torch/headeronly/core/TensorAccessor.h",
    "torch/headeronly/util/Exception.h",
)
SMALL = (
    "torch/library.h",
    "ATen/core/Tensor.h",
    # ``a + b`` includes the headers of forty operators.
    "ATen/TensorOperators.h",
    "ATen/core/LegacyTypeDispatch.h",
    "ATen/core/grad_mode.h",
    "ATen/Dispatch.h",
    "ATen/EmptyTensor.h",
    "ATen/TensorUtils.h",
    "ATen/ops/add.h",
    "ATen/ops/clamp.h",
    "ATen/ops/empty.h",
    "ATen/ops/empty_like.h",
    "ATen/ops/empty_strided.h",
    "ATen/ops/mul.h",
    "ATen/ops/ones_like.h",
    "ATen/ops/result_type.h",
    "ATen/ops/sum.h",
    "ATen/ops/where.h",
    "ATen/ops/zeros.h",
    "ATen/ops/zeros_like.h",
)
ITER = (
    *SMALL,
    "ATen/ExpandUtils.h",
    "ATen/Parallel.h",
    "ATen/TensorIterator.h",
    "ATen/TensorMeta.h",
    "ATen/native/Resize.h",
    "ATen/native/TensorIterator.h",
    "ATen/native/TypeProperties.h",
    "ATen/native/cpu/Loops.h",
)
FULL = (
    *SMALL,
    "ATen/ATen.h",
    "torch/csrc/autograd/custom_function.h",
)
# Class templates of ``ATen/core/jit_type.h``. At the end of each source that includes it, clang
# looks for the virtual functions of all its classes, and instantiates those of templates: half of
# the time of a small source. An explicit instantiation is done once, with the headers.
INSTANCES = (
    *(
        f"c10::SingleElementType<c10::TypeKind::{name}, c10::{name}>"
        for name in ("ListType", "FutureType", "AwaitType", "RRefType")
    ),
    *(
        f"c10::EnumerationType<c10::TypeKind::{name}>"
        for name in ("ScalarTypeType", "MemoryFormatType", "LayoutType")
    ),
)
WANTED = HERE / "native/wanted.h"
VEC = (
    "ATen/cpu/vec/vec.h",
    "ATen/cpu/vec/functional.h",
)
# ATen compiles its kernels for several processors; this variant is for any.
DEFAULT = ("-DCPU_CAPABILITY=DEFAULT", "-DCPU_CAPABILITY_DEFAULT")


@dataclass(frozen=True)
class Tier:
    """Headers, the options they are compiled with, and whether their code is compiled too."""

    name: str
    headers: tuple[str, ...]
    # About how long the headers alone take, with clang and with g++.
    seconds: tuple[int, int]
    options: tuple[str, ...] = ("-O0",)
    # Inline functions of the headers go into one object file that every kata links. In katas
    # about speed they are compiled with the kata instead, at -O2, and can be inlined.
    compiled: bool = True
    # Class templates that each source would instantiate.
    instances: tuple[str, ...] = ()
    # What a compiler that waits for its source reads before.
    wanted: Path | None = None
    # Whether libraries need torch's.
    torch: bool = True
    # Our own files beside the headers, by the names that sources include them by.
    files: Mapping[str, Path] = field(default_factory=dict)
    # What the sources among them, which are linked, are compiled with.
    linked: tuple[str, ...] = ()
    # Options that only one of the compilers knows.
    clang: tuple[str, ...] = ()
    gxx: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The header that includes all of them."""
        return "".join(f"#include <{header}>\n" for header in self.headers)

    @property
    def instantiated(self) -> str:
        """The lines that instantiate the templates."""
        return "".join(f"template struct {name};\n" for name in self.instances)


def tiers() -> dict[str, Tier]:
    """Return the tiers by name, in the order of their cost."""
    vector = vector_options(platform.machine(), Path("/proc/cpuinfo"))
    every = (
        Tier("stable", STABLE, (2, 3)),
        Tier("small", SMALL, (13, 17), instances=INSTANCES, wanted=WANTED),
        Tier("iter", ITER, (15, 20), ("-O0", *DEFAULT), instances=INSTANCES, wanted=WANTED),
        Tier("full", FULL, (17, 23), instances=INSTANCES, wanted=WANTED),
        Tier("vec", VEC, (3, 5), ("-O2", *vector), compiled=False),
    )
    return {tier.name: tier for tier in every}


def vector_options(machine: str, about: Path) -> tuple[str, ...]:
    """Return the options that make ``at::vec::Vectorized`` as wide as the processor allows."""
    flags = about.read_text(encoding="utf-8", errors="replace") if about.exists() else ""
    if machine == "x86_64" and " avx2 " in flags and " fma " in flags:
        return ("-march=x86-64-v3", "-DCPU_CAPABILITY=AVX2", "-DCPU_CAPABILITY_AVX2")
    return DEFAULT
