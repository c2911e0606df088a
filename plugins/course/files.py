"""The texts of an exercise, as they are now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from plugins.standing import learners_files


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.layout import Kata


def exercise_texts(kata: Kata, start: Path) -> dict[str, str]:
    """Return the texts of the exercise's files, by their paths from `start`.

    A file that was removed has none; if there is no other, its text is that it is gone.
    """
    paths = dict.fromkeys((kata.exercise, *learners_files(kata)))
    texts = {
        os.path.relpath(path, start): path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.is_file()
    }
    gone = f'"""It is gone: nox -s reset -- {kata.id} brings the stub back."""'
    return texts or {os.path.relpath(kata.exercise, start): gone}
