"""Whether kernels in Triton are interpreted or compiled, and what a failure shows."""

from __future__ import annotations

import os
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import triton
from plugins.devices import wanted_key


if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import MiniCourse


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
