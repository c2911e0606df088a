"""Markdown shows the text that it is given, and interprets none of it."""

from __future__ import annotations

import pytest

from plugins.tools.markdown import LONGEST
from plugins.tools.markdown import markdown_code
from plugins.tools.markdown import markdown_row
from plugins.tools.markdown import markdown_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain words, 字", "plain words, 字"),
        ("a|b", "a&#124;b"),
        ("<img>", "&#60;img&#62;"),
        ("[x](y)", "&#91;x&#93;(y)"),
        ("@someone #12", "&#64;someone &#35;12"),
        ("`c` &lt; *d*", "&#96;c&#96; &#38;lt; &#42;d&#42;"),
        ("two\n\tlines \x1b[31mred\x1b[0m", "two lines red"),
        ("_so_ __init__ _", "&#95;so&#95; &#95;&#95;init&#95;&#95; &#95;"),
        ("https://a.b :tada: :+1:", "https&#58;//a.b &#58;tada: &#58;+1:"),
        ("see www.a.b or gh-12", "see www&#46;a.b or gh&#45;12"),
        ("- no list", "&#45; no list"),
        ("+ no list", "&#43; no list"),
        ("---", "&#45;--"),
        ("12. no list", "12&#46; no list"),
        ("12) no list", "12&#41; no list"),
    ],
)
def test_text_is_shown_unchanged(text: str, expected: str) -> None:
    """It becomes no HTML, link, mention, emphasis or cell of a table, and is one line."""
    assert expected == markdown_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "test_windows_of waits for parse_schema",
        "Sizes, strides: C++, im2col (twice), 20:31",
        "3.14 is no list, and a half-open {range} is no rule!",
    ],
)
def test_text_is_readable_in_its_source(text: str) -> None:
    """What Markdown takes as it is stands as it is."""
    assert text == markdown_text(text)


def test_a_long_text_is_cut_between_words() -> None:
    """The limit counts what Markdown shows, not the entities."""
    shown = markdown_text("word " * 100)

    assert LONGEST >= len(shown)
    assert shown.endswith("word ...")
    assert "&#60;ne ..." == markdown_text("<ne two three", 10)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain", "`plain`"),
        ("@someone <b>#7</b>", "`@someone <b>#7</b>`"),
        ("a `b` c", "`` a `b` c ``"),
        ("a ``b", "``` a ``b ```"),
        ("a|b", "`a|b`"),
        ("two\nlines\x1b[31m", "`two lines`"),
    ],
)
def test_code_holds_any_text(text: str, expected: str) -> None:
    """It does not end the code, and is one line."""
    assert expected == markdown_code(text)


@pytest.mark.parametrize(
    ("cells", "row"),
    [
        ([], "|"),
        (["a", "", "`b`"], "| a |  | `b` |"),
        (["`a|b`"], r"| `a\|b` |"),
        ([r"`a\|b`"], r"| `a\ \|b` |"),
        ([r"`a\\|b`"], r"| `a\\ \|b` |"),
    ],
)
def test_a_row_has_its_cells(cells: list[str], row: str) -> None:
    """No bar ends one."""
    assert row == markdown_row(cells)


def test_long_code_is_cut() -> None:
    """A word that is longer than the limit too: a message may have no spaces."""
    assert f"`{'x' * 160} ...`" == markdown_code("x" * 1000)
