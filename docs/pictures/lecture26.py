"""Draws two episodes in a row of a rollout, and how their ends differ: lecture 26."""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


REWARDS = (1, 1, 1, 1, 1, 1, 1)
# The step after which an episode ends, and how.
ENDS = {2: "terminated", 6: "truncated"}
VALUES = (2.0, 1.5, 0.5, 3.0, 2.5, 2.2, 2.0)
# The value of the state that comes after each step; that of a pole that fell counts for nothing.
NEXT = (1.5, 0.5, 9.0, 2.5, 2.2, 2.0, 1.8)
GAMMA, LAMBDA = 0.9, 0.8
# In pixels: a step of the rollout, and a row.
WIDE, HIGH, LEFT, TOP = 96, 40, EDGE + 236, 84


def advantages() -> list[float]:
    """Return GAE: a terminated state has no value after it, and nothing crosses an end."""
    result = [0.0] * len(REWARDS)
    after = 0.0
    for step in reversed(range(len(REWARDS))):
        follows = 0 if ENDS.get(step) == "terminated" else GAMMA * NEXT[step]
        error = REWARDS[step] + follows - VALUES[step]
        carried = 0 if step in ENDS else GAMMA * LAMBDA * after
        after = result[step] = error + carried
    return result


def svg() -> str:
    """Draw a column for each step: reward, value, the value after it, and the advantage."""
    rows: list[tuple[str, list[str]]] = [
        ("reward", [str(reward) for reward in REWARDS]),
        ("value of the state", [f"{value:g}" for value in VALUES]),
        ("value of the next state", [f"{value:g}" for value in NEXT]),
        ("what of it counts", []),
        ("advantage (GAE)", [f"{value:.2f}" for value in advantages()]),
    ]
    rows[3][1].extend(
        "0" if ENDS.get(step) == "terminated" else f"{GAMMA * value:.2f}"
        for step, value in enumerate(NEXT)
    )
    shapes = [text(EDGE, 36, "A rollout of seven steps, cut twice", "b")]
    shapes += [
        text(LEFT + WIDE * (step + 0.5) - 3, TOP - 14, f"step {step}", "m")
        for step in range(len(REWARDS))
    ]
    for line, (name, cells) in enumerate(rows):
        y = TOP + HIGH * line
        shapes.append(text(EDGE, y + 22, name))
        for step, cell in enumerate(cells):
            end = ENDS.get(step)
            colour = {"terminated": "gold", "truncated": "blue"}.get(end or "", "")
            size = f'width="{WIDE - 6}" height="{HIGH - 6}"'
            x = LEFT + WIDE * step
            shapes.append(f'<rect x="{x:g}" y="{y:g}" {size} class="{colour}"/>')
            shapes.append(text(x + WIDE / 2 - 3, y + 22, cell, "m"))
    for step in ENDS:
        x = LEFT + WIDE * (step + 1) - 3
        shapes.append(f'<path d="M{x:g} {TOP - 30:g}V{TOP + HIGH * len(rows) + 8:g}"/>')
    below = TOP + HIGH * len(rows) + 30
    says = (
        ("gold", "terminated: the episode is over, and the next state is worth 0"),
        ("blue", "truncated: the time was up; the next state keeps its value"),
    )
    for line, (colour, words) in enumerate(says):
        y = below + 28 * line
        shapes.append(f'<rect x="{EDGE}" y="{y - 14}" width="28" height="18" class="{colour}"/>')
        shapes.append(text(EDGE + 40, y, words))
    shapes.append(text(EDGE, below + 28 * len(says), "No advantage crosses a cut.", "c"))
    return document(
        LEFT + WIDE * len(REWARDS) + EDGE,
        below + 28 * len(says) + EDGE,
        title="Terminated and truncated",
        description=(
            "Seven steps of a rollout with reward 1. After step 2 the episode is terminated: the"
            " value of the next state does not count. After step 6 it is truncated: the value"
            " of the next state counts. In both places the sum of GAE begins anew."
        ),
        shapes=shapes,
    )
