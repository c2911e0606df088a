"""Every tier builds with each compiler that the course promises to build with.

`.ci/packages` installs the oldest and the newest that the system's packages have. All katas of
the lectures in C++ and CUDA run with each of them every night (`.github/workflows/nightly.yml`).
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support.builds import BUILDS
from tests.support.compilers import installed
from tests.support.cudakata import HEADER
from tests.support.cudakata import KERNEL
from tests.support.cudakata import OPERATOR
from tests.support.cxxkatas import GRADIENT
from tests.support.cxxkatas import TWICE
from tests.support.cxxkatas import VECTOR
from tests.support.cxxkatas import add
from tests.support.cxxkatas import source
from tests.support.warm import TORCH


if TYPE_CHECKING:
    from plugins.native.toolchain import Compiler
    from tests.conftest import MiniCourse


pytestmark = [pytest.mark.torch, pytest.mark.slow]
PLUGINS = (
    "plugins.course.session",
    "plugins.course.solutions",
    "plugins.course.seeds",
    "plugins.machine.absent",
    "plugins.machine.backends",
    "plugins.cuda.simt",
    "plugins.native.plugin",
)
# On a machine with g++ alone it is the newest too; `.ci/run` is on one first.
ROLES = ("oldest clang++", "newest clang++", "oldest g++")
TESTS = {"stable": TWICE, "small": TWICE, "iter": TWICE, "full": GRADIENT, "vec": VECTOR}
COUNTS = """
import pytest
import torch

pytestmark = pytest.mark.backend("cxx")

def test_counts(extension):
    assert [2.0] * 40 == extension.op("twice")(torch.ones(40)).tolist()
    (launch,) = extension.launches()
    assert ("twice", 64) == (launch.kernel, launch.threads)
"""


@pytest.fixture(params=ROLES)
def compiler(request: pytest.FixtureRequest) -> Compiler:
    """Return each compiler; one that has two roles is tried in the first."""
    age, kind = request.param.split()
    known = [found for found in installed().values() if found.clang == (kind == "clang++")]
    if not known:
        pytest.skip(f"{kind} is not on PATH: apt install clang g++")
    oldest, newest = (choose(known, key=lambda found: found.major) for choose in (min, max))
    if age == "newest" and newest == oldest:
        pytest.skip(f"{newest.name} is the oldest {kind} too, which has been tried")
    return oldest if age == "oldest" else newest


def test_every_tier_builds(course: MiniCourse, compiler: Compiler) -> None:
    """Its headers compile, and a kata loads and computes: in C++, and in CUDA without a GPU."""
    course.plugins(*PLUGINS)
    course.imported = TORCH
    course.monkeypatch.setenv("KATAS_BUILD", str(BUILDS))
    course.monkeypatch.setenv("KATAS_CXX", compiler.path)
    for number, (tier, test) in enumerate(TESTS.items(), 1):
        add(course, number, source(tier, number), test)
    kernel = KERNEL.replace("k01", "k06")
    csrc = ("csrc/k06_cuda.cu", "csrc/k06_cuda.cpp")
    course.kata("k06_cuda", COUNTS, kind="cuda", csrc=csrc, stub=kernel, solution=kernel)
    operator = OPERATOR.replace("lecture01_k01", "lecture01_k06")
    course.write("katas/lecture01/csrc/k06_cuda.cpp", operator)
    shutil.copy(HEADER, course.katas / "lecture01/csrc/launch.h")

    course.run().assert_outcomes(passed=6)
