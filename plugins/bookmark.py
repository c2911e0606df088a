"""Remembers which kata ``--next`` has shown, and which ones wait: ``.katas/next.json``."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.locks import locked
from plugins.wholefile import write_whole


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


FILE = ".katas/next.json"


@dataclass(frozen=True)
class Bookmark:
    """The kata that was shown last, or "", and those that were skipped, in that order."""

    shown: str = ""
    skipped: tuple[str, ...] = ()


def read_bookmark(root: Path) -> Bookmark:
    """Return what is remembered; a damaged file counts as none."""
    try:
        data = json.loads((root / FILE).read_bytes())
        return Bookmark(str(data["shown"]), tuple(map(str, data["skipped"])))
    except (OSError, ValueError, TypeError, KeyError):
        return Bookmark()


def change_bookmark(root: Path, change: Callable[[Bookmark], Bookmark]) -> Bookmark:
    """Replace what is remembered as one step, and return it; a read-only checkout forgets it."""
    file = root / FILE
    new = change(read_bookmark(root))
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        with locked(file.with_suffix(".lock")):
            new = change(read_bookmark(root))
            write_whole(file, json.dumps(asdict(new), indent=2).encode(), file.parent)
    return new
