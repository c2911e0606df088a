"""Reads the episodes of an RSS or Atom document that may be damaged or hostile.

Nothing is guessed: web pages, malformed XML, document types, endless texts and a missing or absurd
fact about an episode are errors.
"""

from __future__ import annotations

import datetime as dt
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any
from xml.parsers import expat

from plugins.tools.text import ADDRESS
from plugins.tools.text import cut_printable
from plugins.tools.text import links_in
from plugins.tools.text import without_markup


if TYPE_CHECKING:
    from collections.abc import Mapping


# Far above what a podcast needs, far below what hurts.
LONGEST_TITLE = 300
LONGEST_ADDRESS = 2_000
LONGEST_EPISODE = 24 * 60 * 60
FIRST_PODCAST = dt.date(2000, 1, 1)
# Far above what show notes need, far below what hurts an HTML parser.
LONGEST_TEXT = 30_000
# How a page for people begins, after a byte order mark, an XML declaration and comments; NULs of
# UTF-16 aside. Most are no XML, so the parser's error would not say what they are. The groups are
# atomic: a hostile document makes the search no longer than it is.
WEB_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?>\s|<\?.*?\?>|<!--.*?-->)*+"
    rb"<(?:!doctype\s+html|(?:html|head|body|meta|title|script|style|link)[\s/>])",
    re.IGNORECASE | re.DOTALL,
)
# HH:MM:SS, MM:SS, or seconds alone.
DURATION = re.compile(r"(?:(?:([0-9]{1,2}):)?([0-9]{1,3}):([0-5][0-9]))|([0-9]{1,5})")


class FeedError(Exception):
    """The feed cannot be trusted; the message has the place and the reason."""


@dataclass(frozen=True)
class FeedEntry:
    """An episode as its feed describes it; not every feed numbers its episodes."""

    number: int | None
    guid: str
    title: str
    published: dt.date
    seconds: int
    page: str
    audio: str
    links: tuple[str, ...]


def read_podcast(document: bytes, today: dt.date) -> tuple[FeedEntry, ...]:
    """Return the episodes of an RSS or Atom document, oldest first.

    Raises
    ------
    FeedError
        If it is damaged, declares entities, or if a fact about an episode is missing or absurd.
    """
    import feedparser  # noqa: PLC0415 - the only place that needs it

    check_xml(document)
    # A file object: feedparser takes bytes for the name of a file, a string for an address.
    try:
        parsed = feedparser.parse(io.BytesIO(document))
    except Exception as error:  # noqa: BLE001 - a hostile document can provoke anything in there
        raise FeedError(f"feedparser cannot read it: {cut_printable(str(error))}") from None
    if not parsed.version or not parsed.entries:
        raise FeedError("expected an RSS or Atom feed with at least one item")
    entries = [_parse_entry(item, n, today) for n, item in enumerate(parsed.entries, 1)]
    for key in ("guid", "number"):
        first: dict[object, int] = {}
        for n, entry in enumerate(entries, 1):
            value = getattr(entry, key)
            if value is not None and value in first:
                place = f"item {n} ({entry.title!r})"
                raise FeedError(f"{place}: {key}: {value!r} is that of item {first[value]} too")
            first[value] = n
    return tuple(sorted(entries, key=lambda entry: (entry.published, entry.number or 0)))


def check_xml(document: bytes) -> None:
    """Refuse web pages, malformed XML, document types and endless texts.

    feedparser repairs broken XML by guessing, which a sync must not do. Entities, which make
    bombs and read local files, can be declared in a document type only.
    """
    if not document.strip():
        raise FeedError("it is empty")
    if WEB_PAGE.match(document.replace(b"\0", b"")):
        raise FeedError("it is a web page: expected an RSS or Atom feed")
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


def _parse_entry(item: dict[str, Any], n: int, today: dt.date) -> FeedEntry:
    title = item.get("title", "")
    where = f"item {n} ({cut_printable(title or item.get('id', ''), 60)!r})"
    if len(title) > LONGEST_TITLE:
        raise FeedError(f"{where}: title: expected at most {LONGEST_TITLE} characters")
    title = without_markup(title)
    guid = item.get("id", "")
    if not title:
        raise FeedError(f"{where}: title: expected a text")
    if not guid or not guid.isprintable() or len(guid) > LONGEST_TITLE:
        raise FeedError(f"{where}: guid: expected a short printable text")
    number = item.get("itunes_episode")
    if number is not None and not re.fullmatch(r"[1-9][0-9]{0,4}", number):
        found = cut_printable(number)
        raise FeedError(f"{where}: itunes:episode: expected a number, found {found!r}")
    links = item.get("links", [])
    audio = [link.get("href", "") for link in links if link.get("rel") == "enclosure"]
    notes = [part.get("value", "") for part in item.get("content", [])]
    return FeedEntry(
        number=number and int(number),
        guid=guid,
        title=title,
        published=_parse_date(item, where, today),
        seconds=_parse_duration(item.get("itunes_duration", ""), where),
        page=_check_address(item.get("link", ""), f"{where}: link"),
        audio=_check_address(audio[0] if audio else "", f"{where}: enclosure"),
        links=links_in(" ".join(notes) or item.get("summary", "")),
    )


def _parse_date(item: dict[str, Any], where: str, today: dt.date) -> dt.date:
    # dict.get: feedparser's own returns one date for the other, and warns.
    parsed = dict.get(item, "published_parsed") or dict.get(item, "updated_parsed")
    if not parsed:
        raise FeedError(f"{where}: pubDate: expected a date")
    date = dt.date(*parsed[:3])
    # A day of grace for time zones ahead of UTC.
    if not FIRST_PODCAST <= date <= today + dt.timedelta(days=1):
        raise FeedError(f"{where}: pubDate: expected a date up to today, found {date}")
    return date


def _parse_duration(duration: str, where: str) -> int:
    if match := DURATION.fullmatch(duration.strip()):
        hours, minutes, seconds, alone = (int(part or 0) for part in match.groups())
        total = hours * 3600 + minutes * 60 + seconds + alone
        if 0 < total <= LONGEST_EPISODE:
            return total
    expected = "expected HH:MM:SS, MM:SS or seconds, at most a day"
    raise FeedError(f"{where}: itunes:duration: {expected}, found {cut_printable(duration, 60)!r}")


def _check_address(address: str, where: str) -> str:
    if not ADDRESS.fullmatch(address) or len(address) > LONGEST_ADDRESS:
        expected = "expected an http or https address"
        raise FeedError(f"{where}: {expected}, found {cut_printable(address, 60)!r}")
    return address
