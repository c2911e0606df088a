"""What a failing kata points to: source to read, episodes to hear, the command for a hint."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.links import linked


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from plugins.catalogue import Catalogue
    from plugins.layout import EpisodeRef
    from plugins.layout import Kata


WIDTH = 80
INDENT = 8
RELEASE = re.compile(r"(\d+\.\d+\.\d+)(?:rc(\d+))?(?:\.post\d+)?(?:\+.*)?")


@dataclass(frozen=True)
class Pointer:
    """Something to read or to hear, where it is, and why."""

    label: str
    address: str
    why: str = ""


@dataclass(frozen=True)
class Reading:
    """Everything that a failure of one kata points to."""

    kata: str
    title: str
    sources: tuple[Pointer, ...]
    episodes: tuple[Pointer, ...]
    hint: str


def tag_of(version: str | None) -> str:
    """Return PyTorch's git tag of an installed version: that of a release, or else ``main``."""
    if version is None or not (match := RELEASE.fullmatch(version)):
        return "main"
    release, candidate = match.groups()
    return f"v{release}-rc{candidate}" if candidate else f"v{release}"


def reading_of(
    kata: Kata, refs: Iterable[EpisodeRef], catalogue: Catalogue, tag: str, hint: str
) -> Reading:
    """Return what `kata` points to; an episode that no file knows is left out."""
    root = f"https://github.com/pytorch/pytorch/blob/{tag}"
    sources = [Pointer(f"{up.path}: {up.symbol}", f"{root}/{up.path}") for up in kata.upstream]
    episodes = [
        Pointer(f"#{episode.number} {episode.title}, {episode.length}", episode.page, ref.why)
        for ref in refs
        if (episode := catalogue.episodes.get(ref.slug))
    ]
    return Reading(kata.id, kata.title, tuple(sources), tuple(episodes), hint)


def block(reading: Reading, *, links: bool) -> list[str]:
    """Return the lines of a failure: where to read, what to hear, how to get a hint.

    The first source has its address; the others lie in the same tree.
    """
    read = [
        line
        for n, source in enumerate(reading.sources)
        for line in _entry(source, links=links, address=n == 0)
    ]
    listen = [line for episode in reading.episodes for line in _entry(episode, links=links)]
    return [*_labelled("read", read), *_labelled("listen", listen), f"hint    {reading.hint}"]


def short_block(reading: Reading, *, links: bool) -> list[str]:
    """Return the lines of a kata in the summary: its name, and the first of each kind."""
    first = Reading(
        reading.kata, reading.title, reading.sources[:1], reading.episodes[:1], reading.hint
    )
    return [f"{reading.kata}: {reading.title}", *block(first, links=links)]


def properties(reading: Reading) -> list[tuple[str, str]]:
    """Return the same facts as names and values for JUnit XML."""
    return [
        ("kata", reading.kata),
        *(("read", f"{source.label} {source.address}") for source in reading.sources),
        *(("listen", f"{it.label}: {it.why} {it.address}") for it in reading.episodes),
        ("hint", reading.hint),
    ]


def _entry(pointer: Pointer, *, links: bool, address: bool = True) -> list[str]:
    text = f"{pointer.label}: {pointer.why}" if pointer.why else pointer.label
    lines = textwrap.wrap(text, WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)
    # A label that is broken over lines cannot be a link.
    if links and lines[0].startswith(pointer.label):
        lines[0] = lines[0].replace(pointer.label, linked(pointer.label, pointer.address), 1)
    elif address:
        lines.append(pointer.address)
    return lines


def _labelled(label: str, lines: Sequence[str]) -> list[str]:
    return [f"{'' if n else label:<{INDENT}}{line}" for n, line in enumerate(lines)]
