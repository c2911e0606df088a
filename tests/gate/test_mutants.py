"""The mutants: which edits are made, how they are named, and which code is left alone."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

import pytest

from tests.gate.answers import Equivalent
from tests.gate.cxxmutants import cxx_mutants
from tests.gate.mutant import Mutant
from tests.gate.mutant import diff_of
from tests.gate.mutant import matches
from tests.gate.mutant import sampled
from tests.gate.pymutants import python_mutants


def changes(line: str, operator: str) -> set[str]:
    """Return the mutants of a line of a function by one operator."""
    solution = f"def f(a, b, x):\n    {line}\n"
    mutants = python_mutants(solution, "", "k01_first.py")
    assert all(mutant.function == "f" for mutant in mutants)
    chosen = [mutant for mutant in mutants if mutant.operator == operator]
    return {mutant.text.splitlines()[1].strip() for mutant in chosen}


@pytest.mark.parametrize(
    ("line", "operator", "expected"),
    [
        ("return a < b", "comparison", {"return (a <= b)", "return (a >= b)"}),
        ("return a is b", "comparison", {"return (a is not b)"}),
        ("return a < b < x", "comparison", {f"return (a {o} b < x)" for o in ("<=", ">=")}
            | {f"return (a < b {o} x)" for o in ("<=", ">=")}),
        ("return x * (a - b)", "arithmetic", {"return (x + (a - b))", "return x * ((a + b))"}),
        ("return -a", "arithmetic", {"return a"}),
        ("a[0] += b", "arithmetic", {"a[0] -= b"}),
        ("return a and b", "boolean", {"return (a or b)"}),
        ("return not a", "boolean", {"return a"}),
        ("return a and b", "removed condition", {"return a", "return b"}),
        ("return a if x else b", "removed condition",
            {"return a if True else b", "return a if False else b"}),
        ("return [y for y in a if y]", "removed condition", {"return [y for y in a if True]"}),
        ("while a: b()", "removed condition", {"while False: b()"}),
        ("return a(True)", "constant", {"return a(False)"}),
        ("return a(3)", "constant", {"return a(4)", "return a(2)"}),
        ("return a(0.5)", "constant", {"return a(1.5)"}),
        ("return a('b')", "constant", {"return a('bXX')"}),
        ("a.append(b)", "removed statement", {"pass"}),
        ("a[b] = x", "removed statement", {"pass"}),
        ("raise a", "removed statement", {"pass"}),
        ("return a", "removed statement", {"return None"}),
        ("return a(b, x=b)", "dropped argument", {"return a(b)"}),
        ("return a(b, x)", "swapped arguments", {"return a(x, b)"}),
        ("return a[1:b]", "slice", {"return a[2:b]", "return a[1:b - 1]", "return a[1:b + 1]"}),
        ("return a[::b]", "slice", {"return a[1::b]", "return a[:-1:b]", "return a[:]"}),
        ("with a: b()", "removed context", {'with __import__("contextlib").nullcontext(): b()'}),
    ],
)  # fmt: skip
def test_an_operator_of_python(line: str, operator: str, expected: set[str]) -> None:
    """Each operator makes exactly these edits of the line."""
    assert changes(line, operator) == expected


@pytest.mark.parametrize(
    "line",
    [
        '"""A docstring, in which 1 < 2."""',
        "import a1",
        "x: int",
        "pass  # f(1 < 2)",
        "...",
    ],
)  # fmt: skip
def test_a_line_without_mutants(line: str) -> None:
    """Docstrings, imports and bare annotations have none."""
    assert python_mutants(f"def f():\n    {line}\n", "", "f.py") == []


def test_what_is_for_people_or_linters_is_left_alone() -> None:
    """Messages of exceptions, annotations, __all__, f-strings and zip(strict=) stay."""
    solution = """
__all__ = ["f"]


def f(a: "1 < 2") -> "3":
    assert a, "no 4"
    raise ValueError(f"{a} < 5", 6)


def g(a, b):
    yield from zip(a, b, strict=True)
"""
    operators = {(m.function, m.operator) for m in python_mutants(solution, "", "f.py")}

    assert operators == {
        ("f", "removed statement"),
        ("g", "removed statement"),
        ("g", "swapped arguments"),
    }


def test_what_the_stub_gives_is_left_alone() -> None:
    """Functions, methods and assignments that the stub has too are not the learner's."""
    given = "LIMIT = 3\n\n\ndef given(a):\n    return a + 1\n\n\n"
    body = "    size = 4\n\n    def mine(self):\n        raise NotImplementedError\n"
    stub = f"{given}class C:\n{body}"
    solution = stub.replace("raise NotImplementedError", "return 5")

    assert {mutant.function for mutant in python_mutants(solution, stub, "f.py")} == {"C.mine"}


def test_decorators_are_removed_but_those_for_types() -> None:
    """A decorator with an effect is replaced by one without."""
    solution = "@a.cache\n@typing.override\ndef f(): return 1\n"
    diffs = [m.diff for m in python_mutants(solution, "", "f.py") if "decorator" in m.operator]

    assert diffs == ["-@a.cache\n+@lambda it: it"]


