"""Draws the laws of a draft and of its target, and what is accepted of them: lecture 24."""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


# The probabilities of each token: of the draft, and of the target.
DRAFT = (0.5, 0.3, 0.1, 0.1)
TARGET = (0.2, 0.4, 0.1, 0.3)
# In pixels: a bar, from one token to the next, a probability of 1, and where bars stand.
WIDE, ACROSS, TALL, FLOOR = 56, 160, 320, 250
LEFT = EDGE + 12


def bar(x: float, part: float, rest: float, colour: str) -> list[str]:
    """Draw what both laws share, and above it what one of them has more."""
    low, high = TALL * part, TALL * rest
    shapes = [f'<rect x="{x:g}" y="{FLOOR - low:g}" width="{WIDE}" height="{low:g}" class="blue"/>']
    if rest > 0:
        y = FLOOR - low - high
        size = f'width="{WIDE}" height="{high:g}"'
        shapes.append(f'<rect x="{x:g}" y="{y:g}" {size} class="{colour}"/>')
    return shapes


def svg() -> str:
    """Draw a pair of bars for each token, and say what the colours mean."""
    shared = [min(pair) for pair in zip(DRAFT, TARGET, strict=True)]
    accepted = sum(shared)
    shapes = [text(EDGE, 36, "q, what the draft proposes, and p, the law of the target", "b")]
    for token, (q, p, both) in enumerate(zip(DRAFT, TARGET, shared, strict=True)):
        x = LEFT + ACROSS * token
        shapes += bar(x, both, q - both, "gold")
        shapes += bar(x + WIDE + 4, both, p - both, "")
        shapes.append(text(x + WIDE / 2, FLOOR + 20, f"q {q:g}", "c m"))
        shapes.append(text(x + WIDE * 1.5 + 4, FLOOR + 20, f"p {p:g}", "c m"))
        shapes.append(text(x + WIDE + 2, FLOOR + 42, f"token {token}", "m"))
    rows = (
        ("blue", f"in both: accepted, {accepted:.0%} of all proposals"),
        ("gold", "proposed too often: refused"),
        ("", "the residual: a refused token is replaced from here"),
    )
    for number, (colour, words) in enumerate(rows):
        y = FLOOR + 66 + 28 * number
        shapes.append(f'<rect x="{LEFT}" y="{y}" width="28" height="18" class="{colour}"/>')
        shapes.append(text(LEFT + 40, y + 14, words))
    return document(
        LEFT + ACROSS * (len(DRAFT) - 1) + 2 * WIDE + 4 + EDGE + 40,
        FLOOR + 66 + 28 * len(rows) + 8,
        title="Speculative decoding: what is accepted, refused and replaced",
        description=(
            f"For four tokens the probabilities of the draft, {DRAFT}, beside those of the target,"
            f" {TARGET}. What both have is accepted, {accepted:.0%} of all proposals; what the"
            " draft has too much is refused, and replaced by what it lacks."
        ),
        shapes=shapes,
    )
