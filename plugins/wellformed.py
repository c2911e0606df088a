"""Refuses XML that a feed reader would have to guess at, or that could harm it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat


if TYPE_CHECKING:
    from collections.abc import Mapping


# Far above what show notes need, far below what hurts a parser of HTML.
LONGEST_TEXT = 30_000


class FeedError(Exception):
    """The document is no feed that can be trusted; the message says where and why."""


def check_xml(document: bytes) -> None:
    """Refuse what is not well-formed, what declares a document type, and endless texts.

    feedparser repairs broken XML by guessing; a sync must not guess. Entities, the means of
    bombs and of reading local files, can only be declared in a document type.
    """
    if not document.strip():
        raise FeedError("it is empty")
    parser = expat.ParserCreate()
    items = 0
    length = 0

    def doctype(*_: object) -> None:
        raise FeedError("it declares a document type: no feed needs one, entity bombs do")

    def start(name: str, _: Mapping[str, str]) -> None:
        nonlocal items, length
        items += name in {"item", "entry"}
        length = 0

    def text(data: str) -> None:
        nonlocal length
        length += len(data)
        if length > LONGEST_TEXT:
            line = parser.CurrentLineNumber
            most = f"expected no text above {LONGEST_TEXT} characters"
            raise FeedError(f"item {items}, line {line}: {most}")

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    try:
        parser.Parse(document, True)  # noqa: FBT003 - expat takes no keywords
    # LookupError and ValueError: an encoding that Python or expat does not know.
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise FeedError(f"it is not well-formed XML: {error}") from None
