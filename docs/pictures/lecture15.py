"""Draws the plan of an arena beside results with memory of their own, the picture of lecture 15."""

from __future__ import annotations

from typing import NamedTuple

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


class Result(NamedTuple):
    """What a call writes: its bytes, the call, the last that reads it."""

    name: str
    nbytes: int
    first: int
    last: int


RESULTS = (
    Result("a", 128, 1, 2),
    Result("b", 96, 2, 5),
    Result("c", 160, 3, 4),
    Result("d", 64, 4, 6),
    Result("e", 112, 5, 7),
    Result("f", 160, 6, 8),
    Result("g", 64, 7, 8),
    Result("h", 80, 8, 8),
)
# The one that is shown in both, and the calls.
SHOWN, CALLS = "d", 8
# In pixels: a call, sixteen bytes, the top of both, and from one to the other.
WIDE, HIGH, TOP, RIGHT = 34, 8, 66, 390
# The file below: its parts, and how wide each is drawn.
FILE = (("header", 90), ("program: values, calls, offsets", 290), ("weights", 150))


def placed() -> dict[str, int]:
    """Return an offset for each, as kata 4 does: largest first, at the lowest that is free."""
    offsets: dict[str, int] = {}
    for each in sorted(RESULTS, key=lambda each: -each.nbytes):
        met = [
            other
            for other in RESULTS
            if other.name in offsets and other.first <= each.last and each.first <= other.last
        ]
        at = 0
        while any(
            at < offsets[other.name] + other.nbytes and offsets[other.name] < at + each.nbytes
            for other in met
        ):
            at += 16
        offsets[each.name] = at
    return offsets


def bar(each: Result, left: float, top: float) -> list[str]:
    """Draw a result from its first call to its last, with its name."""
    x, wide, high = left + WIDE * (each.first - 1), WIDE, HIGH * each.nbytes / 16
    wide *= each.last - each.first + 1
    colour = "gold" if each.name == SHOWN else "blue"
    size = f'width="{wide}" height="{high:g}"'
    return [
        f'<rect x="{x}" y="{top:g}" {size} class="{colour}"/>',
        text(x + wide / 2, top + high / 2 + 5, each.name, "b m" if each.name == SHOWN else "m"),
    ]


def svg() -> str:
    """Draw the results one below the other, then in one arena, then the file."""
    offsets, alone = placed(), sum(each.nbytes for each in RESULTS)
    arena = max(offsets[each.name] + each.nbytes for each in RESULTS)
    bound = max(
        sum(each.nbytes for each in RESULTS if each.first <= call <= each.last)
        for call in range(1, CALLS + 1)
    )
    shapes = [
        text(EDGE, 30, f"memory of their own: {alone} bytes", "b"),
        text(EDGE + RIGHT, 30, f"one arena: {arena} bytes", "b"),
    ]
    for left in (EDGE, EDGE + RIGHT):
        shapes += [
            text(left + WIDE * (call - 0.5), TOP - 10, str(call), "c m")
            for call in range(1, CALLS + 1)
        ]
    below: float = TOP
    for each in RESULTS:
        shapes += bar(each, EDGE, below)
        shapes += bar(each, EDGE + RIGHT, TOP + HIGH * offsets[each.name] / 16)
        below += HIGH * each.nbytes / 16
    line, end = TOP + HIGH * bound / 16, EDGE + RIGHT + WIDE * CALLS
    under = TOP + HIGH * arena / 16
    shapes += [
        f'<path d="M{EDGE + RIGHT} {line:g} H{end}"/>',
        text(EDGE + RIGHT, under + 24, f"dashed: lower bound, {bound} bytes,", "c"),
        text(EDGE + RIGHT, under + 44, "alive during one call", "c"),
    ]
    below += 40
    left = EDGE
    for words, wide in FILE:
        size = f'width="{wide}" height="34"'
        colour = "" if words == "header" else "gold" if words.startswith("program") else "blue"
        shapes += [
            f'<rect x="{left}" y="{below:g}" {size} class="{colour}"/>',
            text(left + wide / 2, below + 22, words, "m"),
        ]
        left += wide
    words = f"the file: of {SHOWN} it has the offset, {offsets[SHOWN]}, and no bytes"
    shapes.append(text(EDGE, below - 10, words, "c"))
    shapes.append(text(EDGE, below + 58, "numbers are calls; a bar begins with the call that", "c"))
    shapes.append(text(EDGE, below + 78, "writes it and ends with the last that reads it", "c"))
    return document(
        2 * EDGE + RIGHT + WIDE * CALLS,
        below + 98,
        title="Eight results in memory of their own, and in one arena",
        description=(
            f"Eight results of calls need {alone} bytes one by one, and {arena} in an arena where"
            f" those that are never alive together share bytes; no arena has fewer than {bound}."
        ),
        shapes=shapes,
    )
