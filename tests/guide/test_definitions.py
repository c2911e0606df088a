"""What of an exercise a learner writes, in Python and C++."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from plugins.course.model import Kata
from plugins.guide.definitions import closing
from plugins.guide.definitions import definitions
from plugins.guide.definitions import first_named
from plugins.guide.definitions import innermost
from plugins.guide.definitions import names_to_write
from plugins.guide.definitions import places_to_write


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


PYTHON = '''"""The brief."""

import torch

FIRST: int = 1
second = 2
third, fourth = 3, 4

@torch.no_grad()
def run(x: int) -> int:
    """Run.

    Longer.
    """
    # A comment.
    return x

class Tape:
    """A tape."""

    rows = 0

    def record(self):
        """Record."""
        def inner():
            """In."""
        return inner

    class Entry:
        size: int

async def wait(): ...

class Empty:
    def only(self): ...
'''
CXX = """// The brief.
#include <torch/library.h>
#define BRACE {

namespace lecture {

template <typename T>
__global__ void __launch_bounds__(256) scan(const T* x) {
  // TODO
  auto f = [=](int i) { return x[i]; };  // "{"
  g({1, 2}, '{');
}

struct Holder : Base {
  int size() const { return 1; }
};

TORCH_LIBRARY_IMPL(lecture, CPU, m) { m.impl("scan", scan); }
TORCH_LIBRARY_IMPL(lecture, Meta, m) { m.impl("scan", scan); }

call({1, 2});
}  // namespace lecture
"""


def test_a_module_has_functions_methods_classes_and_names() -> None:
    """A class stands for its fields; imports, and targets of several names, are left out."""
    found = definitions(PYTHON, python=True)

    assert list(found) == [
        "FIRST", "second", "run", "Tape", "Tape.record", "Tape.Entry", "wait", "Empty.only"
    ]  # fmt: skip
    assert (9, 16) == (found["run"].line, found["run"].last)
    assert ("@torch.no_grad()", "def run(x: int) -> int:", "    # A comment.", "    return x") == (
        found["run"].shown
    )
    assert ("class Tape:", "    rows = 0") == found["Tape"].shown


def test_a_source_has_functions_and_what_is_in_the_braces_of_macros() -> None:
    """Those of one name are numbered; attributes and lists in braces are no function."""
    found = definitions(CXX, python=False)

    assert list(found) == [
        "scan", "size", "TORCH_LIBRARY_IMPL(lecture,CPU,m)", "TORCH_LIBRARY_IMPL(lecture,Meta,m)"
    ]  # fmt: skip
    assert (7, 12) == (found["scan"].line, found["scan"].last)
    assert "  // TODO" == found["scan"].shown[2]
    twice = definitions("int f(int) { return 1; }\nint f(long) { return 2; }", python=False)
    assert ["f", "f (2)"] == list(twice)


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ('@no_grad()\ndef f(\n    x: int,\n) -> int:  # why\n    """It."""\n    return x', 4),
        ("def f():\n\n    # Why.\n    @g\n    def h(): ...\n    return h", 1),
        ("def f(): return 1", 0),
        ("def f(\n    x): return x", 0),
        ('class F:\n    """It."""\n    x = 1', 1),
        ("f = 1", 0),
    ],
)
def test_the_head_of_a_function_is_known(text: str, head: int) -> None:
    """Up to its colon, with its decorators; a body in the same line is not cut off."""
    (found,) = definitions(text, python=True).values()

    assert head == found.head


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("template <int N>\nint f(int x,\n      int y) {\n  return x;\n}", 3),
        ("int f()\n{\n  return 1;\n}", 2),
        ("int f() { return 1; }", 0),
        ("int f() { return 1;\n}", 0),
        ("int f() {", 0),
    ],
)
def test_the_head_of_a_function_in_cpp_is_known(text: str, head: int) -> None:
    """Up to its brace, at the end of a line."""
    (found,) = definitions(text, python=False).values()

    assert head == found.head


@pytest.mark.parametrize(
    ("text", "python", "names"),
    [
        ("def f(:", True, []),
        ("int f() { return {", False, ["f"]),
        ("(1) { }", False, ["( 1 )"]),
        ("", False, []),
    ],
)
def test_what_is_broken_is_read_as_far_as_it_goes(
    text: str, names: list[str], *, python: bool
) -> None:
    """A learner saves in the middle of a line."""
    assert names == list(definitions(text, python=python))


def test_a_bracket_that_is_never_closed_goes_to_the_end() -> None:
    """As in a source that is being written."""
    assert 2 == closing(["(", "x", ")", "y"], 0)
    assert 3 == closing(["{", "(", ")", "x"], 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("Longer.", "Short."),
        lambda text: text.replace("# A comment.", "# Another."),
        lambda text: text.replace("x: int) -> int", "x)"),
        lambda text: text.replace("In.", "Out."),
    ],
    ids=["docstring", "comment", "annotation", "inner"],
)
def test_comments_docstrings_and_annotations_make_no_difference(
    change: Callable[[str], str],
) -> None:
    """They decide nothing."""
    one, other = definitions(PYTHON, python=True), definitions(change(PYTHON), python=True)

    assert change(PYTHON) != PYTHON
    assert [] == names_to_write(one, other, one)
    assert [] == names_to_write(None, other, one)


def test_the_stub_says_what_is_to_be_written() -> None:
    """Without it that is what differs from the reference; what was added is there too."""
    reference = definitions("def f(): return 1\ndef g(): return 2\ndef given(): pass", python=True)
    stub = definitions("def f(): raise\ndef g(): raise\ndef given(): pass", python=True)
    answer = definitions(
        "def f(): return 1\ndef g(): return 3\ndef given(): pass\ndef mine(): pass", python=True
    )

    assert ["f", "g", "mine"] == names_to_write(stub, answer, reference)
    assert ["g", "mine"] == names_to_write(None, answer, reference)


def test_places_are_where_the_definitions_are_now(tmp_path: Path) -> None:
    """Of a hunt for bugs there are none: they would give the bug away."""
    folder = tmp_path / "lecture01"
    (folder / "solutions").mkdir(parents=True)
    (folder / "k01_a.py").write_text("x = 1\n\n\ndef f(): return 2\n")
    (folder / "solutions/k01_a.py").write_text("def f(): return 1\ndef missing(): return 1\n")
    kata = Kata("lecture01", "k01_a", "", "lab", (), (), (), (), (), (), (), folder)
    places = places_to_write(kata, tmp_path)

    assert ["lecture01/k01_a.py"] == list(places)
    assert [("f", 4), ("x", 1)] == [(each.name, each.line) for each in places["lecture01/k01_a.py"]]
    assert {} == places_to_write(replace(kata, kind="debug"), tmp_path)
    (folder / "k01_a.py").unlink()
    assert {} == places_to_write(kata, tmp_path)


def test_the_innermost_call_in_a_place_counts() -> None:
    """Given code that a learner's function calls is no place to edit."""
    found = definitions(PYTHON, python=True)
    places = {"a.py": [found["run"], found["Tape.record"]]}

    assert ("a.py", 16) == innermost(
        places, [("a.py", 22), ("a.py", 16), ("a.py", 5), ("b.py", 16)]
    )
    assert innermost(places, [("a.py", 5), ("b.py", 16)]) is None


def test_words_name_a_function_a_method_or_a_class() -> None:
    """The first that is named; without a name the first of all."""
    found = definitions(PYTHON, python=True)
    places = {"a.py": [found["run"], found["Tape.record"]]}

    assert ("a.py", 23) == first_named(places, "assert Tape().record() == run(1)")
    assert ("a.py", 23) == first_named(places, "in record: 1 for 2")
    assert ("a.py", 9) == first_named(places, "assert given()")
    assert ("a.py", 23) == first_named(places, "`Tape.record` after run")
    assert first_named({}, "record") is None
