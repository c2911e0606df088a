"""``python -m tests.recording FILE`` records a session of ``--watch --next`` as an animated SVG.

pytest runs in a pseudo-terminal on a copy of a lecture; a terminal emulator has the screen after
each step, and each screen becomes one picture, as text.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from xml.sax.saxutils import escape

import pexpect
import pyte

from tests.support.terminal import SECONDS


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Sequence


ROOT = Path(__file__).parents[1]
LECTURE = "katas/lecture02"
COLUMNS, ROWS = 80, 30
# Of the menu; the line of a run that goes on ends with r rerun and q quit, too.
KEYS = "l list  r rerun  q quit"
# Seconds that each picture stays.
STAY = 5
# In pixels; most monospaced fonts are this wide.
SIZE, WIDE, HIGH, EDGE = 14, 8.4, 18, 16
FRAME = """
<g class="f" style="animation-delay:{start}s">
<text x="{edge}" y="{high}" class="c">{caption}</text>
{lines}
</g>"""
DOCUMENT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-labelledby="t d">
<title id="t">The loop of a learner, recorded in a terminal</title>
<desc id="d">{description}</desc>
<style>
svg {{ --paper: #fbfaf7; --ink: #22262b; --pale: #6a6f76; }}
svg {{ --r: #b3261e; --g: #1a7f37; --y: #8a6100; }}
@media (prefers-color-scheme: dark) {{
  svg {{ --paper: #16191d; --ink: #e4e6e8; --pale: #9aa0a8; }}
  svg {{ --r: #ff8a80; --g: #6fd08c; --y: #e3b341; }}
}}
rect {{ fill: var(--paper); stroke: var(--pale); }}
text {{ font: {size}px ui-monospace, Menlo, Consolas, monospace; white-space: pre; }}
text {{ fill: var(--ink); }}
.c {{ fill: var(--pale); }} .b {{ font-weight: bold; }}
.red {{ fill: var(--r); }} .green {{ fill: var(--g); }} .brown {{ fill: var(--y); }}
.f {{ visibility: hidden; animation: show {total}s step-end infinite; }}
@keyframes show {{ 0% {{ visibility: visible; }} {share:.3f}% {{ visibility: hidden; }} }}
@media (prefers-reduced-motion: reduce) {{
  .f {{ animation: none; }} .f:last-of-type {{ visibility: visible; }}
}}
</style>
<rect x="0.5" y="0.5" width="{right}" height="{bottom}" rx="8"/>{frames}
</svg>
"""


@dataclass(frozen=True)
class Step:
    """A step of the learner's, done with a key or outside the terminal."""

    caption: str
    key: str = ""
    act: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Picture:
    """A screen: its lines, each as pieces of text with the classes of their style."""

    caption: str
    lines: Sequence[Sequence[tuple[str, str]]]

    @property
    def text(self) -> str:
        """The text on the screen."""
        return "\n".join("".join(piece for piece, _ in line) for line in self.lines)


def played(
    folder: Path, arguments: Iterable[str], steps: Iterable[Step], path: str = str(ROOT)
) -> list[Picture]:
    """Run pytest in a terminal, take the steps, and return the screen after each of them.

    Python imports the plugins from `path`.
    """
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    terminal: Any = pexpect.spawn(
        sys.executable,
        ["-m", "pytest", *arguments, "--color=yes"],
        cwd=str(folder),
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        encoding="utf-8",
        timeout=SECONDS,
        dimensions=(ROWS, COLUMNS),
    )
    pictures = []
    try:
        for step in steps:
            step.act()
            terminal.send(step.key)
            terminal.expect_exact(KEYS)
            stream.feed(terminal.before + KEYS)
            pictures.append(Picture(step.caption, [line_of(screen, row) for row in range(ROWS)]))
        terminal.send("q")
        terminal.expect(pexpect.EOF)
    finally:
        terminal.close(force=True)
    return pictures


def line_of(screen: Any, row: int) -> list[tuple[str, str]]:
    """Return a line of the screen, in pieces of one style each."""
    cells = [screen.buffer[row][column] for column in range(COLUMNS)]
    pieces = [
        ("".join(cell.data for cell in group), style) for style, group in groupby(cells, style_of)
    ]
    return pieces if "".join(text for text, _ in pieces).strip() else []


def style_of(cell: Any) -> str:
    """Return the classes of a character on the screen."""
    return " ".join([cell.fg] * (cell.fg != "default") + ["b"] * cell.bold)


def svg_of(pictures: Sequence[Picture]) -> str:
    """Return the animated SVG."""
    frames = []
    for number, picture in enumerate(pictures):
        lines = [
            f'<text x="{EDGE}" y="{HIGH * (row + 3)}">{spans(line)}</text>'
            for row, line in enumerate(picture.lines)
            if line
        ]
        caption = escape(picture.caption)
        start = STAY * number
        frames.append(
            FRAME.format(
                start=start, edge=EDGE, high=HIGH * 1.5, caption=caption, lines="\n".join(lines)
            )
        )
    width, height = 2 * EDGE + round(COLUMNS * WIDE), HIGH * (ROWS + 4)
    return DOCUMENT.format(
        width=width,
        height=height,
        right=width - 1,
        bottom=height - 1,
        size=SIZE,
        total=STAY * len(pictures),
        share=100 / len(pictures),
        description=escape("; ".join(picture.caption for picture in pictures)),
        frames="".join(frames),
    )


def spans(line: Sequence[tuple[str, str]]) -> str:
    """Return the pieces of a line as SVG, without blanks at its end."""
    text = "".join(
        f'<tspan class="{style}">{escape(piece)}</tspan>' if style else escape(piece)
        for piece, style in line
    )
    return text.rstrip()


def copied(folder: Path, lecture: str = LECTURE) -> Path:
    """Return a copy of the course with one lecture, unsolved."""
    for name in ("conftest.py", "pyproject.toml", "episodes.toml", "katas/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / lecture, folder / lecture, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def tour(folder: Path) -> list[Step]:
    """Return the steps of the README's tour, through the first kata of lecture 02."""
    exercise = folder / LECTURE / "k01_bytes.py"
    solution = (folder / LECTURE / "solutions" / exercise.name).read_text(encoding="utf-8")
    wrong = solution.replace("position = offset", "position = 0", 1)
    return [
        Step("$ pytest katas --watch --next"),
        Step("press h: a hint, one more each time", "h"),
        Step("save a first answer", act=lambda: exercise.write_text(wrong, encoding="utf-8")),
        Step("mend it and save", act=lambda: exercise.write_text(solution, encoding="utf-8")),
        Step("press n: the next kata", "n"),
    ]


def main() -> None:
    """Record the tour and write the SVG."""
    parser = argparse.ArgumentParser(prog="python -m tests.recording", description=__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    with tempfile.TemporaryDirectory() as temporary:
        folder = copied(Path(temporary))
        pictures = played(folder, ["katas", "--watch", "--next"], tour(folder))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(svg_of(pictures), encoding="utf-8")


if __name__ == "__main__":
    main()
