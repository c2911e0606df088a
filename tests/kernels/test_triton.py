"""Whether kernels in Triton are interpreted or compiled, and what a failure shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import triton
from plugins.devices import wanted_key


if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import MiniCourse


ROOT = Path(__file__).parents[1]
# The test modules of katas with a kernel in Triton.
MODULES = [
    file
    for file in sorted(ROOT.glob("katas/lecture*/test_k*.py"))
    if 'backend("triton")' in file.read_text(encoding="utf-8")
]
# How much of a lecture may need Triton, and how much of such a kata may.
MOST = {"lecture": 0.10, "kata": 0.60}
needs_triton = pytest.mark.skipif(not find_spec("triton"), reason="Triton is not installed")
PLUGINS = (
    "plugins.course",
    "plugins.absent",
    "plugins.devices",
    "plugins.cpu",
    "plugins.cuda",
    "plugins.backends",
    "plugins.compilers",
    "plugins.triton",
)
# A PyTorch that finds a GPU, and a Triton that is nothing but here.
TORCH = """
from types import SimpleNamespace

version = SimpleNamespace(cuda="13.0", hip=None)
cuda = SimpleNamespace(is_available=lambda: True)
"""
MODE = """
import os

import pytest

pytestmark = [pytest.mark.backend("triton"), pytest.mark.device("cpu", "cuda")]

def test_mode(device):
    print(f"{device}: {os.environ.get('TRITON_INTERPRET')}")
"""
KERNELS = """
import triton
import triton.language as tl

@triton.jit
def double(x):
    return x + x.no_such_attribute

@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x, double(tl.load(x)) + BLOCK)

def run(x):
    kernel[(1,)](x, BLOCK=4)
"""
FAILING = """
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture01 import k02_second as kata

pytestmark = pytest.mark.backend("triton")

def test_interpreter():
    kata.run(torch.zeros(3))

@given(size=st.just(3))
def test_examples(size):
    kata.run(torch.zeros(size))

def test_plain():
    assert [1] == [2], "a plain message"
"""


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return a course with a GPU, and with kernels in Triton."""
    course.plugins(*PLUGINS)
    course.path_first(course.path / "standin")
    course.write("standin/torch/__init__.py", TORCH)
    course.write("standin/triton.py", "")
    course.kata(test=MODE)
    return course


def test_kernels_are_interpreted(course: MiniCourse) -> None:
    """Also where there is a GPU: a session has one mode, and the CPU is everywhere."""
    result = course.run("-v", "-s")

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["*cpu: 1*", "triton (1 test): kernels are interpreted in this session, *--device cuda*"]
    )


def test_a_session_for_the_gpu_compiles(course: MiniCourse) -> None:
    """The variable stays away."""
    result = course.run("-v", "-s", "--device=cuda")

    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["*cuda: None*"])


@pytest.mark.parametrize(
    ("value", "ran"), [("1", "cpu"), ("ON", "cpu"), ("0", "cuda"), ("", "cuda")]
)
def test_what_is_exported_stays(course: MiniCourse, value: str, ran: str) -> None:
    """Even against --device: the tests of the other mode are skipped, and it says how to go on."""
    course.monkeypatch.setenv("TRITON_INTERPRET", value)

    result = course.run("-v", "-s", "--device=cpu,cuda")

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [f"*{ran}: {value}*", "triton (1 test): kernels are * in this session, *TRITON_INTERPRET*"]
    )


def test_other_tests_run_on_every_device(course: MiniCourse) -> None:
    """Only kernels in Triton are of one mode."""
    course.kata("k02_second", test="def test_device(device): pass")

    course.run("-k", "second").assert_outcomes(passed=2, deselected=2)


def test_without_triton_tests_are_skipped(course: MiniCourse) -> None:
    """And the summary says how to get it."""
    (course.path / "standin" / "triton.py").unlink()
    course.write(
        "conftest.py",
        f"""
        import importlib.util

        found = importlib.util.find_spec
        importlib.util.find_spec = lambda name: None if name == "triton" else found(name)
        pytest_plugins = {PLUGINS!r}
        """,
    )

    result = course.run("-m", "cpu")

    result.assert_outcomes(skipped=1, deselected=1)
    result.stdout.fnmatch_lines(["triton (1 test): Triton is not installed; *--group triton*"])


