"""Draws a pipeline's first run and the run after an edit, and a registry: lecture 18's picture."""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


# Each stage: its parents, and where it is drawn, by column and row.
STAGES: dict[str, tuple[tuple[str, ...], float, float]] = {
    "fetch": ((), 0, 0.5),
    "clean": (("fetch",), 1, 0.5),
    "labels": (("clean",), 2, 0),
    "features": (("clean",), 2, 1),
    "train": (("labels", "features"), 3, 0.5),
    "evaluate": (("train",), 4, 0.5),
    "promote": (("evaluate",), 5, 0.5),
}
# The stage of which a line was edited before the second run, and the one that refuses then.
EDITED, REFUSES = "features", "evaluate"
# The registry: versions, and the one that the alias names before and after the second run.
VERSIONS, CHAMPION = (1, 2, 3), 2
# What a state looks like: a class, and whether it is hatched.
LOOKS = {"ran": "blue", "cached": "", "failed": "gold", "skipped": "hatched"}
# In pixels: a box, from one column or row to the next, and the top of both runs.
WIDE, HIGH, ACROSS, DOWN = 88, 30, 108, 52
SLANT = 24  # how far a line of a hatched box goes to the right
TOPS = (66, 216)


def states(edited: str, refuses: str) -> dict[str, str]:
    """Return what becomes of each stage in a run after an edit in which one stage fails."""
    found: dict[str, str] = {}
    for name, (parents, _, _) in STAGES.items():
        above = {found[parent] for parent in parents}
        if above & {"failed", "skipped"}:
            found[name] = "skipped"
        elif name == refuses:
            found[name] = "failed"
        else:
            found[name] = "ran" if name == edited or "ran" in above else "cached"
    return found


def place(name: str, top: float) -> tuple[float, float]:
    """Return the left upper corner of a stage's box."""
    _, column, row = STAGES[name]
    return EDGE + ACROSS * column, top + DOWN * row


def hatch(x: float, y: float, at: int) -> str:
    """Return a slanted line in a box, which would meet its lower edge at that many pixels."""
    left, right = max(at, 0), min(at + SLANT, WIDE)
    low, high = (y + HIGH - HIGH * (end - at) / SLANT for end in (left, right))
    return f"M{x + left:g} {low:g} L{x + right:g} {high:g}"


def box(x: float, y: float, words: str, look: str) -> list[str]:
    """Draw a box with a word in it."""
    size = f'width="{WIDE}" height="{HIGH}" rx="4"'
    drawn = [f'<rect x="{x:g}" y="{y:g}" {size} class="{look}"/>']
    if look == "hatched":
        lines = " ".join(hatch(x, y, at) for at in range(-20, WIDE, 9))
        drawn.append(f'<path d="{lines}" style="stroke-dasharray: none"/>')
        # Paper behind the word.
        half = 4.5 * len(words)
        at = f'x="{x + WIDE / 2 - half:g}" y="{y + 6:g}" width="{2 * half:g}" height="18"'
        drawn.append(f'<rect {at} style="stroke: none"/>')
    return [*drawn, text(x + WIDE / 2, y + 20, words, "m")]


def run(top: float, found: dict[str, str]) -> list[str]:
    """Draw the pipeline, with the state of each stage."""
    shapes = []
    for name, (parents, _, _) in STAGES.items():
        x, y = place(name, top)
        for parent in parents:
            left, above = place(parent, top)
            shapes.append(
                f'<path d="M{left + WIDE:g} {above + HIGH / 2:g} L{x:g} {y + HIGH / 2:g}"'
                ' style="stroke-dasharray: none"/>'
            )
        shapes += box(x, y, name, LOOKS[found[name]])
    return shapes


def svg() -> str:
    """Draw both runs, what the colours mean, and the registry."""
    second = states(EDITED, REFUSES)
    first = dict.fromkeys(STAGES, "ran")
    cached = sum(state == "cached" for state in second.values())
    shapes = [text(EDGE, 40, "The first run: every stage runs.", "b")]
    shapes += run(TOPS[0], first)
    words = f"A line of `{EDITED}` was edited: {cached} stages are taken from the cache."
    shapes.append(text(EDGE, TOPS[1] - 26, words, "b"))
    shapes += run(TOPS[1], second)
    below, x = TOPS[1] + DOWN + HIGH + 22, float(EDGE)
    for state, look in LOOKS.items():
        shapes += box(x, below, state, look)
        x += ACROSS
    below += HIGH + 44
    shapes.append(text(EDGE, below, "The registry after both runs", "b"))
    below += 46
    for number, version in enumerate(VERSIONS):
        left = EDGE + ACROSS * number
        shapes += box(left, below, f"version {version}", "blue" if version == CHAMPION else "")
        if number:
            shapes.append(
                f'<path d="M{left - ACROSS + WIDE:g} {below + HIGH / 2:g} H{left:g}"'
                ' style="stroke-dasharray: none"/>'
            )
        if version == CHAMPION:
            style = 'style="stroke-dasharray: none; fill: var(--gold)"'
            flag = f"M{left + 4:g} {below:g} v-26 l14 6 l-14 6"
            shapes += [f'<path d="{flag}" {style}/>', text(left + 24, below - 12, "champion", "b")]
    words = f"{REFUSES} did not accept version {VERSIONS[-1]},"
    right = EDGE + ACROSS * len(VERSIONS) + 6
    shapes.append(text(right, below + 12, words, "c"))
    shapes.append(text(right, below + 30, "so the alias did not move", "c"))
    return document(
        2 * EDGE + ACROSS * 5 + WIDE,
        below + HIGH + EDGE,
        title="A pipeline before and after an edit, and the registry it feeds",
        description=(
            "Seven stages run. After an edit of one of them three are taken from the cache, two"
            " run, the evaluation fails and the promotion is skipped; the registry has three"
            " versions, and the alias champion stays at the second."
        ),
        shapes=shapes,
    )
