"""Reads ``episodes.toml`` and files of the same form; needs neither pytest nor a feed."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING

from plugins.tools.text import ADDRESS
from plugins.tools.toml import TomlError
from plugins.tools.toml import read_toml


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from pathlib import Path

    from plugins.tools.toml import TomlTable


# No two episodes of a file may share one of these.
UNIQUE = ("number", "slug", "guid")


@dataclass(frozen=True)
class Episode:
    """One episode: the last three fields are kept by hand, the others come from the feed."""

    number: int
    slug: str
    guid: str
    title: str
    published: dt.date
    seconds: int
    page: str
    audio: str
    links: tuple[str, ...]
    transcript: str | None = None
    apple: int | None = None
    topics: tuple[str, ...] = ()

    @property
    def length(self) -> str:
        """The length as ``20:31``, or as ``1:02:03`` from one hour on."""
        minutes, seconds = divmod(self.seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


@dataclass(frozen=True)
class Catalogue:
    """The episodes by slug, and one error line for each file that could not be read."""

    episodes: Mapping[str, Episode] = field(default_factory=dict)
    errors: tuple[str, ...] = ()


def slugify(title: str) -> str:
    """Return the title in lower case with a dash for each run of other characters than a-z, 0-9."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def read_catalogue(files: Iterable[Path]) -> Catalogue:
    """Read the episodes of all `files`; a broken file becomes an error line, not an exception."""
    episodes: dict[str, Episode] = {}
    errors: list[str] = []
    for file in files:
        try:
            found = read_episodes(file)
        except TomlError as error:
            errors.append(str(error))
            continue
        for episode in found:
            if episode.slug in episodes:
                where = f"episode {episode.number}: slug"
                expected = f"expected one that no other file has, found {episode.slug!r}"
                errors.append(str(TomlError(file, where, expected)))
            episodes.setdefault(episode.slug, episode)
    return Catalogue(episodes, tuple(errors))


def read_episodes(file: Path) -> tuple[Episode, ...]:
    """Read the array ``[[episode]]`` of one file.

    Raises
    ------
    TomlError
        If the file is missing, is not TOML, lacks a key or holds an unexpected value.
    """
    table = read_toml(file)
    entries = table.tables("episode", ())
    table.refuse_others()
    episodes = tuple(_episode(entry) for entry in entries)
    for key in UNIQUE:
        values = [getattr(episode, key) for episode in episodes]
        for episode, value in zip(episodes, values, strict=True):
            if values.count(value) > 1:
                where = f"episode {episode.number}: {key}"
                raise TomlError(file, where, f"expected once in the file, found {value!r} again")
    return episodes


def _episode(entry: TomlTable) -> Episode:
    number = _positive(entry, "number")
    entry = entry.at(f"episode {number}")
    episode = Episode(
        number=number,
        slug=entry.string("slug"),
        guid=entry.string("guid"),
        title=entry.string("title"),
        published=entry.get("published", dt.date, "a date such as 2021-05-04"),
        seconds=_positive(entry, "seconds"),
        page=entry.string("page"),
        audio=entry.string("audio"),
        links=entry.strings("links"),
        transcript=entry.get("transcript", str, "a path", None),
        apple=entry.get("apple", int, "the number of an episode", None),
        topics=entry.strings("topics", ()),
    )
    entry.refuse_others()
    if episode.slug != slugify(episode.slug):
        raise entry.error("slug", f"expected a-z, 0-9 and single dashes, found {episode.slug!r}")
    for key, text in (("guid", episode.guid), ("title", episode.title)):
        if not text.isprintable():
            raise entry.error(key, f"expected no control characters, found {text!r}")
    for key, address in (("page", episode.page), ("audio", episode.audio)):
        if not ADDRESS.fullmatch(address):
            raise entry.error(key, f"expected an http or https address, found {address!r}")
    return episode


def _positive(entry: TomlTable, key: str) -> int:
    number: int = entry.get(key, int, "a whole number above 0")
    if number < 1:
        raise entry.error(key, f"expected a whole number above 0, found {number}")
    return number
