"""Reads an RSS or Atom document, which nobody has vetted, into the facts of its episodes."""

from __future__ import annotations

import datetime as dt
import io
import re
from dataclasses import dataclass
from typing import Any

from plugins.catalogue import ADDRESS
from plugins.plaintext import links_in
from plugins.plaintext import plain
from plugins.plaintext import shortened
from plugins.wellformed import FeedError
from plugins.wellformed import check_xml


# Far above what a podcast needs, far below what hurts.
LONGEST_TITLE = 300
LONGEST_ADDRESS = 2_000
LONGEST_EPISODE = 24 * 60 * 60
FIRST_PODCAST = dt.date(2000, 1, 1)
# HH:MM:SS, MM:SS, or seconds alone.
DURATION = re.compile(r"(?:(?:([0-9]{1,2}):)?([0-9]{1,3}):([0-5][0-9]))|([0-9]{1,5})")


@dataclass(frozen=True)
class Entry:
    """What a feed says about one episode; not every feed numbers its episodes."""

    number: int | None
    guid: str
    title: str
    published: dt.date
    seconds: int
    page: str
    audio: str
    links: tuple[str, ...]


def read_podcast(document: bytes, today: dt.date) -> tuple[Entry, ...]:
    """Return the episodes of an RSS or Atom document, oldest first.

    Raises
    ------
    FeedError
        If it is damaged, declares entities, or if a fact about an episode is missing or absurd.
    """
    import feedparser  # noqa: PLC0415 - the only place that needs it

    check_xml(document)
    # A file object: feedparser would take bytes for the name of a file, text for an address.
    try:
        parsed = feedparser.parse(io.BytesIO(document))
    except Exception as error:  # noqa: BLE001 - whatever a stranger's text can provoke in there
        raise FeedError(f"feedparser cannot read it: {shortened(str(error))}") from None
    if not parsed.version or not parsed.entries:
        raise FeedError("expected an RSS or Atom feed with at least one item")
    entries = [_entry(item, n, today) for n, item in enumerate(parsed.entries, 1)]
    for key in ("guid", "number"):
        first: dict[object, int] = {}
        for n, entry in enumerate(entries, 1):
            value = getattr(entry, key)
            if value is not None and value in first:
                place = f"item {n} ({entry.title!r})"
                raise FeedError(f"{place}: {key}: {value!r} is that of item {first[value]} too")
            first[value] = n
    return tuple(sorted(entries, key=lambda entry: (entry.published, entry.number or 0)))


def _entry(item: dict[str, Any], n: int, today: dt.date) -> Entry:
    title = item.get("title", "")
    where = f"item {n} ({shortened(title or item.get('id', ''), 60)!r})"
    if len(title) > LONGEST_TITLE:
        raise FeedError(f"{where}: title: expected at most {LONGEST_TITLE} characters")
    title = plain(title)
    guid = item.get("id", "")
    if not title:
        raise FeedError(f"{where}: title: expected a text")
    if not guid or not guid.isprintable() or len(guid) > LONGEST_TITLE:
        raise FeedError(f"{where}: guid: expected a short printable text")
    number = item.get("itunes_episode")
    if number is not None and not re.fullmatch(r"[1-9][0-9]{0,4}", number):
        raise FeedError(f"{where}: itunes:episode: expected a number, found {shortened(number)!r}")
    links = item.get("links", [])
    audio = [link.get("href", "") for link in links if link.get("rel") == "enclosure"]
    notes = [part.get("value", "") for part in item.get("content", [])]
    return Entry(
        number=number and int(number),
        guid=guid,
        title=title,
        published=_published(item, where, today),
        seconds=_seconds(item.get("itunes_duration", ""), where),
        page=_address(item.get("link", ""), f"{where}: link"),
        audio=_address(audio[0] if audio else "", f"{where}: enclosure"),
        links=links_in(" ".join(notes) or item.get("summary", "")),
    )


def _published(item: dict[str, Any], where: str, today: dt.date) -> dt.date:
    # dict.get: feedparser's own would answer for one date with the other, and warn.
    parsed = dict.get(item, "published_parsed") or dict.get(item, "updated_parsed")
    if not parsed:
        raise FeedError(f"{where}: pubDate: expected a date")
    date = dt.date(*parsed[:3])
    # One day of grace: somewhere it is tomorrow already.
    if not FIRST_PODCAST <= date <= today + dt.timedelta(days=1):
        raise FeedError(f"{where}: pubDate: expected a date up to today, found {date}")
    return date


def _seconds(duration: str, where: str) -> int:
    if match := DURATION.fullmatch(duration.strip()):
        hours, minutes, seconds, alone = (int(part or 0) for part in match.groups())
        total = hours * 3600 + minutes * 60 + seconds + alone
        if 0 < total <= LONGEST_EPISODE:
            return total
    expected = "expected HH:MM:SS, MM:SS or seconds, at most a day"
    raise FeedError(f"{where}: itunes:duration: {expected}, found {shortened(duration, 60)!r}")


def _address(address: str, where: str) -> str:
    if not ADDRESS.fullmatch(address) or len(address) > LONGEST_ADDRESS:
        expected = "expected an http or https address"
        raise FeedError(f"{where}: {expected}, found {shortened(address, 60)!r}")
    return address
