"""The pictures of the lectures: a module for each, and ``python -m docs.pictures`` draws them.

Each is computed from what it shows, needs no other file, and has the colours of the reader's page,
light or dark.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


HERE = Path(__file__).parent
DOCS = HERE.parent
LECTURES = tuple(sorted(file.stem for file in HERE.glob("lecture*.py")))
# The others are measured by PyTorch.
WITHOUT_TORCH = (
    "lecture01",
    "lecture02",
    "lecture06",
    "lecture09",
    "lecture13",
    "lecture15",
    "lecture16",
    "lecture18",
    "lecture19",
    "lecture20",
    "lecture21",
    "lecture22",
    "lecture23",
    "lecture24",
    "lecture25",
    "lecture26",
    "lecture28",
)


def draw(lecture: str) -> str:
    """Return the picture of a lecture, as SVG."""
    picture: str = import_module(f"{__name__}.{lecture}").svg()
    return picture
