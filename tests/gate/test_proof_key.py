"""What is the same for a key: layout, comments and messages; and what is not, by language."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from tests.gate.answers import Wrong
from tests.gate.cxxsyntax import cxx_syntax_of
from tests.gate.edits import edit_of
from tests.gate.syntax import deciding


SAME = [
    ("assert x", "assert x, f'{x} is none'"),
    ("assert x", "assert x, said(x)"),
    ("raise E('a')", "raise E('b' + c)"),
    ("raise E('a', 3)", "raise E(f'{b}', 3)"),
    ("pytest.fail('a')", "pytest.fail(a % b)"),
    ("pytest.fail(reason='a')", "pytest.fail()"),
    ("check(x, msg=a)", "check(x)"),
    ("check(x, msg=lambda text: f(text))", "check(x)"),
    ("check(x, msg=f'{f(x)}')", "check(x, msg=f'of {f(x)}:')"),
    ("def f():\n    assert x", "def f():\n    says = 'a'\n    assert x, says"),
    ("def f():\n    f(2)\n    assert x", "def f():\n    f(2)\n    a = f'{b}'\n    assert x, a + c"),
    (
        "def f():\n    says = f'{g(1)}'\n    assert x, says",
        "def f():\n    says = f'{g(1)}, no'\n    assert x, says",
    ),
    ("class A:\n    'Words.'\n    x = 1", "class A:\n    '''Text.'''\n\n    x = (1)  # Why."),
    ("async def f(): 'a'; return 1", "async def f(): return 1"),
]
DIFFERENT = [
    ("assert x", "assert y"),
    ("raise E('a')", "raise F('a')"),
    ("raise E(a)", "raise E(b)"),
    ("raise E('a', 3)", "raise E('a', 4)"),
    ("raise E(key='a')", "raise E(key='b')"),
    ("raise e", "raise f"),
    ("self.fail('a')", "self.fail('b')"),
    ("fail('a')", "fail('b')"),
    ("check(x, says='a')", "check(x, says='b')"),
    ("check(x, msg=f'{f(x)}')", "check(x, msg=f'{f(y)}')"),
    ("pytest.raises(E, match='a')", "pytest.raises(E, match='b')"),
    # Text that something else uses as well, or that has its name elsewhere.
    (
        "def f():\n    a = 'a'\n    assert x, a\n    g(a)",
        "def f():\n    a = 'b'\n    assert x, a\n    g(a)",
    ),
    ("def f():\n    a = 'a'\n    return 1", "def f():\n    a = 'b'\n    return 1"),
    ("a = 'a'\nassert x, a", "a = 'b'\nassert x, a"),
    (
        "def f():\n    a = f'{g(1)}'\n    assert x, a",
        "def f():\n    a = f'{g(2)}'\n    assert x, a",
    ),
    ("def f():\n    a = b = 'a'\n    assert x, a", "def f():\n    a = b = 'b'\n    assert x, a"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_what_is_said_decides_nothing(first: str, second: str) -> None:
    """A message may be another, or be there or not."""
    assert deciding(first) == deciding(second)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_what_looks_like_a_message(first: str, second: str) -> None:
    """Anything else decides: what a message calls before it is known to be shown, too."""
    assert deciding(first) != deciding(second)


CXX_SAME = [
    ("int x = a + b;", "int  x=a+b ; // Sum."),
    ("int x;\nint y;", "int x; /* two\nlines */ int y;"),
    ("int x;", "// a \\\n still a comment\nint x;"),
    ("#define F(x) (x)\nint y;", "# define F(x)  (x) // One.\n\n\nint y;"),
    ("#define F(x) (x) + 1\n", "#define F(x) (x) \\\n  + 1\n"),
    ("f<<<1, 2>>>(x);", "f <<<1,2>>> (x);"),
    ("auto x = 1'000; // it's\nint y;", "auto x = 1'000;\nint y;"),
]
CXX_DIFFERENT = [
    ('auto x = "// a";', 'auto x = "// b";'),
    ('auto x = "a  b";', 'auto x = "a b";'),
    ('auto x = R"(// a\n"//)";', 'auto x = R"(// a\n"/)";'),
    ('auto x = LR"y(a )" b)y"; f();', 'auto x = LR"y(a )" c)y"; f();'),
    ("char x = '\"'; // a\"\n", "char x = '\"'; f(); // a\"\n"),
    ("#define F(x) 1", "#define F (x) 1"),
    ("#define F\n(1)", "#define F (1)"),
    ("int x;", "intx;"),
    ("x = a+ +b;", "x = a++b;"),
    ("x = 1'000;", "x = 1'001;"),
    ("// tier: small\nint x;", "// tier: full\nint x;"),
    ("#error don't\nint x;", "#error don't\nint y;"),
]


@pytest.mark.parametrize(("first", "second"), CXX_SAME)
def test_layout_of_cxx(first: str, second: str) -> None:
    """White space and comments are none of its tokens."""
    assert cxx_syntax_of(first) == cxx_syntax_of(second)


@pytest.mark.parametrize(("first", "second"), CXX_DIFFERENT)
def test_tokens_of_cxx(first: str, second: str) -> None:
    """What looks like a comment may be text, and a blank and a line may count."""
    assert cxx_syntax_of(first) != cxx_syntax_of(second)


SOLUTION = '''
@cache
def f(x):
    """Words: one."""
    if x < 1:
        return one
    elif x < 2:
        raise E("low")
    # A note: none.
    return 3


class A:
    x = 1
'''
WRONG = Wrong("", "", "a.py")


def made(wrong: Wrong, solution: str = SOLUTION) -> str:
    """Return what an edit makes of the solution."""
    return edit_of(solution, ast.parse(solution), wrong)


@pytest.mark.parametrize(
    ("replace_", "by"),
    [
        ("x < 1", "x < 3"),
        ("elif x < 2", "elif x > 2"),
        ('"low"', '"high"'),
        ("@cache\n", ""),
        ("return 3", "return 4"),
        ("    x = 1\n", "    x = 2\n"),
        ("    return 3\n\n\nclass A:", "    return 4\n\n\nclass B:"),
        ("Words: one", "Words: two"),
    ],
)
def test_an_edit_is_what_it_makes_of_the_solution(replace_: str, by: str) -> None:
    """Wherever the lines are; another edit of the same place is another."""
    edit = replace(WRONG, replace=replace_, by=by)
    other = replace(edit, by=f"{by}\n\n\n# Why.")
    moved = SOLUTION.replace("# A note: none.\n", "# A note: none,\n    # or two.\n")

    assert made(edit) == made(edit, moved)
    assert made(edit) != made(replace(edit, by=replace_))
    assert made(edit) != made(replace(edit, by=by + "0"))
    if by.startswith("return"):
        assert made(edit) == made(other)


def test_the_same_edit_elsewhere() -> None:
    """It is another one, although the statement is the same afterwards."""
    twice = "if a:\n    x = 1\nelse:\n    x =  1\ntry:\n    y()\nexcept E:\n    x   = 1\n"
    places = [
        made(replace(WRONG, replace=text, by="x = 2"), twice)
        for text in ("x = 1", "x =  1", "x   = 1")
    ]

    assert 3 == len(set(places))


def test_a_new_body() -> None:
    """Its layout and comments do not count."""
    edit = replace(WRONG, function="f", body="\nreturn 1\n")

    assert made(edit) == made(replace(edit, body="    # One.\n    return (1)\n"))
    assert made(edit) != made(replace(edit, body="return 2"))
    assert made(edit) != made(replace(edit, function="g"))


def test_an_edit_that_is_none() -> None:
    """It counts as it is written: it does not fit, or what it makes is no Python."""
    for edit in (
        replace(WRONG, replace="nowhere", by="x"),
        replace(WRONG, replace="x < 1", by="x <"),
        replace(WRONG, replace="# A note", by="# No note"),
        replace(WRONG, function="f", body="return ("),
    ):
        assert made(edit) == repr((edit.replace, edit.by, edit.function, edit.body))


def test_an_edit_of_cxx() -> None:
    """All that it makes of the file."""
    edit = replace(WRONG, file="a.cpp", replace="a + b", by="a - b")

    assert edit_of("x = a + b;", None, edit) == edit_of("// Why.\nx = a + b;", None, edit)
    assert edit_of("x = a + b;", None, edit) != edit_of("y = a + b;", None, edit)
