"""Tests of k12_expect: sources run, are accepted, and run again; expecttest is the oracle."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture27.k12_expect import UnstableError
from katas.lecture27.k12_expect import accept
from katas.lecture27.k12_expect import literal


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"))
# A sample source with two expectations, the first of which spans two lines.
SOURCE = """\
# Graphs of two functions.
def test_graphs():
    expect(graph(f), '''\\
relu
''')  # by symbolic_trace
    expect(graph(g), '''neg''')
    x = 1
"""


def run(source: str, actual: dict[str, str]) -> list[tuple[int, str]]:
    """Run a source that calls `expect`; return the lines and texts that differ."""
    found: list[tuple[int, str]] = []

    def expect(text: str, expected: str) -> None:
        if text != expected:
            frame = sys._getframe(1)  # noqa: SLF001 - as expecttest finds its line
            found.append((frame.f_lineno, text))

    names: dict[str, object] = {"expect": expect, "graph": actual.__getitem__, "f": "f", "g": "g"}
    exec(source, names)  # noqa: S102 - our own source
    names["test_graphs"]()  # type: ignore[operator]
    return found


def check(source: str, found: list[tuple[int, str]], expected: str) -> None:
    """Compare the accepted source."""
    __tracebackhide__ = True
    yours = accept(source, found)
    assert yours == expected, (
        f"(line, text): {found}\n--- source\n{source}\n--- yours\n{yours}\n--- expected\n{expected}"
        f"\nyours {yours!r}\nexpected {expected!r}: change no byte outside the literals"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("relu", "'''relu'''"),
        ("", "''''''"),
        ("add\nrelu\n", "'''\\\nadd\nrelu\n'''"),
        ("it's", r"'''it\'s'''"),
        ("a\\n", r"'''a\\n'''"),
    ],
    ids=["word", "empty", "lines", "quote", "backslash"],
)
def test_literal(text: str, expected: str) -> None:
    """Your literal is the one that a person would write."""
    yours = literal(text)
    assert yours == expected, f"for {text!r} yours is {yours}, expected {expected}"


@given(TEXTS)
@example("ends in '")
@example("'''")
@example("\\'")
@example("\n\\\n")
@example("\N{GREEK SMALL LETTER ALPHA} \\N{DIGIT ONE} \u2028")
def test_literal_of_any_text(text: str) -> None:
    """Python reads it back as the text."""
    yours = literal(text)
    try:
        read = ast.literal_eval(yours)
    except SyntaxError as error:
        raise AssertionError(f"for {text!r} yours is not a literal, {error}:\n{yours}") from error
    assert read == text, f"for {text!r} yours is read as {read!r}:\n{yours}"


def test_one_line() -> None:
    """One word replaces another; the text around it stays."""
    source = "x = 1\nexpect(f(x), '''neg''')  # why\ny = 2\n"
    check(source, [(2, "abs")], source.replace("neg", "abs"))


def test_lines_come_and_go() -> None:
    """Both the old and the new literal span several lines."""
    check(
        "expect(f, '''\\\na\nb\n''')\nx = 1\n",
        [(1, "c")],
        "expect(f, '''c''')\nx = 1\n",
    )
    check(
        "expect(\n    f,\n    '''c''',\n)\nx = 1\n",
        [(1, "a\nb\n")],
        "expect(\n    f,\n    '''\\\na\nb\n''',\n)\nx = 1\n",
    )


@pytest.mark.parametrize("turn", [1, -1], ids=["downwards", "upwards"])
def test_two_at_once(turn: int) -> None:
    """The first literal gets more lines, and the second is still found, in either order."""
    found = [(3, "add\nrelu\n"), (6, "abs\n")][::turn]
    expected = SOURCE.replace("relu", "add\nrelu").replace("'''neg'''", "'''\\\nabs\n'''")
    check(SOURCE, found, expected)


def test_ten_at_once() -> None:
    """Line 10 comes after line 9: sort as numbers, not as strings."""
    source = "".join(f"expect(f{n}, '''{n}''')\n" for n in range(1, 12))
    found = [(n, f"{n}\n{n}\n") for n in range(1, 12)]
    expected = "".join(f"expect(f{n}, '''\\\n{n}\n{n}\n''')\n" for n in range(1, 12))
    check(source, found, expected)


def test_nothing_has_failed() -> None:
    """Without failures, nothing changes."""
    check(SOURCE, [], SOURCE)


def test_letters_of_two_bytes() -> None:
    """Columns count bytes: the letters before the literal take two and three."""
    source = "expect('\u00e4\u20ac', '''\u00fc''') or '\u00df'\n"
    check(source, [(1, "\u00e4\u20ac")], source.replace("'''\u00fc'''", "'''\u00e4\u20ac'''"))


def test_not_a_byte_outside() -> None:
    """Only a newline ends a line, and the last line may lack one."""
    source = "# a\x0cb\u2028c\r\nexpect(f, '''a''')\r\nx = 1"
    check(source, [(2, "b")], source.replace("'''a'''", "'''b'''"))


def test_other_literals_in_the_call() -> None:
    """The expectation is the last argument, not the first string."""
    source = "expect(show('''a''', \"\"\"b\"\"\"), '''c''')\n"
    check(source, [(1, "d")], source.replace("'''c'''", "'''d'''"))


def test_a_call_within_a_call() -> None:
    """The outer call begins above the inner call, and its literal comes after it."""
    source = "expect(show(\n    expect(g, '''\\\na\nb\n'''),\n), '''c''')\nx = 1\n"
    found = [(1, "d"), (2, "e")]
    expected = "expect(show(\n    expect(g, '''e'''),\n), '''d''')\nx = 1\n"
    check(source, found, expected)
    check(source, found[::-1], expected)


def test_one_text_twice() -> None:
    """In a loop an expectation may fail repeatedly with the same text."""
    check(SOURCE, [(6, "abs"), (6, "abs")], SOURCE.replace("neg", "abs"))


def test_two_texts() -> None:
    """A parametrized test has one literal for all parameters, so its texts may differ."""
    with pytest.raises(UnstableError):
        pytest.fail(
            "line 6 has had the texts abs and exp in one run, expected an UnstableError; yours\n"
            + accept(SOURCE, [(6, "abs"), (3, "relu6\n"), (6, "exp")])
        )


def graphs() -> dict[str, str]:
    """Return the operators of two functions as text, from torch.fx's tracer."""
    functions: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "f": lambda x: torch.relu(x + 1),
        "g": lambda x: torch.abs(x - 1),
    }
    found = {}
    for name, function in functions.items():
        nodes = torch.fx.symbolic_trace(function).graph.nodes
        rows = [node.target.__name__ for node in nodes if node.op == "call_function"]
        found[name] = "".join(f"{row}\n" for row in rows)
    return found


def test_run_accept_run() -> None:
    """After accepting once, the tests pass."""
    actual = graphs()
    found = run(SOURCE, actual)
    assert len(found) == 2, "expected two expectations to be out of date"
    accepted = accept(SOURCE, iter(found))
    again = run(accepted, actual)
    assert not again, f"in your accepted source these still differ: {again}\n{accepted}"


def test_as_expecttest_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Your source is the file that expecttest writes, line for line."""
    actual = graphs()
    lines = "".join(f"assert_expected_inline({text!r}, '''old''')\n" for text in actual.values())
    source = f"from expecttest import assert_expected_inline\n{lines}"
    file = tmp_path / "accepted.py"
    file.write_text(source, encoding="utf-8")
    yours = accept(source, [(2, actual["f"]), (3, actual["g"])])
    monkeypatch.setenv("EXPECTTEST_ACCEPT", "1")
    exec(compile(source, str(file), "exec"), {})  # noqa: S102 - our own source
    theirs = file.read_text(encoding="utf-8")
    assert yours == theirs, f"--- yours\n{yours}\n--- expecttest's\n{theirs}"
