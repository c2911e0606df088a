"""What of a C++ source is code, and its tokens."""

from __future__ import annotations

import pytest

from plugins.tools.cxx import TOKEN
from plugins.tools.cxx import code_of
from plugins.tools.cxx import line_number
from plugins.tools.cxx import without_directives


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a; // b\nc;", "a;     \nc;"),
        ("a; // b \\\n c\nd;", "a;       \n  \nd;"),
        ("a /* b\nc */ d", "a     \n     d"),
        ("a /* b\n", "a     \n"),
        ('f("a // \\" b");', "f(           );"),
        ("a = 'b' + '\\'';", "a =     +     ;"),
        ("a = u8'b' + L'c';", "a =       +     ;"),
        ("a = 1'000'000 + 0xFF'FF;", "a = 1'000'000 + 0xFF'FF;"),
        ('a = R"(b " // c)" + LR"x(d)" e)x";', f"a = {' ' * 13} + {' ' * 13};"),
    ],
)
def test_what_is_no_code_becomes_blanks(text: str, code: str) -> None:
    """Comments, strings and characters; everything else stays where it is."""
    assert code == code_of(text)


def test_a_directive_goes_on_after_a_backslash() -> None:
    """Its lines stay lines."""
    assert "a\n          \n  \nb" == without_directives("a\n#define C\\\n d\nb")


def test_tokens_are_words_numbers_and_signs() -> None:
    """A number with all that belongs to it; ``::`` is one sign."""
    tokens = [found[0] for found in TOKEN.finditer("a::b_1 += 1'0.5f<<c;")]

    assert ["a", "::", "b_1", "+", "=", "1'0.5f", "<", "<", "c", ";"] == tokens


def test_lines_are_counted_from_one() -> None:
    """As editors do."""
    assert [1, 1, 2] == [line_number("a\nb", position) for position in range(3)]
