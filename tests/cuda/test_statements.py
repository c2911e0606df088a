"""The statements that are no whole lines, which the simulator counts by."""

from __future__ import annotations

import pytest

from plugins.cuda.statements import statement_spans


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a = b;\nc = d;\n", []),
        ("a = b +\n    c;\nd = e;\nf(g,\n  h,\n  i);", ["1:1-2:6", "4:1-6:5"]),
        ("a = b; c = d;\n  e = f;\n", ["1:1-1:6", "1:8-1:13"]),
        # A comment or a directive is no part of one, and has no semicolon.
        ("a = b + // c;\n    d;\n#define X a; \\\n  b\ne = /* ; */\n f;", ["1:1-2:6", "5:1-6:3"]),
        # Columns are in bytes.
        ("/* \u00e9 */ a = b; c;", ["1:10-1:15", "1:17-1:18"]),
        # The head of a loop or a branch is apart from its body.
        ("for (int i = 0;\n     i < n; ++i)\n  a[i] =\n    0;", ["1:1-2:16", "3:3-4:6"]),
        ("if (a) b = c;\nelse\n  d = e;", ["1:1-1:6", "1:8-1:13", "2:1-3:8"]),
        (
            "if constexpr (a &&\n b) {\n  c;\n}\nwhile (a)\n  b;\ndo {\n  c;\n} while (d);",
            ["1:1-2:3", "9:3-9:11", "9:12-9:12"],
        ),
        # Braces that hold statements, and braces that hold values.
        ("void f(int a,\n       int b) {\n  c = d;\n}\n", ["1:1-2:13"]),
        (
            "float v[2] = {a,\n  b};\nreturn Pair{a,\n  b};\ng({1,\n 2});",
            ["1:1-2:5", "3:1-4:5", "5:1-6:5"],
        ),
        ("struct A {\n  int b;\n  int c;\n};\nnamespace b {\nint c;\n}", []),
        ("template <class T>\nstruct A\n{\n  int b;\n};", ["1:1-2:8"]),
        ("switch (a) {\n  case 1: {\n    b;\n  }\n  default:\n    c;\n}", ["5:3-6:6"]),
        (
            "auto f = [&](int a) -> int {\n  b;\n  return c +\n    d;\n};\ng;",
            ["1:1-2:4", "3:3-4:6"],
        ),
        ("f([&](int a) {\n  b;\n  c;\n});\n", []),
        ("A() : a{1}, b{2} {\n  c;\n  d;\n}\n", ["1:1-2:4"]),
        # What does not compile anyway.
        (")\n]}\n;", ["1:1-3:1"]),
        ("a = (b\n", []),
    ],
)
def test_statements_that_are_no_whole_lines(text: str, spans: list[str]) -> None:
    """From their first line and column to their last."""
    found = statement_spans(text)

    assert spans == ["-".join(f"{line}:{column}" for line, column in span) for span in found]
