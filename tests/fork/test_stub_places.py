"""The places to write of a stub: a repair leaves them all open, an answer fills one in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.fork.stub_places import all_still_open
from plugins.fork.stub_places import cxx_places
from plugins.fork.stub_places import python_code
from plugins.fork.stub_places import python_places
from plugins.fork.stub_places import same_code
from plugins.guide.traceback import TODO


if TYPE_CHECKING:
    from pathlib import Path


UNWRITTEN = re.compile(
    r"raise NotImplementedError\(.*\)|TORCH_CHECK_NOT_IMPLEMENTED\(false.*\)"
    r"|return cudaErrorNotYetImplemented"
)

PYTHON = '''"""The brief."""

import math

LIMIT = 3  # given


def scale(x: float) -> float:
    """Return it twise."""
    return LIMIT * x


def first(n: int, m: int = 1) -> int:
    """Return one."""
    # TODO: which one?
    raise NotImplementedError("first")


class Box:
    """Holds a number."""

    def __init__(self, n: int) -> None:
        self.n = n
        # TODO: and what else?
        raise NotImplementedError("Box")

    @staticmethod
    def kernel(n):
        """Run."""
        # TODO: a line
'''
HUNT = '''"""Two bugs."""

import math

LIMIT = 3


# TODO: two bugs stand below.
def area(r: float) -> float:
    """Return it."""
    return math.pi * r


def size(x):
    return len(x) - 1
'''
REGISTER = '''"""Register."""


# TODO: register this.
def forward(x: int) -> int:
    """Return it."""
    raise NotImplementedError


# TODO: and the other.
'''
CXX = """// The brief.
#include <ATen/ATen.h>
#define KATA_NAMES(x) x
namespace {

constexpr int SIZES[] = {1, 2};

Tensor given(const Tensor& x) {
  return x + 1; // twise
}

struct Scan : Function<Scan> {
  static Tensor forward(Context* ctx, const Tensor& x) {
    const auto text = "{ TODO: // }";
    // TODO: the output.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Scan::forward; later");
  }
};

} // namespace

__global__ void axpy(int n, const float* x) {
    // TODO: the loop
}

