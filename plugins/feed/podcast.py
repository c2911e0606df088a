"""Reads the episodes of an RSS or Atom document that may be damaged or hostile.

Nothing is guessed. Web pages, malformed XML and document types are errors of the whole document;
an item with an endless text, or with a missing or absurd fact, is passed over and named.
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
    from collections.abc import Sequence


# Far above what a podcast needs, far below what hurts.
LONGEST_TITLE = 300
LONGEST_ADDRESS = 2_000
LONGEST_EPISODE = 24 * 60 * 60
FIRST_PODCAST = dt.date(2000, 1, 1)
# Far above what show notes need, far below what hurts an HTML parser.
LONGEST_TEXT = 30_000
MOST = f"no text above {LONGEST_TEXT} characters"
# How a page for people begins, after a byte order mark, an XML declaration and comments; NULs of
# UTF-16 aside. Most are no XML, so the parser's error would not say what they are. The groups are
# atomic: a hostile document makes the search no longer than it is.
WEB_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?>\s|<\?.*?\?>|<!--.*?-->)*+"
    rb"<(?:!doctype\s+html|(?:html|head|body|meta|title|script|style|link)[\s/>])",
    re.IGNORECASE | re.DOTALL,
)
ITEMS = {"item", "entry"}
# The path of its guid within an item.
IDENTIFIERS = (["guid"], ["id"])
# HH:MM:SS, MM:SS, or seconds alone.
DURATION = re.compile(r"(?:(?:([0-9]{1,2}):)?([0-9]{1,3}):([0-5][0-9]))|([0-9]{1,5})")


class FeedError(Exception):
    """The feed, or an item of it, cannot be trusted; the message has the place and the reason."""


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


@dataclass(frozen=True)
class PassedOver:
    """An item that is not taken: its guid, or "" if it has none, and a line that says why."""

    guid: str
    line: str


@dataclass(frozen=True)
class Podcast:
    """The episodes of a feed, oldest first, and the items that are passed over."""

    entries: tuple[FeedEntry, ...]
    passed_over: tuple[PassedOver, ...] = ()


def read_podcast(document: bytes, today: dt.date) -> Podcast:
    """Return the episodes of an RSS or Atom document.

    Raises
    ------
    FeedError
        If it is damaged, declares entities, or if none of its items can be taken.
    """
    import feedparser  # noqa: PLC0415 - the only place that needs it

    checked = check_xml(document)
    # A file object: feedparser takes bytes for the name of a file, a string for an address.
    try:
        parsed = feedparser.parse(io.BytesIO(checked.document))
    except Exception as error:  # noqa: BLE001 - a hostile document can provoke anything in there
        raise FeedError(f"feedparser cannot read it: {cut_printable(str(error))}") from None
    if not parsed.version or not (parsed.entries or checked.endless):
        raise FeedError("expected an RSS or Atom feed with at least one item")
    entries: list[FeedEntry] = []
    taken: dict[tuple[str, object], int] = {}
    passed_over = dict(checked.endless)
    for n, item in zip(checked.numbers(len(parsed.entries)), parsed.entries, strict=True):
        try:
            entry = _parse_entry(item, n, today)
            _take(entry, n, taken)
        except FeedError as error:
            passed_over[n] = PassedOver(item.get("id", ""), str(error))
        else:
            entries.append(entry)
    found = tuple(passed_over[n] for n in sorted(passed_over))
    if not entries:
        more = f", and {len(found) - 1} more like it" if len(found) > 1 else ""
        raise FeedError(f"none of its items can be taken: {found[0].line}{more}")
    oldest = sorted(entries, key=lambda entry: (entry.published, entry.number or 0))
    return Podcast(tuple(oldest), found)


def _take(entry: FeedEntry, n: int, taken: dict[tuple[str, object], int]) -> None:
    """Note the guid and the number of item `n`, and refuse one that an item before it has."""
    keys = [(key, value) for key in ("guid", "number") if (value := getattr(entry, key))]
    for key in keys:
        if first := taken.get(key):
            place = f"item {n} ({cut_printable(entry.title, 60)!r})"
            raise FeedError(f"{place}: {key[0]}: {key[1]!r} is that of item {first} too")
    taken.update(dict.fromkeys(keys, n))


@dataclass(frozen=True)
class CheckedXml:
    """A document without the items that have an endless text: feedparser must not see them.

    Attributes
    ----------
    items
        How many items the document had before.
    endless
        The items that were cut out, by their number.
    """

    document: bytes
    items: int
    endless: Mapping[int, PassedOver]

    def numbers(self, left: int) -> Sequence[int]:
        """Return the numbers of the `left` items that feedparser has found, in the document."""
        kept = [n for n in range(1, self.items + 1) if n not in self.endless]
        # feedparser knows more names of items, with prefixes, or fewer.
        return kept if len(kept) == left else range(1, left + 1)


class _Scan:
    """Follows a parser through a document: its items, and how long their texts are."""

    def __init__(self, document: bytes) -> None:
        self.document = document
        self.parser = expat.ParserCreate()
        self.items = self.length = self.begin = 0
        # The open elements, from the item on; none outside of an item.
        self.path: list[str] = []
        self.guid = ""
        # Where a text of the item was too long, or 0.
        self.line = 0
        # The bytes of items with such a text, by their number.
        self.endless: dict[int, tuple[slice, PassedOver]] = {}
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text

    def doctype(self, *_: object) -> None:
        raise FeedError("it declares a document type: no feed needs one, entity bombs do")

    def start(self, name: str, _: Mapping[str, str]) -> None:
        self.length = 0
        if not self.path and name in ITEMS:
            self.items += 1
            self.begin, self.guid = self.parser.CurrentByteIndex, ""
        if self.path or name in ITEMS:
            self.path.append(name)

    def end(self, _: str) -> None:
        self.length = 0
        if self.path:
            self.path.pop()
        if self.line and not self.path:
            where = f"item {self.items}, line {self.line}"
            what = PassedOver(self.guid.strip(), f"{where}: expected {MOST}")
            self.endless[self.items] = slice(self.begin, self.end_of_tag()), what
            self.line = 0

    def end_of_tag(self) -> int:
        """Return where the closing tag at hand ends; in little-endian UTF-16 a NUL follows."""
        little = self.document[:2] in {b"\xff\xfe", b"<\0"}
        return self.document.index(b">", self.parser.CurrentByteIndex) + 1 + little

    def text(self, data: str) -> None:
        self.length += len(data)
        if self.length > LONGEST_TEXT and not self.line:
            self.line = self.parser.CurrentLineNumber
            if not self.path:
                raise FeedError(f"outside of its items, line {self.line}: expected {MOST}")
        if self.path[1:] in IDENTIFIERS and self.length <= LONGEST_TITLE:
            self.guid += data


def check_xml(document: bytes) -> CheckedXml:
    """Refuse web pages, malformed XML and document types, and cut out items with endless texts.

    feedparser repairs broken XML by guessing, which a sync must not do. Entities, which make
    bombs and read local files, can be declared in a document type only.
    """
    if not document.strip():
        raise FeedError("it is empty")
    if WEB_PAGE.match(document.replace(b"\0", b"")):
        raise FeedError("it is a web page: expected an RSS or Atom feed")
    scan = _Scan(document)
    try:
        scan.parser.Parse(document, True)  # noqa: FBT003 - expat takes no keywords
    # LookupError and ValueError: an encoding that Python or expat does not know.
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise FeedError(f"it is not well-formed XML: {error}") from None
    kept, at = [], 0
    for cut, _ in scan.endless.values():
        kept.append(document[at : cut.start])
        at = cut.stop
    found = {n: what for n, (_, what) in scan.endless.items()}
    return CheckedXml(b"".join([*kept, document[at:]]), scan.items, found)


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
        most = f"a printable text of at most {LONGEST_TITLE} characters"
        raise FeedError(f"{where}: guid: expected {most}")
    number = item.get("itunes_episode")
    if number is not None and not re.fullmatch(r"[1-9][0-9]{0,4}", number):
        found = cut_printable(number)
        expected = "expected a number from 1 to 99999"
        raise FeedError(f"{where}: itunes:episode: {expected}, found {found!r}")
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
    expected = f"expected a date from {FIRST_PODCAST} up to today"
    if not parsed:
        raise FeedError(f"{where}: pubDate: {expected}")
    year, month, day = found = tuple(parsed[:3])
    # A day of grace for time zones ahead of UTC.
    last = today + dt.timedelta(days=1)
    first, latest = (tuple(date.timetuple()[:3]) for date in (FIRST_PODCAST, last))
    # As numbers: a year of 0 or 10000 makes no date.
    if not first <= found <= latest:
        raise FeedError(f"{where}: pubDate: {expected}, found {year}-{month:02}-{day:02}")
    return dt.date(year, month, day)


def _parse_duration(duration: str, where: str) -> int:
    if match := DURATION.fullmatch(duration.strip()):
        hours, minutes, seconds, alone = (int(part or 0) for part in match.groups())
        total = hours * 3600 + minutes * 60 + seconds + alone
        if 0 < total <= LONGEST_EPISODE:
            return total
    expected = "expected HH:MM:SS, MM:SS or seconds, above 0 and at most a day"
    raise FeedError(f"{where}: itunes:duration: {expected}, found {cut_printable(duration, 60)!r}")


def _check_address(address: str, where: str) -> str:
    if not ADDRESS.fullmatch(address) or len(address) > LONGEST_ADDRESS:
        expected = f"expected an http or https address of at most {LONGEST_ADDRESS} characters"
        raise FeedError(f"{where}: {expected}, found {cut_printable(address, 60)!r}")
    return address
