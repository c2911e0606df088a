"""What the simulator supports of CUDA: the kernels of each feature, right and wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pytest

from plugins.cuda.language import CUDA
from plugins.native.builder import Builder
from plugins.native.builder import BuildError
from plugins.native.sources import SourceError
from plugins.native.sources import read_unit
from plugins.native.toolchain import find_toolchain
from tests.cuda.features import FEATURES
from tests.cuda.features import README
from tests.cuda.features import REFUSED
from tests.cuda.features import USELESS
from tests.cuda.features import Feature
from tests.cuda.features import table
from tests.support.builds import BUILDS
from tests.support.simulator import KERNELS
from tests.support.simulator import Simulator
from tests.support.simulator import floats
from tests.support.simulator import line_of
from tests.support.simulator import simulator


if TYPE_CHECKING:
    from pathlib import Path

    Array = np.ndarray[Any, Any]


pytestmark = pytest.mark.torch
SEEDS = (0, 1, 2)
# Threads run one after the other, so the order decides which of the two shows first.
EITHER = ("race in", "uninitialised read in", "read before the wait in")
RIGHT = [(feature, name) for feature in FEATURES for name in feature.right]
WRONG = [(feature, name) for feature in FEATURES for name in feature.wrong]


@pytest.fixture(scope="module")
def built() -> dict[str, Simulator]:
    """Return the sources that were built, by compiler and name."""
    return {}


def source(built: dict[str, Simulator], compiler: str, feature: Feature) -> Simulator:
    """Return the kernels of a feature, built once."""
    key = f"{compiler} {feature.source}"
    if key not in built:
        built[key] = simulator(feature.source, compiler)
    return built[key]


def aligned(values: Array) -> Array:
    """Return the same at a multiple of 64 bytes, as PyTorch's memory is."""
    memory = np.zeros(len(values) + 16, np.float32)
    found = memory[(-memory.ctypes.data // 4) % 16 :][: len(values)]
    found[:] = values
    return found


def test_each_feature_has_a_right_and_a_wrong_kernel() -> None:
    """Two rows share theirs: what is right since Volta is wrong where a test is strict."""
    lacking = [each.name for each in FEATURES if not each.right or not each.wrong]

    volta = "threads that have returned, before a barrier or in a mask, as since Volta"
    assert [volta, "the same, `simulated(strict=True)`"] == lacking


@pytest.mark.parametrize(("feature", "name"), RIGHT, ids=[name for _, name in RIGHT])
def test_a_right_kernel(
    built: dict[str, Simulator], compiler: str, feature: Feature, name: str
) -> None:
    """It computes what NumPy does, in any order of blocks and threads, and has no fault."""
    kernels = source(built, compiler, feature)
    for seed in SEEDS:
        x, y = floats(64, seed), np.full(64, np.nan, np.float32)

        assert "" == kernels.run(name, 64, seed, x=("in", x), y=("out", y))
        np.testing.assert_allclose(y, feature.right[name](x), rtol=1e-6)


@pytest.mark.parametrize(("feature", "name"), WRONG, ids=[name for _, name in WRONG])
def test_a_wrong_kernel(
    built: dict[str, Simulator], compiler: str, feature: Feature, name: str
) -> None:
    """Its fault is told with kernel, block, thread and line, in any order of threads."""
    kernels, fault = source(built, compiler, feature), feature.wrong[name]
    for seed in SEEDS[: 1 if "endless" in fault.begins else None]:
        x, y = floats(64, seed), aligned(np.zeros(64, np.float32))

        problem = kernels.run(name, 64, seed, strict=feature.strict, x=("in", x), y=("out", y))

        assert problem.startswith(fault.begins or EITHER), problem
        for words in fault.words:
            assert words in problem
        assert (USELESS in fault.words) == (USELESS in problem)
        if fault.placed:
            assert f" in kernel {name}, block (" in problem
            assert f"\n  {feature.source}:{line_of(feature.source, name)}  " in problem


@pytest.mark.parametrize(("name", "expected"), [("strict_barrier", ""), ("strict_mask", "")])
def test_a_test_asks_for_strictness(
    built: dict[str, Simulator], compiler: str, name: str, expected: str
) -> None:
    """What a GPU since Volta runs is a fault within, and none afterwards."""
    feature = next(feature for feature in FEATURES if feature.strict)
    kernels = source(built, compiler, feature)
    x, y = floats(64), np.zeros(64, np.float32)

    with kernels.extension.simulated(strict=True):
        assert "stricter" in kernels.run(name, 64, x=("in", x), y=("inout", y))
    assert expected == kernels.run(name, 64, x=("in", x), y=("inout", y))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    """Where it stands, before anything runs; what nobody uses is no trouble."""
    text, message = REFUSED[name]
    file = tmp_path / "k.cu"
    file.write_text(f"#include <cuda_runtime.h>\n{text}\n")

    with pytest.raises((BuildError, SourceError)) as caught:
        build(file)

    first = str(caught.value).splitlines()[0]
    assert re.match(r"k\.cu:2\b", first), first
    assert message in str(caught.value)


def build(file: Path) -> None:
    """Build a source as a kata's is."""
    unit = read_unit("k", [file], file.parent, file.parent, [CUDA])
    BUILDS.mkdir(parents=True, exist_ok=True)
    Builder(find_toolchain(), BUILDS).build(unit)


def test_the_table_of_the_readme_is_made_of_these() -> None:
    """``python -m tests.cuda.features`` writes it."""
    assert table() in README.read_text(encoding="utf-8")


def test_every_kernel_is_in_the_table() -> None:
    """A feature without its examples would be forgotten."""
    named = {name for feature in FEATURES for name in (*feature.right, *feature.wrong)}
    for file in {feature.source for feature in FEATURES}:
        text = (KERNELS / file).read_text(encoding="utf-8")
        found = re.findall(r"^RUN\((\w+),|^extern \"C\" \w+ kata_(\w+)\(", text, re.MULTILINE)
        assert {one or other for one, other in found} <= named
