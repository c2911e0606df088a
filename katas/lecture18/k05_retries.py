"""Retries that mean something: some failures go away, and some come back every night.

A job whose machine was taken away is worth another try. A ``ValueError`` is the same ValueError at
3 am, with four more GPU hours spent. ``local_cwd`` never tries again; TorchX's script for Slurm
does after any exit code except 0. So ask what has happened.

    exit code 0          done
    -9, or 137           SIGKILL: no memory, or the machine was needed      again
    -15, or 143          SIGTERM                                            again
    -11, or 139, ...     any other signal                                   never
    other codes          what does ``error.json`` say?

1. `verdict`: one of "done", "again" and "never".
2. `insist`: start, judge, wait twice as long each time, start again. About 18 lines.

Begin by making an error file: decorate a function that raises with ``record`` of
``torch.distributed.elastic.multiprocessing.errors``, and set ``TORCHELASTIC_ERROR_FILE``.
Afterwards read ``torch/distributed/elastic/multiprocessing/errors/error_handler.py``.

Real life differs: waits have a random part, so that a thousand jobs do not come back at once.
"""

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
    # TODO: the exit code first, then the file.
    raise NotImplementedError("verdict")


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
    # TODO: delete, start, judge, sleep.
    raise NotImplementedError("insist")
