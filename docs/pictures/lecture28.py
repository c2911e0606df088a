"""Draws which refs a pull request moves, in which repository: the picture of lecture 28.

The commands are run in the lecture's framework in miniature, and the refs are read after each.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text
from katas.lecture28.repository import Commit
from katas.lecture28.repository import build
from katas.lecture28.repository import edit
from katas.lecture28.repository import newest


if TYPE_CHECKING:
    from katas.lecture28.repository import Clone


README = "README.md"
# What is run, in the lines of its heading.
COMMANDS = (
    ("git fetch", "upstream"),
    ("git switch", "-c fix", "upstream/main"),
    ("git commit", "-a -m Fix"),
    ("git push", "origin fix"),
)
# Whose refs, and their names in the picture.
REFS = {
    "upstream.git": {"main": "refs/heads/main"},
    "clone": {
        "upstream/main": "refs/remotes/upstream/main",
        "main": "refs/heads/main",
        "fix": "refs/heads/fix",
        "origin/fix": "refs/remotes/origin/fix",
    },
    "fork.git": {"main": "refs/heads/main", "fix": "refs/heads/fix"},
}
# In pixels: where the names and the ids begin, and how far apart commands and rows are.
NAMES, IDS, STEP, ROW, TOP = 140, 290, 150, 30, 116


@dataclass(frozen=True)
class Row:
    """A ref of a repository, and the commit that it names after each command; "" is none."""

    repository: str
    name: str
    commits: tuple[str, ...]


def read_rows() -> list[Row]:
    """Run the commands, and read the refs of the three repositories before and after each."""
    news = edit(newest(), README, "", "\nNews.\n")
    with tempfile.TemporaryDirectory() as folder:
        clone = build(Path(folder), main=(Commit("Tell the news", news),), seen=12)
        states = [read(clone)]
        for command in COMMANDS:
            if "git commit" in command:
                clone.run.write(README, clone.run.read(README) + "\nMended.\n")
            clone.run(" ".join(command))
            states.append(read(clone))
    return [
        Row(repository, name, tuple(state[repository].get(ref, "")[:7] for state in states))
        for repository, refs in REFS.items()
        for name, ref in refs.items()
    ]


def read(clone: Clone) -> dict[str, dict[str, str]]:
    """Return the refs of each repository."""
    return {
        "upstream.git": clone.upstream.refs(),
        "clone": clone.refs(),
        "fork.git": clone.fork.refs(),
    }


def svg_of(rows: list[Row]) -> str:
    """Return the picture: a row for each ref, a column for each command."""
    newer = rows[0].commits[0]
    shapes, told, y = [], [], TOP
    for column, words in enumerate((("at first",), *COMMANDS)):
        x = IDS + STEP * column
        shapes += [text(x, 34 + 18 * line, each, "b") for line, each in enumerate(words)]
    for number, row in enumerate(rows):
        if number and row.repository != rows[number - 1].repository:
            y += 16
        if not number or row.repository != rows[number - 1].repository:
            shapes.append(text(EDGE, y, row.repository, "b"))
        shapes.append(text(NAMES, y, row.name))
        for column, commit in enumerate(row.commits):
            x = IDS + STEP * column
            moved = column > 0 and commit != row.commits[column - 1]
            if moved:
                colour = "blue" if commit == newer else "gold"
                shapes.append(
                    f'<rect x="{x - 8}" y="{y - 17}" width="84" height="24" rx="4"'
                    f' class="{colour}"/>'
                )
                command = " ".join(COMMANDS[column - 1])
                told.append(f"{command} moves {row.name} in {row.repository}")
            shapes.append(text(x, y, commit or "-", "" if moved else "c"))
        y += ROW
    legend = "filled: the command moves this ref; blue, to upstream's newest; gold, to your commit"
    shapes.append(text(EDGE, y + 14, legend, "c"))
    return document(
        IDS + STEP * (len(COMMANDS) + 1) + EDGE - 30,
        y + 34,
        title="Four commands, and the refs that each moves in three repositories",
        description="; ".join(told),
        shapes=shapes,
    )


def svg() -> str:
    """Draw what PyTorch says of it."""
    return svg_of(read_rows())
