"""How many hints of each kata have been shown: ``.katas/hints.json``; no pytest, no torch."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from plugins.locks import locked
from plugins.wholefile import write_whole


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


FILE = ".katas/hints.json"


def read_counts(root: Path) -> dict[str, int]:
    """Return how many hints of each kata have been shown; a damaged file counts as none."""
    try:
        counts = json.loads((root / FILE).read_bytes())
        return {str(kata): int(count) for kata, count in counts.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def change_count(root: Path, kata: str, change: Callable[[int], int]) -> int:
    """Replace how many hints of `kata` have been shown, and return it.

    This is one step: two terminals that ask at once get two hints. A read-only checkout forgets.
    """
    file = root / FILE
    new = change(read_counts(root).get(kata, 0))
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        with locked(file.with_suffix(".lock")):
            counts = read_counts(root)
            new = change(counts.get(kata, 0))
            data = json.dumps({**counts, kata: new}, indent=2, sort_keys=True)
            write_whole(file, data.encode(), file.parent)
    return new
