"""What ``q`` says under ``--watch``: what was done today, what is next, and how to go on."""

from __future__ import annotations

import shlex
import textwrap
from datetime import datetime
from typing import TYPE_CHECKING

from plugins.loop.screen import WIDTH
from plugins.progress.store import read_last_run
from plugins.progress.store import read_standings
from plugins.tools.terminal import format_duration


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from plugins.course.model import Kata


def farewell_lines(
    root: Path, katas: Iterable[Kata], following: Kata | None, args: Iterable[object]
) -> list[str]:
    """Return the lines; `following` is the kata that comes next, `args` those of the command."""
    today = datetime.now().astimezone().date()
    solved = [
        kata
        for kata, standing in read_standings(root, katas)
        if standing.solved_at
        and datetime.fromisoformat(standing.solved_at).astimezone().date() == today
    ]
    count = f"{len(solved)} {'kata' if len(solved) == 1 else 'katas'}"
    spent = format_duration(read_last_run(root).spent_on(today))
    minutes = f", {following.minutes} min" if following and following.minutes else ""
    then = f"next {following.id}{minutes}" if following else "nothing else is open here"
    command = shlex.join(["pytest", *(str(each) for each in args if each != "--skip")])
    said = (f"today: {count}, {spent}; {then}", f"go on with: {command}")
    if len("; ".join(said)) <= WIDTH:
        return ["; ".join(said)]
    # The command whole, to be copied, if a row can hold it.
    return [
        row
        for line in said
        for row in textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
    ]
