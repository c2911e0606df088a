"""What a stranger wrote, as text and links that are safe to print and to keep."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser

from plugins.catalogue import ADDRESS


# What a terminal acts on: control sequences, strings that set a title or a link, single commands.
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[]PX^_]|[\x9d\x90\x98\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
# Controls, formatting such as a reversed direction of writing, lone surrogates, private use.
INVISIBLE = {"Cc", "Cf", "Cs", "Co"}
SILENT = {"script", "style"}
BARE = re.compile(r"https?://[^\s<>\"]+")
# A sentence's own marks are no part of the address that ends it.
MARKS = ".,;:!?'\""
LONGEST = 500


def printable(text: str) -> str:
    """Return `text` on one line, without anything that a terminal would act on."""
    text = " ".join(ESCAPES.sub("", text).split())
    return "".join(char for char in text if unicodedata.category(char) not in INVISIBLE)


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return `text` made printable and cut to a length that a message can carry."""
    text = printable(text[: 10 * longest])
    return text if len(text) <= longest else f"{text[:longest]} ..."


def plain(text: str) -> str:
    """Return the text of `text` without markup, however often it was escaped, and printable."""
    while (found := printable(_parsed(text).text)) != text:
        text = found
    return text


def links_in(notes: str) -> tuple[str, ...]:
    """Return the http and https addresses of show notes, in order, each once.

    Both kinds count: what an ``<a>`` points to, and an address that stands in the text.
    """
    addresses = [printable(link) for link in _parsed(notes).links]
    return tuple(dict.fromkeys(link for link in addresses if ADDRESS.fullmatch(link)))


def _parsed(markup: str) -> _Reader:
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader


class _Reader(HTMLParser):
    """Collects the text outside of scripts, and the links."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link, and what is open."""
        if tag in {"a", *SILENT}:
            self.open.append(tag)
        if tag == "a":
            self.links.append(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        """Close what is open."""
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data: str) -> None:
        """Keep the text; the text of an ``<a>`` may be a shortened address and names no link."""
        if SILENT.intersection(self.open):
            return
        self.text += data
        if "a" not in self.open:
            self.links.extend(_trimmed(link) for link in BARE.findall(data))


def _trimmed(link: str) -> str:
    """Return an address found in a sentence without the marks of the sentence."""
    while link.endswith(tuple(MARKS)) or (link.endswith(")") and link.count(")") > link.count("(")):
        link = link[:-1]
    return link