def test_columns_are_counted_in_bytes() -> None:
    """Text beyond ASCII before an edit does not shift it."""
    texts = [m.text for m in python_mutants("a('é', 1)\n", "", "f.py") if m.operator == "constant"]

    assert texts == ["a('éXX', 1)\n", "a('é', 2)\n", "a('é', 0)\n"]


CXX = """// tier: small
#include <a.h> // 1 < 2
int clamp(int x, int low) {
  // 3 < 4
  if (x < low) {
    TORCH_CHECK(x > 0, "5 < 6");
  }
  return f(x, low);
}
"""


def test_the_operators_of_cxx() -> None:
    """Conditions, operators, constants, statements and arguments of the code change."""
    mutants = cxx_mutants(CXX, "", "csrc/k01.cpp")
    found = {(m.operator, line) for m in mutants for line in m.diff.splitlines() if line[0] == "+"}

    assert found == {
        ("comparison", "+  if (x <= low) {"),
        ("comparison", "+  if (x >= low) {"),
        ("comparison", '+    TORCH_CHECK(x >= 0, "5 < 6");'),
        ("comparison", '+    TORCH_CHECK(x <= 0, "5 < 6");'),
        ("constant", '+    TORCH_CHECK(x > 1, "5 < 6");'),
        ("constant", '+    TORCH_CHECK(x > -1, "5 < 6");'),
        ("removed condition", "+  if (true) {"),
        ("removed condition", "+  if (false) {"),
        ("removed statement", "+    ;"),
        ("swapped arguments", "+  return f(low, x);"),
    }
    assert {mutant.function for mutant in mutants} == {"clamp"}


def test_lines_of_the_cxx_stub_are_left_alone() -> None:
    """Only lines that the learner writes are mutated."""
    stub = CXX.replace("  return f(x, low);\n", "  // TODO\n")

    assert [m.diff for m in cxx_mutants(CXX, stub, "csrc/k01.cpp")] == [
        "-  return f(x, low);\n+  return f(low, x);"
    ]


def mutant(line: int, diff: str, nth: int = 1) -> Mutant:
    """Return a mutant with this line, diff and number."""
    return Mutant("f.py", "f", "constant", line, diff, "", nth)


def test_a_sample_is_stable() -> None:
    """The order depends on a mutant's key alone: not on its line, nor on the other mutants."""
    mutants = [mutant(line, f"-{line}\n+{line + 1}") for line in range(20)]
    order = sampled(mutants, "lecture01/k01_first")
    fewer = sampled(mutants[5:], "lecture01/k01_first")

    assert order != mutants
    assert sampled(reversed(mutants), "lecture01/k01_first") == order
    assert [each for each in order if each in fewer] == fewer
    assert sampled(mutants, "lecture01/k02_second") != order


def test_an_equivalent_mutant_is_known_by_its_key() -> None:
    """Indentation does not matter; nth matters only where it is given."""
    listed = Equivalent("f.py", "f", "constant", "\n-   a = 1\n+ a = 2\n", "because")
    second = Equivalent("f.py", "f", "constant", "-a = 1\n+a = 2", "because", nth=2)

    assert matches(mutant(3, "-        a = 1\n+        a = 2"), listed)
    assert not matches(mutant(3, "-a = 1\n+a = 0"), listed)
    assert not matches(mutant(3, "-a = 1\n+a = 2"), second)
    assert matches(mutant(3, "-a = 1\n+a = 2", nth=2), second)


def test_one_line_instead_of_another_is_the_diff() -> None:
    """It needs no search for the lines that are the same, and is what the search would find."""
    old = "a\nb = f(1)\nc\n"
    for new in ("b = f(2)", "b", "  b = f(1)", "? b"):
        lines = [*difflib.ndiff(["b = f(1)"], [new])]
        searched = [sign + line[2:] for sign in "-+" for line in lines if line[0] == sign]
        assert diff_of(old, f"a\n{new}\nc\n") == "\n".join(searched)


def test_a_statement_is_parsed_as_in_its_module() -> None:
    """With its decorators, with those on its line, and with the module's `from __future__`."""
    solution = """
from __future__ import annotations
@given
@cache
def f(a: "(b") -> None:
    \"\"\"É.\"\"\"
    return a + 1
a = 1; b = a + 1
if a: b = f(é=a)
"""
    mutants = python_mutants(solution, "", "f.py")

    assert ("", "constant") in {(m.function, m.operator) for m in mutants}
    assert ("f", "removed decorator") in {(m.function, m.operator) for m in mutants}
    trees = {ast.dump(ast.parse(m.text)) for m in mutants}
    assert len(trees) == len(mutants)
    assert ast.dump(ast.parse(solution)) not in trees


def test_every_mutant_of_a_real_solution_compiles() -> None:
    """Each mutant is valid Python, and differs from the solution."""
    folder = Path(__file__).parents[2] / "katas" / "lecture02"
    name = "k13_gather.py"
    solution = (folder / "solutions" / name).read_text()
    mutants = python_mutants(solution, (folder / name).read_text(), name)

    assert len(mutants) > 50
    for each in mutants:
        compile(each.text, name, "exec")
        assert each.text != solution
