"""Text and links of unknown origin become harmless."""

from __future__ import annotations

import ast
import gc
import warnings
from pathlib import Path

import pytest

from plugins.tools.text import cut_printable
from plugins.tools.text import links_in
from plugins.tools.text import parse_python
from plugins.tools.text import printable
from plugins.tools.text import readable
from plugins.tools.text import unwarned
from plugins.tools.text import without_markup


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++ & strides < views", "C++ & strides < views"),
        ("Q&amp;A", "Q&A"),
        ("<b>bold</b> and <i>more", "bold and more"),
        ("<script>alert(1)</script>Strides", "Strides"),
        ("<style>p { }</style>Strides<script>never closed", "Strides"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;Strides", "Strides"),
        ("&amp;amp;lt;b&amp;amp;gt;often escaped", "often escaped"),
        ("</b>only the end", "only the end"),
        (" two\n\tlines ", "two lines"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("&#x1b;[31mred", "[31mred"),
        ("", ""),
    ],
)
def test_markup_is_dropped(text: str, expected: str) -> None:
    """Tags are dropped, and scripts with their content; escaping hides neither."""
    assert expected == without_markup(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;the title of your terminal\x07text", "text"),
        ("\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\", "text"),
        ("\x9d52;c;Y2xpcGJvYXJk\x9ctext", "text"),
        ("text\x1bPnever ended", "text"),
        ("\x1b(0line\x1bcreset\x1b", "linereset"),
        ("bell\x07, back\x08, null\x00, delete\x7f", "bell, back, null, delete"),
        ("one\r\ntwo\u2028three", "one two three"),
        ("\u202edesrever", "desrever"),
        ("zero\u200bwidth", "zerowidth"),
        ("grüße, 日本語, 🎧", "grüße, 日本語, 🎧"),
    ],
)
def test_nothing_is_left_for_a_terminal_to_act_on(text: str, expected: str) -> None:
    """No colour, title, link or change of the clipboard, no new line, no other direction."""
    assert expected == printable(text)


def test_a_quoted_text_is_short() -> None:
    """A text above the limit ends with dots; one at the limit is whole."""
    assert "abc" == cut_printable("abc", 3)
    assert "abc ..." == cut_printable("abcd", 3)
    assert "x" * 500 + " ..." == cut_printable("x" * 1_000_000)


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ('<a href="https://a.example">https://a.exam...</a>', ["https://a.example"]),
        ("See https://a.example/b?c=1&amp;d=2.", ["https://a.example/b?c=1&d=2"]),
        (
            "(https://a.example/x_(y)), https://b.example!",
            ["https://a.example/x_(y)", "https://b.example"],
        ),
        ("https://a.example/ 'http://b.example'?", ["https://a.example/", "http://b.example"]),
        (
            '<a href="https://b.example">b</a> https://a.example <a href="https://b.example">',
            ["https://b.example", "https://a.example"],
        ),
        ('<a href="https://b.example">never closed https://a.example', ["https://b.example"]),
        ('<a href="ftp://a.example">a</a><a href="javascript:alert(1)">b</a><a>c</a>', []),
        ('<a href="https://a.example/with space">a</a><a href="//a.example">b</a>', []),
        ('<a href="https://a.example/\x1b[31m">a</a>', ["https://a.example/"]),
        ("<script>https://a.example</script>", []),
        ("", []),
    ],
)
def test_links_of_show_notes(notes: str, expected: list[str]) -> None:
    """Targets of links and addresses in the text, in order, each once; only http and https."""
    assert expected == list(links_in(notes))


def test_text_is_readable() -> None:
    """No colours of a terminal, nothing that reorders, no half characters; lines stay."""
    assert "red \ufffd\ufffd\ufffd\n\tend" == readable(
        "\x1b[1;31mred\x1b[0m \x00\u202e\ud800\n\tend"
    )
    assert "größer\xa0∑ 字 \U0001f600" == readable("größer\xa0∑ 字 \U0001f600")


@pytest.mark.parametrize("action", ["error", "always", "default"])
def test_a_look_up_of_ours_warns_of_nothing(action: str) -> None:
    """Whatever filter is set, it is set again afterwards: what the learner's code does is told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)  # type: ignore[arg-type]
        before = [*warnings.filters]
        with unwarned():
            warnings.warn("ours", FutureWarning, stacklevel=1)
        assert before == warnings.filters
        if action != "error":
            warnings.warn("theirs", FutureWarning, stacklevel=1)

    assert (["theirs"] if action != "error" else []) == [str(each.message) for each in caught]


def test_python_is_read_without_its_warnings() -> None:
    """An unknown escape: Python warns of it when the learner's module is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in ("x = '\\d'", b"x = '\\d'"):
            assert isinstance(parse_python(text), ast.Module)

    with pytest.raises(SyntaxError):
        parse_python("def")


def test_a_parser_is_left_in_peace() -> None:
    """Of Python 3.11, another one that a destructor starts would end it with a SystemError."""

    def parse_too(*_: object) -> None:
        ast.parse("1 + 1")

    text = Path(ast.__file__).read_text(encoding="utf-8")
    threshold = gc.get_threshold()
    gc.callbacks.append(parse_too)
    gc.set_threshold(1)
    try:
        for enabled in (True, False):
            (gc.enable if enabled else gc.disable)()
            assert parse_python(text).body
            assert enabled is gc.isenabled()
    finally:
        gc.callbacks.remove(parse_too)
        gc.set_threshold(*threshold)
        gc.enable()
