"""The statements with several lines, which the simulator counts by."""

from __future__ import annotations

import pytest

from plugins.native.cudastatements import long_statements


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a = b;\nc = d;\n", []),
        ("a = b +\n    c;\nd = e;\nf(g,\n  h,\n  i);", [(1, 2), (4, 6)]),
        # A comment or a directive is no part of one, and has no semicolon.
        ("a = b + // c;\n    d;\n#define X a; \\\n  b\ne = /* ; */\n f;", [(1, 2), (5, 6)]),
        # The head of a loop or a branch is apart from its body.
        ("for (int i = 0;\n     i < n; ++i)\n  a[i] =\n    0;", [(1, 2), (3, 4)]),
        ("if (a)\n  b = c;\nelse\n  d = e;", [(3, 4)]),
        ("if constexpr (a &&\n b) {\n  c;\n}\nwhile (a)\n  b;\ndo {\n  c;\n} while (d);", [(1, 2)]),
        # Braces that hold statements, and braces that hold values.
        ("void f(int a,\n       int b) {\n  c = d;\n}\n", [(1, 2)]),
        ("float v[2] = {a,\n  b};\nreturn Pair{a,\n  b};\ng({1,\n 2});", [(1, 2), (3, 4), (5, 6)]),
        ("struct A {\n  int b;\n  int c;\n};\nnamespace b {\nint c;\n}", []),
        ("template <class T>\nstruct A\n{\n  int b;\n};", [(1, 2)]),
        ("switch (a) {\n  case 1: {\n    b;\n  }\n  default:\n    c;\n}", [(5, 6)]),
        ("auto f = [&](int a) -> int {\n  b;\n  return c +\n    d;\n};\ng;", [(1, 2), (3, 4)]),
        ("f([&](int a) {\n  b;\n  c;\n});\n", []),
        ("A() : a{1}, b{2} {\n  c;\n  d;\n}\n", [(1, 2)]),
        # What does not compile anyway.
        (")\n]}\n;", [(1, 3)]),
        ("a = (b\n", []),
    ],
)
def test_statements_with_several_lines(text: str, spans: list[tuple[int, int]]) -> None:
    """From their first line to their last."""
    assert spans == long_statements(text)
