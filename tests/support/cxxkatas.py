"""Katas in C++ of a small course: the tests of each, and its source in ``tests/native``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


SOURCES = Path(__file__).parents[1] / "native"
HEAD = 'import pytest\nimport torch\n\npytestmark = pytest.mark.backend("cxx")\n'
TWICE = f"""{HEAD}
def test_twice(extension):
    assert [2, 4] == extension.op("twice")(torch.tensor([1.0, 2.0])).tolist()
"""
GRADIENT = f"""{HEAD}
def test_gradient(extension):
    x = torch.ones(2, requires_grad=True)
    extension.op("twice")(x).sum().backward()
    assert [2, 2] == x.grad.tolist()
"""
VECTOR = f"""{HEAD}
import ctypes

def test_vector(extension):
    x, y = torch.arange(11.0), torch.empty(11)
    twice = extension.symbol("kata_twice")
    twice(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_int64(11))
    assert (2 * x).tolist() == y.tolist()
"""


def source(tier: str, number: int = 1) -> str:
    """Return an operator of ours in the namespace of kata `number`."""
    text = (SOURCES / f"{tier}.cpp").read_text()
    return text.replace("lecture01_k01", f"lecture01_k{number:02}")


def add(course: MiniCourse, number: int, stub: str, test: str, solution: str = "") -> Path:
    """Add a C++ kata and return its test module."""
    name = f"k{number:02}_cpp"
    csrc = (f"csrc/{name}.cpp",)
    return course.kata(name, test, stub=stub, solution=solution, csrc=csrc, kind="cpp")
