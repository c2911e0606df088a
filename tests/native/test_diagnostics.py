"""What a learner sees of the output of clang and g++."""

from __future__ import annotations

import pytest

from plugins.native.diagnostics import Diagnostic
from plugins.native.diagnostics import format_diagnostics
from plugins.native.diagnostics import read_diagnostics


OWN = "katas/lecture04/csrc/k03.cpp"
CLANG_NOTE = f"""\
In file included from /torch/include/torch/library.h:62:
/torch/include/ATen/boxing.h:130:17: error: static assertion failed: NullType
/torch/include/ATen/boxing.h:99:3: note: in instantiation of template class 'intrusive_ptr<int>'
{OWN}:7:5: note: in instantiation of function template 'impl<int>' requested here
{OWN}:1:1: note: and more
1 error generated.
"""
GXX_CONTEXT = f"""\
/torch/include/ATen/boxing.h: In instantiation of 'struct intrusive_ptr<int>':
/torch/include/torch/library.h:690:32:   required from 'impl(const char*)'
{OWN}:7:9:   required from here
/torch/include/ATen/boxing.h:130:17: error: static assertion failed: NullType
/torch/include/ATen/boxing.h:130:17: note: 'false' evaluates to false
"""


@pytest.mark.parametrize("output", [CLANG_NOTE, GXX_CONTEXT], ids=["clang", "g++"])
def test_an_error_in_a_header_is_placed_where_the_learner_caused_it(output: str) -> None:
    """The place is printed after the error by clang, before it by g++."""
    (found,) = read_diagnostics(output, [OWN])

    assert ("static assertion failed: NullType", OWN, 7) == (found.message, found.file, found.line)


def test_an_error_of_the_learners_keeps_its_place() -> None:
    """Warnings and notes are left out, and so is a place before the error."""
    output = (
        f"{OWN}:3:1:   required from here\n"
        f"{OWN}:4:2: warning: unused\n"
        f"{OWN}:5:10: fatal error: 'x.h' file not found\n"
        f"{OWN}:6:1: note: here\n"
    )

    assert [Diagnostic("'x.h' file not found", OWN, 5, 10)] == read_diagnostics(output, [OWN])


def test_an_error_that_is_in_no_file_of_the_learners_has_no_place() -> None:
    """It is the toolchain's, and is not shown."""
    output = "/torch/include/a.h:1:2: error: no\nclang++: error: linker command failed\n"

    found = read_diagnostics(output, [OWN])

    assert [Diagnostic("no")] == found
    assert "" == format_diagnostics(found, {OWN: ""})


def test_an_error_is_shown_with_its_line_and_a_caret() -> None:
    """The caret stands under the column, which counts bytes, also after tabs and umlauts."""
    text = 'a\n\tauto ü = "é" + oops;'
    column = len('\tauto ü = "é" + '.encode()) + 1

    message = format_diagnostics([Diagnostic("what is oops?", OWN, 2, column)], {OWN: text})

    expected = f'{OWN}:2:{column}: error: what is oops?\n\tauto ü = "é" + oops;\n\t               ^'
    assert expected == message


def test_three_errors_are_shown() -> None:
    """Those that follow are mostly consequences."""
    many = [Diagnostic(f"error {number}", OWN, number, 1) for number in range(1, 6)]

    message = format_diagnostics(many, {OWN: "one\ntwo\nthree\nfour\nfive"})

    assert ["one", "two", "three"] == message.splitlines()[1::4]
    assert "error 4" not in message


def test_an_error_after_the_last_line_has_an_empty_line() -> None:
    """A missing brace is noticed there."""
    assert f"{OWN}:2:1: error: expected '}}'\n\n^" == format_diagnostics(
        [Diagnostic("expected '}'", OWN, 2, 1)], {OWN: "int f() {"}
    )
