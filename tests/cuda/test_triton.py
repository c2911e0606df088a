"""Kernels in Triton are interpreted or compiled, and a failure shows the learner's lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import ROOT
from plugins.cuda import triton
from plugins.machine.devices import device_option_key
from tests.support.warm import PYTEST
from tests.support.warm import TORCH


if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import MiniCourse


# The test modules of katas with a kernel in Triton.
MODULES = [
    file
    for file in sorted(ROOT.glob("katas/lecture*/test_k*.py"))
    if 'backend("triton")' in file.read_text(encoding="utf-8")
]
# The share of a lecture's tests that may need Triton, and of a kata's.
MOST = {"lecture": 0.10, "kata": 0.60}
PLUGINS = (
    "plugins.course.session",
    "plugins.machine.absent",
    "plugins.machine.devices",
    "plugins.machine.builtin",
    "plugins.machine.backends",
    "plugins.native.backends",
    "plugins.cuda.triton",
)
# A PyTorch that finds an NVIDIA GPU; beside it stands a Triton that can only be found.
STAND_IN = """
from types import SimpleNamespace

version = SimpleNamespace(cuda="13.0", hip=None)
cuda = SimpleNamespace(is_available=lambda: True)
backends = SimpleNamespace(mps=SimpleNamespace(is_available=bool, is_built=bool))
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
    course.imported = PYTEST
    course.path_first(course.path / "standin")
    course.write("standin/torch/__init__.py", STAND_IN)
    course.write("standin/triton.py", "")
    course.kata(test=MODE)
    return course


def test_kernels_are_interpreted(course: MiniCourse) -> None:
    """Even on a machine with a GPU: a session has one mode, and the CPU is everywhere."""
    result = course.run("-v", "-s")

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*cpu: 1*",
            "triton (1 test): kernels are interpreted in this session, *",
            "*--device cuda*",
        ]
    )


def test_a_session_for_the_gpu_compiles(course: MiniCourse) -> None:
    """The variable is not set."""
    result = course.run("-v", "-s", "--device=cuda")

    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["*cuda: None*"])


@pytest.mark.parametrize(
    ("value", "ran"), [("1", "cpu"), ("ON", "cpu"), ("0", "cuda"), ("", "cuda")]
)
def test_a_value_that_is_exported_stays(course: MiniCourse, value: str, ran: str) -> None:
    """Even against --device: tests of the other mode are skipped, with the way to run them."""
    course.monkeypatch.setenv("TRITON_INTERPRET", value)

    result = course.run("-v", "-s", "--device=cpu,cuda")

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            f"*{ran}: {value}*",
            "triton (1 test): kernels are * in this session, *",
            "  *TRITON_INTERPRET*",
        ]
    )


def test_other_tests_run_on_every_device(course: MiniCourse) -> None:
    """Only kernels in Triton have one mode."""
    course.kata("k02_second", test="def test_device(device): pass")

    course.run("-k", "second").assert_outcomes(passed=2, skipped=1, deselected=2)


def test_without_triton_tests_are_skipped(course: MiniCourse) -> None:
    """The summary says how to install it."""
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
    result.stdout.fnmatch_lines(["triton (1 test): Triton is not installed;*", "*--group triton*"])


def test_the_backend_is_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is missing until ``triton`` can be imported."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "triton", raising=False)
    (backend,) = triton.pytest_kata_backends()

    assert "triton" == backend.name
    assert str(backend.missing).startswith("Triton is not installed; ")
    (tmp_path / "triton.py").touch()
    assert triton.no_triton() is None


def test_the_variable_ends_with_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second session in the same process chooses anew."""
    monkeypatch.delenv(triton.VARIABLE, raising=False)
    cleanups: list[Callable[[], object]] = []
    config: Any = SimpleNamespace(stash={device_option_key: []}, add_cleanup=cleanups.append)

    triton.pytest_configure(config)
    assert triton.interpreting()
    for cleanup in cleanups:
        cleanup()
    assert triton.VARIABLE not in os.environ


@pytest.mark.torch
@pytest.mark.tool("triton")
def test_errors_show_the_learner_s_lines(course: MiniCourse) -> None:
    """The error and its place, through two kernels, without Triton's own lines."""
    # The real ones.
    for name in ("torch/__init__.py", "triton.py"):
        (course.path / "standin" / name).unlink()
    (course.path / "standin" / "torch").rmdir()
    course.plugins(*PLUGINS, "plugins.cuda.triton_interpreter")
    course.imported = TORCH
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


# Runs pytest where neither an import nor find_spec finds Triton, and writes for each test its
# module, whether it needs Triton, and its outcome; of lectures only those modules run that need it.
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
        from plugins.cuda.triton import needs_triton

        for item in session.items:
            self.found[item.nodeid] = [str(item.path), needs_triton(item)]
        session.items[:] = [item for item in session.items if str(item.path) in MODULES]

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.skipped:
            self.found[report.nodeid].append(report.outcome)


tests = Tests()
MODULES = json.loads(sys.argv[2])
status = pytest.main(sys.argv[3:], plugins=[tests])
Path(sys.argv[1]).write_text(json.dumps([status, list(tests.found.values())]))
"""


@pytest.fixture(scope="module")
def without_triton(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, bool, str]]:
    """Return each test's module, need and outcome, from a pytest that finds no Triton.

    All tests of the lectures are collected, with the solutions; those of `MODULES` run.
    """
    result = tmp_path_factory.mktemp("without") / "tests.json"
    modules = json.dumps([str(file) for file in MODULES])
    folders = sorted({file.parent for file in MODULES})
    arguments: list[str | Path] = [result, modules, *folders]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments, "-q", "--device=cpu", "--solutions"],
        check=False,
        cwd=ROOT,
        # No compiler: the katas in C++ beside them, which do not run, are not built either.
        env={**os.environ, "PYTHONPATH": str(ROOT), "KATAS_CXX": "none"},
        capture_output=True,
        text=True,
    )
    status, found = json.loads(result.read_text())
    assert 0 == status, done.stdout[-3000:]
    return [(Path(path), need, "".join(rest)) for path, need, *rest in found]


def share(tests: list[tuple[Path, bool, str]]) -> float:
    """Return the share of these tests that needs Triton."""
    return sum(need for _, need, _ in tests) / len(tests)


@pytest.mark.slow
@pytest.mark.torch
def test_little_of_a_lecture_needs_triton(without_triton: list[tuple[Path, bool, str]]) -> None:
    """Of the tests on the CPU, all of them collected: an optional package is not the lesson."""
    assert MODULES
    for folder in sorted({file.parent for file in MODULES}):
        tests = [test for test in without_triton if test[0].parent == folder]

        assert share(tests) <= MOST["lecture"], f"{folder.name}: {share(tests):.1%} need Triton"
        for module in (file for file in MODULES if file.parent == folder):
            own = [test for test in tests if test[0] == module]
            assert share(own) <= MOST["kata"], f"{module.name}: {share(own):.1%} need Triton"
            # Part one comes first.
            assert sorted(own, key=lambda test: test[1]) == own, module.name


@pytest.mark.slow
@pytest.mark.torch
def test_part_one_is_judged_without_triton(without_triton: list[tuple[Path, bool, str]]) -> None:
    """With the solutions, which import: tests pass unless they need Triton and are skipped."""
    ran = [test for test in without_triton if test[0] in MODULES]

    assert {(False, "passed"), (True, "skipped")} == {(need, outcome) for _, need, outcome in ran}