extern "C" cudaError_t kata_axpy(int n, const float* x) {
    // TODO: launch it
    return cudaErrorNotYetImplemented;
}
"""
CXX_HUNT = """#include <cuda_runtime.h>
constexpr int THREADS = 256;
// TODO: one bug in smooth.
__global__ void smooth(int n) { if (n > 1) return; }
"""
CXX_BLOCK = """void empty() {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: empty");
}
// TODO: a block TORCH_LIBRARY_IMPL.
void relu(int a) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: relu");
}
void given() { relu(1); }
"""


def swap(text: str, old: str, new: str) -> tuple[str, str, bool]:
    """Return a source before and after a change, and whether it is Python."""
    assert old in text
    return text, text.replace(old, new), "namespace" not in text and "void" not in text


REPAIRS = {
    "a repaired import": swap(PYTHON, "import math", "import math\nfrom os import path"),
    "a repaired docstring and signature": swap(
        PYTHON.replace("one.", "two."), "(n: int, m: int = 1) -> int", "(n, k=2) -> float"
    ),
    "a fixed typo in given code": swap(PYTHON, "return LIMIT * x", "return 2 * x"),
    "a given function more": swap(PYTHON, "\n\nclass", "\n\ndef new():\n    return 1\n\n\nclass"),
    "a typo in a function with a place": swap(PYTHON, "self.n = n", "self.n = int(n)"),
    "a place moved to another name": swap(PYTHON, "first", "second"),
    "a place moved into a class": swap(
        PYTHON,
        "    @staticmethod\n    def kernel(n):\n",
        "    def other(self):\n        # TODO\n        raise NotImplementedError\n\n"
        "    @staticmethod\n    def kernel(n):\n",
    ),
    "a marker deleted without code": swap(PYTHON, "    # TODO: which one?\n", ""),
    "a raise deleted without code": swap(PYTHON, '    raise NotImplementedError("first")\n', ""),
    "a raise that became a pass": swap(PYTHON, 'raise NotImplementedError("first")', "pass"),
    "an annotation in a hunt": swap(HUNT, "def size(x):", "def size(x: list[int]) -> int:"),
    "given code above the hunt": swap(HUNT, "LIMIT = 3", "LIMIT = 4"),
    "an import above the hunt": swap(HUNT, "import math", "import math\nimport os"),
    "a signature below a TODO of the file": swap(REGISTER, "(x: int)", "(x: int, y: int)"),
    "an include": swap(CXX, "#include <ATen/ATen.h>", "#include <ATen/ATen.h>\n#include <cmath>"),
    "given code in C++": swap(CXX, "return x + 1;", "return x + 2;"),
    "a signature in C++": swap(CXX, "const Tensor& x) {\n    const", "Tensor x) {\n    const"),
    "a signature in CUDA": swap(CXX, "axpy(int n, const float* x)", "axpy(int n, float* x)"),
    "a typo beside a place in C++": swap(CXX, "{ TODO: // }", "{ TODO: }"),
    "a place moved in C++": swap(CXX, "Scan", "Moved"),
    "a mark deleted in C++": swap(CXX, "    // TODO: launch it\n", ""),
    "given code above a hunt in CUDA": swap(CXX_HUNT, "256", "128"),
    "a signature below a TODO in C++": swap(CXX_BLOCK, "relu(int a)", "relu(long a)"),
}
ANSWERS = {
    "one of the places": swap(PYTHON, 'raise NotImplementedError("first")', "return n"),
    "above a raise that is left": swap(
        PYTHON, "    raise NotImplementedError(", "    return n\n    raise NotImplementedError("
    ),
    "in a function with given code": swap(PYTHON, 'raise NotImplementedError("Box")', "self.m = 1"),
    "a kernel below its TODO": swap(PYTHON, "# TODO: a line", "# TODO: a line\n        n += 1"),
    "a decorator": swap(PYTHON, "    @staticmethod\n", "    @staticmethod\n    @once\n"),
    "what does not compile": swap(PYTHON, 'raise NotImplementedError("first")', "return return"),
    "given code in place of a raise": swap(
        PYTHON,
        'self.n = n\n        # TODO: and what else?\n        raise NotImplementedError("Box")',
        "self.n = 2 * n  # TODO",
    ),
    "a bug of a hunt": swap(HUNT, "math.pi * r", "math.pi * r**2"),
    "a registration": swap(REGISTER, "def forward", "@register\ndef forward"),
    "code at the end of the file": swap(REGISTER, "other.\n", "other.\nregister(forward)\n"),
    "one of the places in C++": swap(
        CXX, 'TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Scan::forward; later");', "return x;"
    ),
    "above a check that is left": swap(
        CXX, "TORCH_CHECK_NOT", "if (n) return x;\n    TORCH_CHECK_NOT"
    ),
    "a kernel": swap(CXX, "// TODO: the loop", "// TODO: the loop\n    x[0] = 1;"),
    "a launch": swap(CXX, "return cudaErrorNotYetImplemented;", "return cudaSuccess;"),
    "a brace that does not close": swap(CXX, "// TODO: the loop\n}", "// TODO: the loop\n"),
    "a bug in CUDA": swap(CXX_HUNT, "n > 1", "n >= 1"),
    "a block": swap(CXX_BLOCK, "_IMPL.\n", "_IMPL.\nTORCH_LIBRARY_IMPL(a, b, c) { d(); }\n"),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_a_repair_leaves_each_place_open(name: str) -> None:
    """Imports, signatures, given code, and places that stand elsewhere now answer nothing."""
    before, after, python = REPAIRS[name]

    assert all_still_open(before, after, python=python)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_fills_in_a_place(name: str) -> None:
    """Whatever of the stub is left around it."""
    before, after, python = ANSWERS[name]

    assert not all_still_open(before, after, python=python)


def test_all_places_filled() -> None:
    """Nothing is left to write."""
    filled = UNWRITTEN.sub("return 1", PYTHON).replace("# TODO: a line", "return 2")

    assert not all_still_open(PYTHON, filled, python=True)


def test_each_function_that_asks_is_one_place() -> None:
    """A function in a function, too, and code below a TODO of the file is another one."""
    nested = "def outer():\n    def inner():\n        # TODO\n        raise NotImplementedError\n"

    assert (3, 3) == (len(python_places(PYTHON)), len(cxx_places(CXX)))
    assert 1 == len(python_places(nested))
    assert (2, 3) == (len(python_places(REGISTER)), len(cxx_places(CXX_BLOCK)))


def test_a_string_is_no_comment() -> None:
    """Neither TODO nor a brace in it counts, in a raw one of C++ too."""
    assert [] == python_places('x = "# TODO"\n')
    assert [] == cxx_places('auto x = R"a(// TODO {)a"; auto y = "// TODO"; char z = \'{\';')


def test_comments_are_no_code() -> None:
    """Of a line and of a block, in C++; a directive is code."""
    assert same_code("int a; // b\n", "/* c\n */ int a;", python=False)
    assert not same_code('x("// a");', 'x("// b");', python=False)
    assert not same_code("#define A 1\n", "#define A 2\n", python=False)


def test_a_docstring_is_no_code() -> None:
    """Of a module, a class or a function; what is no Python is its text."""
    plain = "class A:\n    def f(self):\n        return 1\n"
    described = (
        '"""M."""\nclass A:\n    """C."""\n    def f(self):\n        """F."""\n        return 1\n'
    )

    assert same_code(plain, described, python=True)
    assert python_code("") == python_code('"""Only a brief."""')
    assert "a b\0" == python_code("a b\0")


def stubs() -> list[Path]:
    """Return the files of the course that say where to write."""
    files = [*ROOT.glob("katas/lecture*/k*.py"), *ROOT.glob("katas/lecture*/csrc/k*")]
    return sorted(file for file in files if TODO.search(file.read_text(encoding="utf-8")))


def test_every_stub_of_the_course_can_be_repaired_and_answered() -> None:
    """An import leaves its places open; an answer in the last place does not."""
    for file in stubs():
        text = file.read_text(encoding="utf-8")
        python = file.suffix == ".py"
        old, new = ("import ", "import os\nimport ") if python else ("#incl", "#include <a>\n#incl")

        assert all_still_open(text, text.replace(old, new, 1), python=python), file
        for found in list(UNWRITTEN.finditer(text))[-1:]:
            answer = "return 1" if found[0].startswith("raise") else "return x"
            filled = text[: found.start()] + answer + text[found.end() :]
            assert not all_still_open(text, filled, python=python), (file, found[0])
