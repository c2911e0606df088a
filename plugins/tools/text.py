"""Makes text and links of unknown origin safe to print and to store, and reads Python quietly."""

from __future__ import annotations

import ast
import gc
import re
import unicodedata
import warnings
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator


# What a terminal acts on (ECMA-48): control sequences, strings that set a title or a link, single
# commands.
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# Unicode's categories of controls, format characters such as a change of the writing direction,
# surrogates and private use.
INVISIBLE = {"Cc", "Cf", "Cs", "Co"}
# Characters that could hide or reorder text: controls, direction marks, lone surrogates.
UNREADABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
LONGEST = 500

# No space and no control character, so a terminal can make it clickable.
ADDRESS = re.compile(r"https?://[!-~]+")
BARE = re.compile(r"https?://[^\s<>\"]+")
# Punctuation at the end of an address belongs to the sentence.
PUNCTUATION = ".,;:!?'\""
SILENT = {"script", "style"}


@contextmanager
def unwarned() -> Iterator[None]:
    """Let what the course does for itself warn of nothing, whatever filter the learner has set.

    A look-up may touch what is deprecated, and Python warns of an escape wherever it reads a text:
    it is the learner's when the learner's code runs into it, and it is shown then.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector away.

    A destructor or a callback that raises makes Python show a traceback, and for that parse a line
    of code: a parser that it has interrupted then ends with a `SystemError` (CPython issue 106905).
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def parse_python(text: str | bytes) -> ast.Module:
    """Return the syntax tree of a module; its warnings are told when it is imported.

    Raises
    ------
    SyntaxError, ValueError
        If it is no Python.
    """
    with unwarned(), uncollected():
        return ast.parse(text)


def printable(text: str) -> str:
    """Return `text` on one line, without anything that a terminal would act on."""
    text = " ".join(ESCAPES.sub("", text).split())
    return "".join(char for char in text if unicodedata.category(char) not in INVISIBLE)


def cut_printable(text: str, longest: int = LONGEST) -> str:
    """Return `text` made printable, and cut to a length that fits into a message."""
    text = printable(text[: 10 * longest])
    return text if len(text) <= longest else f"{text[:longest]} ..."


def readable(text: str) -> str:
    """Return `text` without colours, and with U+FFFD for each character that could deceive."""
    return UNREADABLE.sub("\ufffd", COLOURS.sub("", text))


def without_markup(text: str) -> str:
    """Return `text` printable and without markup, however often that was escaped."""
    while (found := printable(_parse(text).text)) != text:
        text = found
    return text


def links_in(notes: str) -> tuple[str, ...]:
    """Return the http and https addresses in show notes, in order, each once.

    These are the targets of every ``<a>`` and the addresses in the text itself.
    """
    addresses = [printable(link) for link in _parse(notes).links]
    return tuple(dict.fromkeys(link for link in addresses if ADDRESS.fullmatch(link)))


def _parse(markup: str) -> _Reader:
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader


class _Reader(HTMLParser):
    """Collects links, and the text outside scripts and styles."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the element as open, and the target of a link."""
        if tag in {"a", *SILENT}:
            self.open.append(tag)
        if tag == "a":
            self.links.append(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        """Record the element as closed."""
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data: str) -> None:
        """Collect the text; that of an ``<a>`` may be a shortened address and is no link."""
        if SILENT.intersection(self.open):
            return
        self.text += data
        if "a" not in self.open:
            self.links.extend(_trim(link) for link in BARE.findall(data))


def _trim(link: str) -> str:
    """Return an address found in a sentence without the punctuation of the sentence."""
    while link.endswith(tuple(PUNCTUATION)) or (
        link.endswith(")") and link.count(")") > link.count("(")
    ):
        link = link[:-1]
    return link
