"""A sweep that can be killed.

Forty trials run over a weekend, four at a time. On Saturday one runs out of memory. On Sunday the
node is preempted: sweep and trials get SIGKILL. On Monday you type the same command again.

    journal.jsonl                           trial
    {"trial": 0, "loss": 0.31}              0      done: its line is all you need
    {"trial": 2, "exit": -9}                2      failed: not run again
    {"trial": 1, "lo                        1      killed mid-line: run again
                                            3      was running: run again, in its own folder,
                                                   where its checkpoint is

Build it in four steps, about 30 lines; each turns a group of tests green.

1. `read` and `append`: a journal of whole lines that survives any SIGKILL.
2. `sweep`: run all trials, several at once.
3. A failed trial gets its line; a failed sweep leaves no process behind.
4. Resume: a trial with a line is not run again.

Begin on paper: the file ends in a torn line, and trial 4 ends. What must `append` do first?

Real life differs: trials run on several nodes, a changed list of trials is refused, and to survive
a power failure the folder of a new journal needs an fsync too.
Afterwards read ``ProcessContext.join`` in ``torch/multiprocessing/spawn.py``, in site-packages: how
does it wait for several processes, and which does it kill when one fails?
"""

from __future__ import annotations

import json
import os
from multiprocessing.connection import wait
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence
    from multiprocessing.process import BaseProcess
    from pathlib import Path


Entry = dict[str, Any]


def loss_in(folder: Path) -> float:
    """Return the loss that a trial wrote to its folder. Given."""
    return float(json.loads((folder / "loss.json").read_text(encoding="utf-8")))


def read(journal: Path) -> list[Entry]:
    """Return the entries of a journal, one for each whole line, in order.

    A line is whole if it ends in a newline. A journal that does not exist has no entries.
    """
    # TODO: step 1.
    raise NotImplementedError("read")


def append(journal: Path, entry: Entry) -> None:
    """Add an entry as a line of JSON, written through with ``os.fsync``.

    First cut off a torn line at the end. Never rewrite whole lines, so that no SIGKILL can lose
    them.
    """
    # TODO: step 1. Mode "a+b" opens at the end: seek(0) before reading. Writes go to the end.
    raise NotImplementedError("append")


def sweep(
    trials: Sequence[Any],
    start: Callable[[Any, Path], BaseProcess],
    folder: Path,
    workers: int,
) -> list[Entry]:
    """Run the trials that have no entry yet; return all entries, in the order of `trials`.

    - ``start(trial, home)`` starts a process and returns it. The home of trial n is ``folder /
      str(n)``: create the folder, or keep it as it is.
    - Start trials in order, at most `workers` at once. Start the next one as soon as one has ended;
      until then, sleep.
    - When a trial has ended, append its entry to ``folder / "journal.jsonl"``: its number as
      "trial", and "loss" from `loss_in` if the exit code is 0, otherwise the exit code as "exit".
      If `loss_in` raises, "exit" is 0.
    - Before you return or raise, all processes started here must have ended and been joined.
    """
    # TODO: steps 2 to 4.
    raise NotImplementedError("sweep")