def test_the_variable_ends_with_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that runs pytest twice chooses twice."""
    monkeypatch.delenv(triton.VARIABLE, raising=False)
    cleanups: list[Callable[[], object]] = []
    config: Any = SimpleNamespace(stash={wanted_key: []}, add_cleanup=cleanups.append)

    triton.pytest_configure(config)
    assert triton.interpreting()
    for cleanup in cleanups:
        cleanup()
    assert triton.VARIABLE not in os.environ


@pytest.mark.torch
@needs_triton
def test_errors_show_the_learner_s_lines(course: MiniCourse) -> None:
    """What went wrong and where, through two kernels, and none of Triton's own lines."""
    for name in ("torch/__init__.py", "triton.py"):
        (course.path / "standin" / name).unlink()
    (course.path / "standin" / "torch").rmdir()
    course.plugins(*PLUGINS, "plugins.interpreted")
    course.kata("k02_second", test=FAILING, stub=KERNELS)

    course.kata("k03_third", test="def test_other(): raise OSError('of another kata')")

    result = course.run("--tb=short", "-k", "second or third")

    result.assert_outcomes(failed=4, deselected=2)
    text = result.stdout.str()
    assert "site-packages/triton" not in text
    assert "plugins/" not in text.partition("= FAILURES =")[2]
    assert "InterpreterError" not in text
    result.stdout.fnmatch_lines(
        [
            "*k02_second.py:*: in run",
            "    kernel[[](1,)[]](x, BLOCK=4)",
            "*k02_second.py:*: in kernel",
            "*k02_second.py:*: in double",
            "E   AttributeError: 'tensor' object has no attribute 'no_such_attribute'",
            "*size=3,*",
            "*a plain message*",
            "*OSError: of another kata*",
        ]
    )


# Runs pytest where neither an import nor find_spec finds Triton, and tells for each test its
# module, whether it needs Triton, and what became of it.
WITHOUT = """
import json
import sys
from pathlib import Path

import pytest

sys.modules["triton"] = None


class Tests:
    def __init__(self):
        self.found = {}

    def pytest_collection_finish(self, session):
        from plugins.triton import needs_triton

        for item in session.items:
            self.found[item.nodeid] = [str(item.path), needs_triton(item)]

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.skipped:
            self.found[report.nodeid].append(report.outcome)


tests = Tests()
status = pytest.main(sys.argv[2:], plugins=[tests])
Path(sys.argv[1]).write_text(json.dumps([status, list(tests.found.values())]))
"""


def without_triton(tmp_path: Path, *args: str | Path) -> list[tuple[Path, bool, str]]:
    """Return module, need and outcome of each test, from a pytest that finds no Triton."""
    result = tmp_path / "tests.json"
    command = [sys.executable, "-c", WITHOUT, result, *args, "-q", "--device=cpu"]
    done = subprocess.run(
        command,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    status, found = json.loads(result.read_text())
    assert 0 == status, done.stdout[-3000:]
    return [(Path(path), need, "".join(rest)) for path, need, *rest in found]


def share(tests: list[tuple[Path, bool, str]]) -> float:
    """Return which part of these tests needs Triton."""
    return sum(need for _, need, _ in tests) / len(tests)


@pytest.mark.torch
def test_little_of_a_lecture_needs_triton(tmp_path: Path) -> None:
    """Of the tests on the CPU, which all are collected: an optional package is not the lesson."""
    assert MODULES
    for folder in sorted({file.parent for file in MODULES}):
        tests = without_triton(tmp_path, folder, "--collect-only")

        assert share(tests) <= MOST["lecture"], f"{folder.name}: {share(tests):.1%} need Triton"
        for module in (file for file in MODULES if file.parent == folder):
            own = [test for test in tests if test[0] == module]
            assert share(own) <= MOST["kata"], f"{module.name}: {share(own):.1%} need Triton"
            # Part one comes first.
            assert sorted(own, key=lambda test: test[1]) == own, module.name


@pytest.mark.torch
def test_part_one_is_judged_without_triton(tmp_path: Path) -> None:
    """With the solutions, which import: all that needs no Triton passes, the rest is skipped."""
    tests = without_triton(tmp_path, *MODULES, "--solutions")

    assert {(False, "passed"), (True, "skipped")} == {(need, outcome) for _, need, outcome in tests}
