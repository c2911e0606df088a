"""What becomes of a file that a fork and its upstream both have: decisions, and no git."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal


if TYPE_CHECKING:
    from collections.abc import Callable


Word = Literal["same", "kept", "moved", "merged", "left"]

SAME_LINES = "you and upstream changed the same lines"
BOTH_ADDED = "upstream has a new file where you have one of your own"
REMOVED_THERE = "upstream removed it, and you have changed it"
REMOVED_HERE = "you removed it, and upstream has changed it"


@dataclass(frozen=True)
class Outcome:
    """What a file shall hold (None: it shall not be there), in a word, and why if it is left."""

    word: Word
    content: bytes | None
    why: str = ""


def settle(
    base: bytes | None,
    mine: bytes | None,
    theirs: bytes | None,
    merge: Callable[[bytes, bytes, bytes], bytes | None],
) -> Outcome:
    """Return what becomes of a file that was `base`, is `mine` here and `theirs` upstream.

    `merge` takes mine, base and theirs; it returns None where both changed the same lines.
    Settling once more what has been settled changes nothing, so a run that was killed can be
    repeated.
    """
    if mine == theirs:
        return Outcome("same", mine)
    if base in {mine, theirs}:
        return Outcome("kept", mine) if base == theirs else Outcome("moved", theirs)
    if mine is None or base is None or theirs is None:
        why = {mine is None: REMOVED_HERE, theirs is None: REMOVED_THERE}.get(True, BOTH_ADDED)
        return Outcome("left", mine, why)
    merged = merge(mine, base, theirs)
    if merged is None:
        return Outcome("left", mine, SAME_LINES)
    return Outcome("same" if merged == mine else "merged", merged)


def told(counts: dict[str, int]) -> str:
    """Return the numbers of files in words: ``12 moved on, 2 merged, 1 left alone``."""
    words = {"moved": "moved on", "merged": "merged", "left": "left alone"}
    found = [f"{counts[word]} {text}" for word, text in words.items() if counts.get(word)]
    return ", ".join(found) or "no file changed"
