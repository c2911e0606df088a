"""Draws workers that load and a trainer that waits, the picture of lecture 06."""

from __future__ import annotations

from dataclasses import dataclass

from docs.pictures.drawing import DOCUMENT
from docs.pictures.drawing import EDGE
from docs.pictures.drawing import text


@dataclass(frozen=True)
class Lane:
    """A process and what it does over time: start, end and batch of each piece of work."""

    name: str
    spans: tuple[tuple[float, float, int], ...]


def schedule(workers: int, load: float, train: float, batches: int) -> list[Lane]:
    """Return what the workers and the trainer do when; batch k is made by worker k % workers."""
    free = [0.0] * workers
    loads: list[list[tuple[float, float, int]]] = [[] for _ in range(workers)]
    trains: list[tuple[float, float, int]] = []
    end = 0.0
    for batch in range(batches):
        worker = batch % workers
        begin = free[worker]
        free[worker] = begin + load
        loads[worker].append((begin, begin + load, batch))
        begin = max(end, begin + load)
        end = begin + train
        trains.append((begin, end, batch))
    lanes = [Lane(f"worker {number}", tuple(spans)) for number, spans in enumerate(loads)]
    return [*lanes, Lane("trainer", tuple(trains))]


def svg() -> str:
    """Draw one worker and three, which feed a trainer."""
    unit, left, high = 36, 110, 28
    shapes: list[str] = []
    said: list[str] = []
    y, last = 30, 0.0
    for workers in (1, 3):
        lanes = schedule(workers, 3, 1, 6)
        shapes.append(text(EDGE, y, f"{workers} worker{'s' * (workers > 1)}", "b"))
        y += 14
        for lane in lanes:
            shapes.append(text(EDGE, y + 19, lane.name, "c"))
            for begin, end, batch in lane.spans:
                x, wide = left + unit * begin, unit * (end - begin)
                colour = "gold" if lane.name == "trainer" else "blue"
                shapes.append(
                    f'<rect x="{x:g}" y="{y}" width="{wide:g}" height="{high}" class="{colour}"/>'
                    f"{text(x + wide / 2, y + 19, str(batch), 'm')}"
                )
            y += high + 6
        end = lanes[-1].spans[-1][1]
        last = max(last, end)
        waits = end - sum(until - since for since, until, _ in lanes[-1].spans)
        shapes.append(text(left, y + 16, f"6 batches in {end:g}, the trainer waits for {waits:g}"))
        said.append(f"with {workers}, 6 batches take {end:g} and the trainer waits for {waits:g}")
        y += 52
    width, height = left + unit * last + EDGE, y - 18
    return DOCUMENT.format(
        width=f"{width:g}",
        height=height,
        right=f"{width - 1:g}",
        bottom=height - 1,
        title="Workers that load, a trainer that waits",
        description=(
            "Loading a batch takes 3 units of time, training on it 1, and worker k % n makes "
            f"batch k: {'; '.join(said)}"
        ),
        shapes="\n".join(shapes),
    )
