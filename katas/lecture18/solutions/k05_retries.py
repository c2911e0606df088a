"""Retries that mean something: some failures go away, and some come back every night."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# Exceptions that another try does not fix.
NEVER = frozenset({"ValueError", "TypeError", "KeyError", "ModuleNotFoundError", "AssertionError"})


def verdict(code: int, error_file: Path) -> str:
    """Return "done", "again" or "never" for a process that has ended.

    A code below 0 is a signal's number, negated, as in `subprocess`; above 128 it is 128 plus a
    signal's number, as in a shell. A signal decides, whatever the file says. The "message" of the
    file is a text, or a dict whose "message" is the text, such as "ValueError: bad rate". Never
    retry an error in `NEVER`: the name ends at the first colon, or is the whole text without one.

    Try again if the file is missing or incomplete, or has no such text (null or a list, say).
    """
    if code == 0:
        return "done"
    number = -code if code < 0 else code - 128
    if number > 0:
        return "again" if number in {signal.SIGKILL, signal.SIGTERM} else "never"
    try:
        text = json.loads(error_file.read_text("utf-8"))["message"]
        if isinstance(text, dict):
            text = text["message"]
    except (OSError, ValueError, KeyError, TypeError):
        return "again"
    return "never" if str(text).partition(":")[0] in NEVER else "again"


def insist(
    start: Callable[[], int],
    error_file: Path,
    sleep: Callable[[float], object],
    *,
    tries: int = 4,
    first: float = 1.0,
    most: float = 60.0,
) -> list[int]:
    """Return the exit codes of all tries; `start` runs the process and returns its code.

    Try at most `tries` times, and only while the verdict is "again". Between two tries sleep for
    `first` seconds, then for twice as long as the last time, but for at most `most`. Delete the
    error file before each try; keep that of the last one.
    """
    codes: list[int] = []
    while True:
        error_file.unlink(missing_ok=True)
        codes.append(start())
        if verdict(codes[-1], error_file) != "again" or len(codes) == tries:
            return codes
        sleep(min(most, first * 2 ** (len(codes) - 1)))
