"""The page of the course in Markdown, for a pull request. No pytest, no torch, no template."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plugins.coursemap import shortened
from plugins.pagehtml import readable


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.pagedata import Page
    from plugins.pagedata import Stop
    from plugins.pagedata import Told


BAR = 10
LONGEST = 160
# What Markdown or GitHub would read as more than text: a mark, HTML, a mention, an issue.
MARKS = re.compile(r"[\\`*_{}\[\]<>()#+\-.!|~&@:$]")


def summary_of(page: Page) -> str:
    """Return the numbers, a table of the lectures, what fails and what could not run."""
    return "\n".join(lines(page)) + "\n"


def lines(page: Page) -> Iterator[str]:
    """Return the lines of the summary."""
    yield f"## {page.counts['solved']} of {len(page.places)} katas solved"
    yield ""
    taken = f"{page.hints} {'hint' if page.hints == 1 else 'hints'} taken"
    yield f"{page.time} spent, {taken}, {page.generated:%Y-%m-%d}."
    yield ""
    yield "| lecture | | solved | failing | open | untouched | not here |"
    yield "| --- | --- | --: | --: | --: | --: | --: |"
    yield from (row(stop) for stop in page.stops)
    failing = [told for stop in page.stops for told in stop.katas if told.place.state == "failing"]
    if failing:
        yield from ("", "### Failing", "")
        yield from (line for told in failing for line in failures(told))
    if page.missing:
        yield from ("", "### Not run on this machine", "")
        for reason, count in page.missing.items():
            yield f"- {count} {'test' if count == 1 else 'tests'}: {plain(reason)}"
    if page.errors:
        yield from ("", "### Broken files", "")
        yield from (f"- {plain(error)}" for error in page.errors)


def row(stop: Stop) -> str:
    """Return a lecture's row."""
    solved, total = stop.counts["solved"], len(stop.katas)
    filled = BAR * solved // max(total, 1)
    bar = "█" * filled + "░" * (BAR - filled)
    others = (stop.counts[state] or "" for state in ("failing", "open", "new", "unavailable"))
    cells = (f"{stop.number} {plain(stop.title)}", bar, f"{solved} of {total}", *others)
    return "".join(f"| {cell} " for cell in cells) + "|"


def failures(told: Told) -> Iterator[str]:
    """Return a kata that fails, and the first line of what each of its tests says."""
    yield f"- **{plain(told.kata.id)}**: {plain(told.kata.title)}"
    for name, message in told.failures:
        first = next((line for line in message.splitlines() if line.strip()), "")
        yield f"  - {plain(name)}: {plain(first)}"


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line."""
    line = shortened(" ".join(readable(text).split()), LONGEST)
    # Entities, for a mention or the name of an issue survives a backslash.
    return MARKS.sub(lambda found: f"&#{ord(found[0])};", line)
