"""A sweep that can be killed."""

from __future__ import annotations

import json
import os
from contextlib import suppress
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
    if not journal.exists():
        return []
    whole, _, _ = journal.read_bytes().rpartition(b"\n")
    return [json.loads(line) for line in whole.splitlines()]


def append(journal: Path, entry: Entry) -> None:
    """Add an entry as a line of JSON, written through with ``os.fsync``.

    First cut off a torn line at the end. Never rewrite whole lines, so that no SIGKILL can lose
    them.
    """
    with journal.open("a+b") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(json.dumps(entry).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def sweep(
    trials: Sequence[Any],
    start: Callable[[Any, Path], BaseProcess],
    folder: Path,
    workers: int,
) -> list[Entry]:
    """Run the trials that have no entry yet; return all entries, in the order of `trials`.

    - ``start(trial, home)`` starts a process and returns it. The home of trial n is ``folder /
      str(n)``: create the folder, or keep it as it is.
    - Trials start in their order. At most `workers` run at once; the next one starts as soon as
      one has ended.
    - When a trial has ended, append its entry to ``folder / "journal.jsonl"``: its number as
      "trial", and "loss" from `loss_in` if the exit code is 0, otherwise the exit code as "exit".
      If `loss_in` raises, "exit" is 0.
    - Before you return or raise, all processes started here must have ended and been joined.
    """
    journal = folder / "journal.jsonl"
    entries = {entry["trial"]: entry for entry in read(journal)}
    waiting = [number for number in range(len(trials)) if number not in entries]
    running: dict[int, BaseProcess] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                number = waiting.pop(0)
                home = folder / str(number)
                home.mkdir(exist_ok=True)
                running[number] = start(trials[number], home)
            ready = wait([process.sentinel for process in running.values()])
            for number in [each for each in running if running[each].sentinel in ready]:
                running[number].join()
                code = running.pop(number).exitcode
                entries[number] = {"trial": number, "exit": code}
                if code == 0:
                    with suppress(OSError, ValueError, TypeError):
                        entries[number] = {"trial": number, "loss": loss_in(folder / str(number))}
                append(journal, entries[number])
    finally:
        for process in running.values():
            process.kill()
            process.join()
    return [entries[number] for number in range(len(trials))]
