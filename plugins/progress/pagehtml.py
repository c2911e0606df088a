"""Renders the page of the course as one HTML file that loads nothing from the network.

Jinja2 escapes all text from feeds, tests and files. Besides, a Content-Security-Policy allows the
browser only our own script and style, by their hashes. The drawings are paths of SVG: a lecture's
ring of katas, and the curve of solved katas. Imports no pytest.
"""

from __future__ import annotations

import base64
import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins import HERE
from plugins.progress.pagedata import WORDS
from plugins.tools.text import ADDRESS
from plugins.tools.text import readable


if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from jinja2 import Environment

    from plugins.progress.pagedata import Page


FOLDER = HERE / "progress/templates"
# The side of the square around a ring.
SIZE = 72
RADIUS = 28
# Radians between two arcs.
GAP = 0.09
# The curve has units of its own and is stretched to the room that the page has.
WIDTH = 1000
HEIGHT = 100
# The numbers, times a power of ten, at which the curve's axis may end.
STEPS = (1, 2, 4, 5, 10)


def html_of(page: Page) -> str:
    """Return the page as HTML."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with Jinja2, which is optional

    style, script = (read_template(name) for name in ("page.css", "page.js"))
    return (
        make_environment()
        .get_template("page.html")
        .render(
            page=page,
            curve=curve_of(page.days, page.generated.date()),
            policy=make_policy(style, script),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            words=WORDS,
            size=SIZE,
        )
    )


def make_environment() -> Environment:
    """Return the templates with their filters and functions."""
    from jinja2 import Environment  # noqa: PLC0415 - an optional dependency
    from jinja2 import FileSystemLoader  # noqa: PLC0415
    from jinja2 import StrictUndefined  # noqa: PLC0415

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Applied to everything that a template prints.
        finalize=lambda value: readable(value) if type(value) is str else value,
    )
    made.filters["web"] = web_address
    made.globals["arcs"] = arc_paths
    return made


def read_template(name: str) -> str:
    """Return the text of a file among the templates."""
    return (FOLDER / name).read_text(encoding="utf-8")


def make_policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy for our style, our script and the episodes' audio."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{hash_source(style)}'",
            f"script-src '{hash_source(script)}'",
            "img-src data:",  # the empty icon, without which a browser asks for one
            "media-src http: https:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def hash_source(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows `text`."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def web_address(address: str) -> str:
    """Return an http or https address unchanged, and "" for any other."""
    return address if ADDRESS.fullmatch(address) else ""


def arc_paths(count: int) -> list[str]:
    """Return the paths of `count` arcs of equal length, clockwise from the top."""
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


@dataclass(frozen=True)
class Curve:
    """A curve to draw: the outline of its area, its upper edge, and the labels of its axes."""

    area: str
    edge: str
    top: int
    days: tuple[date, ...]


def curve_of(days: Sequence[tuple[date, int]], today: date) -> Curve | None:
    """Return the curve from the first solution until today, or None if there is none yet."""
    if not days:
        return None
    first, last = days[0][0], max(days[-1][0], today)
    # The curve steps up in the middle of a day.
    span = (last - first).days + 1
    top = axis_top(days[-1][1])
    steps = [f"M0 {HEIGHT}"]
    for day, count in days:
        x = round(WIDTH * ((day - first).days + 0.5) / span, 1)
        steps.append(f"H{x:g}V{round(HEIGHT * (1 - count / top), 1):g}")
    edge = "".join(steps) + f"H{WIDTH}"
    middle = first + (last - first) / 2
    shown = tuple(dict.fromkeys((first, middle, last)))
    return Curve(f"{edge}V{HEIGHT}Z", edge, top, shown)


def axis_top(count: int) -> int:
    """Return a round, even number that is at least `count`: the axis also labels its half."""
    power = 1
    while True:
        for step in STEPS:
            if step * power >= max(count, 2) and step * power % 2 == 0:
                return step * power
        power *= 10
