"""Renders the page of the course in Markdown, for a pull request; needs no template engine.

It is read in its source too, so what tests say stands in code, where nothing needs an escape. Its
size has a limit: GitHub limits a description to 65,536 characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.tools.markdown import markdown_code
from plugins.tools.markdown import markdown_row
from plugins.tools.markdown import markdown_text


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.progress.pagedata import Card
    from plugins.progress.pagedata import Page
    from plugins.progress.pagedata import Station


BAR = 10
# Bytes of a summary, and of each of its last two sections. GitHub takes 65,536 characters of a
# whole description.
ROOM = 30_000
SECTION = 2_000
# Characters of a test's name and of a message: as many as leave room for every failing kata.
LENGTHS = (160, 80, 50)


def summary_of(page: Page) -> str:
    """Return the summary as one text: totals, lectures, what fails, what could not run."""
    begin = "".join(f"{line}\n" for line in format_totals(page))
    reasons = [
        f"- {count} {'test' if count == 1 else 'tests'}: {markdown_code(reason)}\n"
        for reason, count in page.missing.items()
    ]
    errors = [f"- {markdown_code(error)}\n" for error in page.errors]
    end = format_section("Not run on this machine", reasons, SECTION, "more reasons")
    end += format_section("Broken files", errors, SECTION, "more files")
    cards = [card for stop in page.stops for card in stop.cards if card.place.state == "failing"]
    room = ROOM - len((begin + end).encode())
    rest = f"more katas fail: {markdown_code('pytest --page=page.html')} shows them"
    for longest in LENGTHS:
        failing = [format_failing(card, longest) for card in cards]
        section = format_section("Failing", failing, room, rest)
        if section.endswith("".join(failing)):
            break
    return begin + section + end


def format_totals(page: Page) -> Iterator[str]:
    """Return the heading, the totals, and a table of the lectures."""
    yield f"## {page.counts['solved']} of {len(page.places)} katas solved"
    yield ""
    taken = f"{page.hints} {'hint' if page.hints == 1 else 'hints'} taken"
    yield f"{page.time} spent, {taken}, {page.generated:%Y-%m-%d}."
    yield ""
    yield "| lecture | | solved | failing | open | untouched | not here |"
    yield "| --- | --- | --: | --: | --: | --: | --: |"
    yield from (format_lecture_row(stop) for stop in page.stops)


def format_section(title: str, entries: Sequence[str], room: int, rest: str) -> str:
    """Return a section of at most `room` bytes: entries, and how many there are besides."""
    if not entries:
        return ""
    head = f"\n### {title}\n\n"
    room -= len(head.encode()) + len(f"- {len(entries)} {rest}\n".encode())
    shown = list(fit(entries, room))
    left = len(entries) - len(shown)
    return head + "".join(shown) + f"- {left} {rest}\n" * bool(left)


def fit(entries: Iterable[str], room: int) -> Iterator[str]:
    """Return the first entries, as many as fit into `room` bytes."""
    for entry in entries:
        room -= len(entry.encode())
        if room < 0:
            return
        yield entry


def format_lecture_row(stop: Station) -> str:
    """Return a lecture's row of the table."""
    solved, total = stop.counts["solved"], len(stop.cards)
    filled = BAR * solved // max(total, 1)
    bar = "█" * filled + "░" * (BAR - filled)
    others = (stop.counts[state] or "" for state in ("failing", "open", "new", "unavailable"))
    cells = (f"{stop.number} {markdown_text(stop.title)}", bar, f"{solved} of {total}", *others)
    return markdown_row(map(str, cells))


def format_failing(card: Card, longest: int) -> str:
    """Return the entry of a failing kata: its title, and its first failure with all alike."""
    alike: dict[str, list[str]] = {}
    for failure in card.failures:
        first = next((line for line in failure.message.splitlines() if line.strip()), "")
        alike.setdefault(first, []).extend(failure.tests)
    line = f"- {markdown_code(card.kata.id)} {markdown_text(card.kata.title)}: "
    line += "1 test fails" if card.failed == 1 else f"{card.failed} tests fail"
    line += f", with {len(alike)} messages" * (len(alike) > 1)
    message, tests = next(iter(alike.items()))
    name = markdown_code(tests[0], longest) + f" and {len(tests) - 1} more" * (len(tests) > 1)
    return f"{line}\n  - {name}: {markdown_code(message, longest)}".rstrip() + "\n"
