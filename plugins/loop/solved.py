"""The lines that say that a kata is solved, and what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.loop.screen import ScreenLine
from plugins.loop.screen import label_paragraph


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.course.model import Kata


def solved_line(kata: Kata) -> ScreenLine:
    """Return the line that announces the solved kata."""
    return ScreenLine(f"{kata.id} is solved: {kata.title}", "green")


def learned_lines(kata: Kata) -> Iterator[ScreenLine]:
    """Return what a solver of the kata has now seen."""
    # A lecture of somebody else need not say it: what its episode explains comes near.
    if learned := kata.learned or next((episode.why for episode in kata.episodes), ""):
        yield from map(ScreenLine, label_paragraph("learned", learned))
