"""A sweep that can be killed."""

from __future__ import annotations

import json
import os
import time
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
    try:
        text = journal.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.split("\n")[:-1]]


def append(journal: Path, entry: Entry) -> None:
    """Add an entry as a line of JSON; return when it is on the disk: ``os.fsync``.

    A torn line at the end is cut off before. Whole lines are never written again, so that no death
    can take them.
    """
    with journal.open("r+b" if journal.exists() else "w+b") as file:
        end = sum(len(line) for line in file if line.endswith(b"\n"))
        file.seek(end)
        file.truncate()
        file.write(f"{json.dumps(entry)}\n".encode())
        file.flush()
        os.fsync(file)


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
      one has ended.
    - When a trial has ended, its entry is appended to ``folder / "journal.jsonl"``: its number as
      "trial", and "loss" from `loss_in` if its exit code is 0, else that code as "exit".
    - However this function ends, the processes it has started have ended, and are joined.
    """
    done = {entry["trial"]: entry for entry in read(folder / "journal.jsonl")}
    open_trials = (number for number in range(len(trials)) if number not in done)
    slots: list[tuple[int, BaseProcess] | None] = [None] * workers
    try:
        while True:
            for place, slot in enumerate(slots):
                if slot is not None and slot[1].exitcode is not None:
                    number, process = slot
                    entry: Entry = {"trial": number}
                    try:
                        if process.exitcode:
                            raise ValueError  # noqa: TRY301
                        entry["loss"] = loss_in(folder / str(number))
                    except Exception:  # noqa: BLE001
                        entry["exit"] = process.exitcode
                    append(folder / "journal.jsonl", entry)
                    done[number] = entry
                    slots[place] = None
                if slots[place] is None and (following := next(open_trials, None)) is not None:
                    (folder / str(following)).mkdir(parents=True, exist_ok=True)
                    slots[place] = following, start(trials[following], folder / str(following))
            if not any(slots):
                return [done[number] for number in sorted(done)]
            time.sleep(0.02)
    finally:
        for slot in slots:
            if slot is not None:
                slot[1].terminate()
                slot[1].join()
