"""Draw a map of attributions that does not lie.

A library will colour any matrix, and often stretches each to its own smallest and largest value:
then 0 has a colour, and two maps cannot be compared. Fix white to 0, red to +limit, blue to -limit:

    -limit    -limit/2     0      limit/2    limit      NaN
    #0000ff   #8080ff   #ffffff   #ff8080   #ff0000   #808080

Write `colour` and `svg`, about 8 lines. `document` writes the file, and is given.

Begin on paper: which two channels fade, and by how much? Afterwards open a map in a browser, and
see ``image`` in ``torch/utils/tensorboard/summary.py``, in site-packages: what happens to -1?
"""

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
    """Return "#rrggbb", each channel rounded; beyond the limit the colour stays the same.

    If limit is 0, every number is white.
    """
    # TODO: math.isnan, and f"{channel:02x}".
    raise NotImplementedError("colour")


def svg(values: Sequence[Sequence[float]], limit: float | None = None) -> str:
    """Return the map as SVG.

    If limit is None, it is the largest magnitude of a finite value, or 1 if there is none.
    """
    # TODO
    raise NotImplementedError("svg")
