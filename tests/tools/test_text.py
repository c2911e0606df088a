"""What strangers write becomes text and links without harm."""

from __future__ import annotations

import pytest

from plugins.plaintext import links_in
from plugins.plaintext import plain
from plugins.plaintext import printable
from plugins.plaintext import shortened


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
    """Tags go, the content of scripts goes with them, and escaping does not hide either."""
    assert expected == plain(text)


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
    """Neither colours nor titles, links, the clipboard, new lines or another direction."""
    assert expected == printable(text)


def test_what_a_message_quotes_is_short() -> None:
    """A text above the limit is cut and says so; one at the limit is whole."""
    assert "abc" == shortened("abc", 3)
    assert "abc ..." == shortened("abcd", 3)
    assert "x" * 500 + " ..." == shortened("x" * 1_000_000)


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
    """What is linked or stands in the text, in order, each once, and http or https only."""
    assert expected == list(links_in(notes))
