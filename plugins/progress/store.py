"""The files in which standings are kept: one for each kata, below ``.katas/progress``."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from plugins.locks import locked
from plugins.standing import Standing
from plugins.standingdata import from_data
from plugins.standingdata import to_data
from plugins.wholefile import write_whole


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from plugins.layout import Kata


FOLDER = ".katas/progress"


def file_of(root: Path, kata: Kata) -> Path:
    """Return the file that holds what is remembered about `kata`; it need not exist."""
    return root / FOLDER / kata.lecture / f"{kata.name}.json"


def recall(root: Path, kata: Kata) -> Standing:
    """Return what is remembered; a damaged file, or one of a later version, counts as none."""
    try:
        return from_data(json.loads(file_of(root, kata).read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Standing()


def update(root: Path, kata: Kata, change: Callable[[Standing], Standing]) -> None:
    """Replace what is remembered, as one step even if two terminals do so at once.

    A read-only checkout remembers nothing.
    """
    file = file_of(root, kata)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with locked(file.with_suffix(".lock")):
            standing = change(recall(root, kata))
            data = json.dumps(to_data(standing), separators=(",", ":"))
            write_whole(file, data.encode(), file.parent)
