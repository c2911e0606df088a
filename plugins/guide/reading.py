"""What a failing kata points to: source to read, episodes to hear, the command for a hint.

On a terminal that knows the control sequence OSC 8, labels are links; see
https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda.
"""

from __future__ import annotations

import importlib.metadata
import re
import textwrap
from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.course.model import EpisodeRef
    from plugins.course.model import Kata
    from plugins.guide.catalogue import Catalogue


WIDTH = 80
EARLIER = "your answer to the kata that this was made of"
INDENT = 8
RELEASE = re.compile(r"(\d+\.\d+\.\d+)(?:rc(\d+))?(?:\.post\d+)?(?:\+.*)?")
# A terminal without links would hide the address, so only terminals known to have them count:
# by TERM_PROGRAM, by TERM, and by VTE_VERSION.
PROGRAMS = {"ghostty", "iTerm.app", "vscode", "WezTerm"}
TERMS = {"alacritty", "foot", "xterm-ghostty", "xterm-kitty"}
# GNOME Terminal and others built on VTE; version 0.50.0 could crash on a link.
VTE = 5001
# Under a multiplexer, the variables are those of the terminal that it was started in.
MULTIPLEXERS = ("TMUX", "STY")


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
    # The learner's answers to the kata that this one was made of.
    earlier: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The name of the kata."""
        return f"{self.kata}: {self.title}"


def tag_of(version: str | None) -> str:
    """Return PyTorch's git tag for an installed version, or ``main`` if it is no release."""
    if version is None or not (match := RELEASE.fullmatch(version)):
        return "main"
    release, candidate = match.groups()
    return f"v{release}-rc{candidate}" if candidate else f"v{release}"


def torch_tag() -> str:
    """Return the git tag of the installed PyTorch, which is not imported, or ``main``."""
    try:
        return tag_of(importlib.metadata.version("torch"))
    except importlib.metadata.PackageNotFoundError:
        return tag_of(None)


def reading_of(
    kata: Kata, refs: Iterable[EpisodeRef], catalogue: Catalogue, tag: str, hint: str
) -> Reading:
    """Return what `kata` points to; episodes that are not in the catalogue are left out."""
    root = f"https://github.com/pytorch/pytorch/blob/{tag}"
    sources = [Pointer(f"{up.path}: {up.symbol}", f"{root}/{up.path}") for up in kata.upstream]
    episodes = [
        Pointer(f"#{episode.number} {episode.title}, {episode.length}", episode.page, ref.why)
        for ref in refs
        if (episode := catalogue.episodes.get(ref.slug))
    ]
    return Reading(kata.id, kata.title, tuple(sources), tuple(episodes), hint)


def format_reading(reading: Reading, *, links: bool, many: int | None = None) -> list[str]:
    """Return the lines for one kata: what to read, what to hear, how to get a hint.

    Of sources and episodes these are all, or the first `many`. Without links only the first source
    has its address; the others lie in the same tree.
    """
    read = [
        line
        for n, source in enumerate(reading.sources[:many])
        for line in _format_pointer(source, links=links, address=n == 0)
    ]
    episodes = reading.episodes[:many]
    listen = [line for it in episodes for line in _format_pointer(it, links=links)]
    earlier = [
        line
        for file in reading.earlier
        for line in _format_pointer(Pointer(file, "", EARLIER), links=False, address=False)
    ]
    return [
        *_labelled("yours", earlier),
        *_labelled("read", read),
        *_labelled("listen", listen),
        *format_hint(reading),
    ]


def format_brief(reading: Reading, *, links: bool) -> list[str]:
    """Return the first source, the first episode and the hint, each in a line and without URL."""
    first = [("read", it) for it in reading.sources[:1]]
    first += [("listen", replace(it, why="")) for it in reading.episodes[:1]]
    lines = ((label, _format_pointer(it, links=links, address=False)[:1]) for label, it in first)
    return [*(line for each in lines for line in _labelled(*each)), *format_hint(reading)]


def format_hint(reading: Reading) -> list[str]:
    """Return how to get a hint, in a line, if there is a way."""
    return _labelled("hint", [reading.hint] if reading.hint else [])


def junit_properties(reading: Reading) -> list[tuple[str, str]]:
    """Return the same facts as names and values for JUnit XML."""
    return [
        ("kata", reading.kata),
        *(("read", f"{source.label} {source.address}") for source in reading.sources),
        *(("listen", f"{it.label}: {it.why} {it.address}") for it in reading.episodes),
        ("hint", reading.hint),
    ]


def _format_pointer(pointer: Pointer, *, links: bool, address: bool = True) -> list[str]:
    text = f"{pointer.label}: {pointer.why}" if pointer.why else pointer.label
    lines = textwrap.wrap(text, WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)
    # A label that is wrapped cannot be a link.
    if links and lines[0].startswith(pointer.label):
        lines[0] = lines[0].replace(pointer.label, format_link(pointer.label, pointer.address), 1)
    elif address:
        lines.append(pointer.address)
    return lines


def _labelled(label: str, lines: Sequence[str]) -> list[str]:
    return [f"{'' if n else label:<{INDENT}}{line}" for n, line in enumerate(lines)]


def format_link(text: str, address: str) -> str:
    """Return `text` as a link to `address`."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def knows_links(environment: Mapping[str, str]) -> bool:
    """Whether the terminal that set these variables shows links.

    ``FORCE_HYPERLINK`` overrides everything else: 0 for no, anything else for yes.
    """
    forced = environment.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced != "0"
    if any(name in environment for name in MULTIPLEXERS):
        return False
    version = environment.get("VTE_VERSION", "")
    return (
        environment.get("TERM_PROGRAM") in PROGRAMS
        or environment.get("TERM") in TERMS
        or "WT_SESSION" in environment
        or (version.isdecimal() and int(version) >= VTE)
    )
