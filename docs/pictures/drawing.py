"""What pictures are drawn with: a document with the colours of the reader's page, and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape


if TYPE_CHECKING:
    from collections.abc import Sequence


DOCUMENT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-labelledby="t d">
<title id="t">{title}</title>
<desc id="d">{description}</desc>
<style>
svg {{ --paper: #fbfaf7; --ink: #22262b; --pale: #6a6f76; --blue: #bfdcf7; --gold: #f6dc9c; }}
@media (prefers-color-scheme: dark) {{
  svg {{ --paper: #16191d; --ink: #e4e6e8; --pale: #9aa0a8; --blue: #1d4f80; --gold: #6b5310; }}
}}
rect {{ fill: var(--paper); stroke: var(--pale); }}
path {{ fill: none; stroke: var(--pale); stroke-dasharray: 3 3; }}
text {{ font: 14px ui-monospace, Menlo, Consolas, monospace; fill: var(--ink); }}
text {{ white-space: pre; }}
.b {{ font-weight: bold; }} .c {{ fill: var(--pale); }} .m {{ text-anchor: middle; }}
.blue {{ fill: var(--blue); }} .gold {{ fill: var(--gold); }}
</style>
<rect x="0.5" y="0.5" width="{right}" height="{bottom}" rx="8"/>
{shapes}
</svg>
"""
# In pixels.
CELL, EDGE = 30, 20


def document(
    width: float, height: float, *, title: str, description: str, shapes: Sequence[str]
) -> str:
    """Return a picture in its frame, so many pixels wide and high."""
    return DOCUMENT.format(
        width=width,
        height=height,
        right=width - 1,
        bottom=height - 1,
        title=title,
        description=escape(description),
        shapes="\n".join(shapes),
    )


def text(x: float, y: float, words: str, style: str = "") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(words)}</text>'
