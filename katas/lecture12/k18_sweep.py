"""A sweep that can be killed.

Forty trials, four at a time, for a weekend. On Saturday one runs out of memory. On Sunday the node
is taken away: SIGKILL for sweep and trials. On Monday you type the same command again.

    journal.jsonl                           trial
    {"trial": 0, "loss": 0.31}              0      done: its line is all you need
    {"trial": 2, "exit": -9}                2      has failed: not run again
    {"trial": 1, "lo                        1      killed in mid-line: run again
                                            3      was running: run again, in its own folder,
                                                   where its checkpoint is

Build it in four steps, about 30 lines; each turns a group of tests green.

1. `read` and `append`: a journal of whole lines, after any SIGKILL.
2. `sweep`: all trials, some at once.
3. A trial that fails gets its line; a sweep that fails leaves no process.
4. Go on: what has a line has been run.

Begin on paper: the torn line is in the file, and trial 4 ends. What must `append` do first?

Real life differs: trials run on several nodes, a list of trials that has changed is refused, and
for a power failure the folder of a new journal needs an fsync too.
Afterwards read ``ProcessContext.join`` in ``torch/multiprocessing/spawn.py``, in site-packages: how
does it wait for several processes, and whom does it kill when one fails?
"""

from __future__ import annotations

import json
import os  # noqa: F401 - your answer calls it
from multiprocessing.connection import wait  # noqa: F401 - your answer calls it
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence
    from multiprocessing.process import BaseProcess
    from pathlib import Path


Entry = dict[str, Any]


def loss_in(folder: Path) -> float:
    """Return the loss that a trial has left in its folder. Given."""
    return float(json.loads((folder / "loss.json").read_text(encoding="utf-8")))


def read(journal: Path) -> list[Entry]:
    """Return the entries of a journal, one for each whole line, in their order.

    A line is whole if it ends in a newline. A journal that does not exist has no entries.
    """
    # TODO: step 1.
    raise NotImplementedError("read")


def append(journal: Path, entry: Entry) -> None:
    """Add an entry as a line of JSON, written through with ``os.fsync``.

    A torn line at the end is cut off before. Whole lines are never written again, so that no
    SIGKILL can take them.
    """
    # TODO: step 1; mode "a+b" opens at the end: seek(0) before reading. It writes at the end.
    raise NotImplementedError("append")


def sweep(
    trials: Sequence[Any],
    start: Callable[[Any, Path], BaseProcess],
    folder: Path,
    workers: int,
) -> list[Entry]:
    """Run the trials that have no entry yet; return the entries of all, in the order of `trials`.

    - ``start(trial, home)`` starts a process and returns it. Trial n has the folder
      ``folder / str(n)`` as its home: make it, or keep it as it is.
    - Trials start in their order. At most `workers` run at once; the next one starts as soon as
      one has ended, and until then the sweep sleeps.
    - When a trial has ended, its entry is appended to ``folder / "journal.jsonl"``: its number as
      "trial", and "loss" from `loss_in` if its exit code is 0, else that code as "exit": 0 too, if
      `loss_in` raises.
    - When it returns or raises, the processes it has started have ended, and are joined.
    """
    # TODO: steps 2 to 4.
    raise NotImplementedError("sweep")
