"""Merges a feed into ``episodes.toml`` without touching what is kept by hand."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any

from plugins.feed.podcast import FeedError
from plugins.feed.podcast import PassedOver
from plugins.guide.catalogue import Episode
from plugins.guide.catalogue import read_episodes
from plugins.guide.catalogue import slugify


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.feed.podcast import FeedEntry
    from plugins.feed.podcast import Podcast


HEADER = """\
# The episodes of a podcast: facts only, no descriptions.
#
# `python -m plugins.feed SOURCE` adds new episodes at the end and keeps these keys equal to the
# feed: number, title, published, seconds, page, audio, links. It finds an episode by its guid.
#
# Kept by hand, and never lost by a sync:
#   slug        made from the title of a new episode; lectures refer to it, so it stays
#   transcript  the path of a transcript
#   apple       the number of the episode on Apple Podcasts
#   topics      one to four keywords
#   comments    but not inside a list of links that changes
#
# An episode that the feed no longer has stays; delete it here if you want it gone.
"""
# The keys of a known episode that the feed decides.
SYNCED = ("number", "title", "published", "seconds", "page", "audio", "links")


@dataclass(frozen=True)
class Sync:
    """The file's text before and after, and a line for each episode that changes or is left."""

    before: str
    after: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    passed_over: tuple[str, ...] = ()


def merge_feed(file: Path, podcast: Podcast) -> Sync:
    """Return `file` before and after it is updated with a feed; write nothing.

    An entry with the number of another episode of the file is passed over, like the items that
    the feed's reader has passed over.

    Raises
    ------
    TomlError
        If the file exists and cannot be parsed.
    FeedError
        If each entry has the number of another episode in the file.
    """
    import tomlkit  # noqa: PLC0415 - only this module needs it

    known = {episode.guid: episode for episode in read_episodes(file)} if file.exists() else {}
    before = file.read_bytes().decode() if file.exists() else ""
    entries, refused = _refuse_numbers(known, podcast.entries)
    updated = _update_episodes(known, entries)
    document = tomlkit.parse(before or HEADER)
    changed = []
    # tomlkit keeps the order of the file, as read_episodes does.
    for table, old in zip(document.get("episode", []), known.values(), strict=True):
        new = updated[old.guid]
        keys = [key for key in SYNCED if getattr(old, key) != getattr(new, key)]
        for key in keys:
            table[key] = tomlkit.value(_format_value(getattr(new, key)))
        if keys:
            changed.append(f"changed {new.number}: {', '.join(keys)}")
    added = [episode for guid, episode in updated.items() if guid not in known]
    passed_over = [*podcast.passed_over, *refused]
    found = {entry.guid for entry in entries} | {each.guid for each in passed_over}
    gone = [episode for guid, episode in known.items() if guid not in found]
    blocks = [tomlkit.dumps(document), *map(_format_episode, added)]
    return Sync(
        before=before,
        # With nothing to add, what follows the last episode stays byte for byte.
        after="\n\n".join(block.rstrip("\n") for block in blocks) + "\n" if added else blocks[0],
        added=tuple(f"added {episode.number}: {episode.title}" for episode in added),
        changed=tuple(changed),
        gone=tuple(f"kept {old.number}: {old.title} (gone from the feed)" for old in gone),
        passed_over=tuple(each.line for each in passed_over),
    )


def _refuse_numbers(
    known: Mapping[str, Episode], entries: Sequence[FeedEntry]
) -> tuple[list[FeedEntry], list[PassedOver]]:
    """Return the entries without those that have the number of another episode, and these."""
    kept = list(entries)
    refused: list[PassedOver] = []
    while pair := _find_equal_numbers(_update_episodes(known, kept).values()):
        # An episode of the file stays as it is, so the feed's is refused: one that is new, or else
        # has a new number.
        old = {guid: episode.number for guid, episode in known.items()}
        guids = [each.guid for each in pair if each.number != old.get(each.guid)]
        entry = next(entry for entry in kept if entry.guid == guids[-1])
        other = next(each for each in pair if each.guid != entry.guid)
        line = (
            f"number {other.number}: expected one episode, found {other.title!r} (guid "
            f"{other.guid}) and {entry.title!r} (guid {entry.guid}); if they are the same, write "
            f"the feed's guid into the file"
        )
        refused.append(PassedOver(entry.guid, line))
        kept.remove(entry)
    if refused and not kept:
        raise FeedError(refused[0].line)
    return kept, refused


def _find_equal_numbers(episodes: Iterable[Episode]) -> tuple[Episode, Episode] | None:
    """Return the first two episodes that have the same number."""
    first: dict[int, Episode] = {}
    for episode in episodes:
        if other := first.get(episode.number):
            return other, episode
        first[episode.number] = episode
    return None


def _update_episodes(
    known: Mapping[str, Episode], entries: Iterable[FeedEntry]
) -> dict[str, Episode]:
    """Return the known episodes, updated, and then the new ones, by their guids."""
    episodes = dict(known)
    taken = {episode.slug for episode in known.values()}
    numbers = [episode.number for episode in known.values()]
    last = max([*numbers, *(entry.number or 0 for entry in entries)], default=0)
    for entry in entries:
        facts: dict[str, Any] = dict(vars(entry))
        if old := known.get(entry.guid):
            episodes[entry.guid] = replace(old, **{**facts, "number": entry.number or old.number})
            continue
        number = entry.number or (last := last + 1)
        slug = slugify(entry.title) or "episode"
        while slug in taken:
            slug = f"{slug}-{number}"
        taken.add(slug)
        episodes[entry.guid] = Episode(**{**facts, "number": number, "slug": slug})
    return episodes


def _format_episode(episode: Episode) -> str:
    keys = ("number", "slug", "guid", *SYNCED[1:])
    lines = [f"{key} = {_format_value(getattr(episode, key))}" for key in keys]
    return "\n".join(["[[episode]]", *lines])


def _format_value(value: object) -> str:
    """Return `value` as TOML, a list with one entry a line to keep diffs small."""
    import tomlkit  # noqa: PLC0415 - as above

    if isinstance(value, tuple):
        return "".join(
            ["[", *(f"\n  {_format_value(entry)}," for entry in value), "\n]" if value else "]"]
        )
    return tomlkit.item(value).as_string()
