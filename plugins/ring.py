"""A lecture as a ring with one arc for each kata: paths of SVG."""

from __future__ import annotations

import math


# Of the square that the ring is drawn in.
SIZE = 72
RADIUS = 28
# Radians between two arcs.
GAP = 0.09


def arcs(count: int) -> list[str]:
    """Return the paths of so many arcs of equal length, clockwise from the top."""
    gap = min(GAP, math.pi / 2 / max(count, 1))
    step = math.tau / max(count, 1)
    return [_arc(n * step + gap / 2, (n + 1) * step - gap / 2) for n in range(count)]


def _arc(start: float, end: float) -> str:
    (x, y), (to_x, to_y) = _point(start), _point(end)
    large = int(end - start > math.pi)
    return f"M{x:g} {y:g}A{RADIUS} {RADIUS} 0 {large} 1 {to_x:g} {to_y:g}"


def _point(angle: float) -> tuple[float, float]:
    middle = SIZE / 2
    x, y = middle + RADIUS * math.sin(angle), middle - RADIUS * math.cos(angle)
    return round(x, 2), round(y, 2)
