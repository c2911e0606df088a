"""Draw a map of attributions that does not lie."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence


def document(colours: Sequence[Sequence[str]], side: int = 10) -> str:
    """Return an SVG with a square for each colour. Given."""
    width, height = side * len(colours[0]), side * len(colours)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">']
    for i, row in enumerate(colours):
        for j, fill in enumerate(row):
            place = f'x="{side * j}" y="{side * i}" width="{side}" height="{side}"'
            lines.append(f'<rect {place} fill="{fill}"/>')
    return "\n".join([*lines, "</svg>\n"])


def colour(value: float, limit: float) -> str:
    """Return "#rrggbb", each channel rounded; beyond the limit the colour stays the same."""
    if math.isnan(value):
        return "#808080"
    pale = round(255 * (1 - min(abs(value) / limit, 1))) if limit else 255
    return f"#ff{pale:02x}{pale:02x}" if value > 0 else f"#{pale:02x}{pale:02x}ff"


def svg(values: Sequence[Sequence[float]], limit: float | None = None) -> str:
    """Return the map as SVG. The limit is the largest finite magnitude, or 1."""
    if limit is None:
        limit = max((abs(v) for row in values for v in row if math.isfinite(v)), default=1.0)
    return document([[colour(v, limit) for v in row] for row in values])
