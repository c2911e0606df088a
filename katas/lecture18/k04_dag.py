"""Run a pipeline that may be killed at any moment, and continue where it stopped.

TorchX starts one app. The order of apps, and what need not run again, are up to you:

    clean ---> train ---> judge ---> report        the code of `train` changes:
      `------> stats --------------'               which stages run again?

1. `order`: each stage after its parents.
2. `keys`: everything an output depends on, in one text. It names the output's folder, so a stage
   whose folder exists need not run.
3. `produce`: the whole output appears in one step, or nothing does.
4. `run`: start all stages that are ready, not one at a time. Skip the stages after a failure.
5. The tests kill the runner before each file operation, and start it again. No finished stage runs
   a second time. If steps 2 to 4 are right, there is nothing left to write.

Stages here are functions in threads. About 45 lines, an hour.

Begin on paper: `stats` fails while `train` runs. Which states do `judge` and `report` end in?
Afterwards read ``write_atomic`` in ``torch/_inductor/codecache.py``, in site-packages: the cache of
torch.compile names its files by hashes, too.

Real life differs: a stage's function starts a TorchX app and waits for it; two runners must not
share a store; and to survive a power cut, files need ``os.fsync`` before the rename.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from concurrent.futures import FIRST_COMPLETED
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence


@dataclass(frozen=True)
class Stage:
    """One step of a pipeline.

    `run` takes an empty folder to write to, the folders of the parents by name, and `params`. It
    fails by raising an Exception. `code` is the text or version of `run`.
    """

    name: str
    run: Callable[[Path, Mapping[str, Path], Mapping[str, Any]], None]
    parents: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    code: str = "1"


def open_store(store: Path) -> None:
    """Create the store if it is missing, and delete the unfinished work of a killed run."""
    shutil.rmtree(store / "work", ignore_errors=True)
    (store / "work").mkdir(parents=True)


def new_folder(store: Path) -> Path:
    """Return an empty folder to work in, on the store's disk: a different one each time."""
    return Path(tempfile.mkdtemp(dir=store / "work"))


def report(stages: Sequence[Stage], states: Mapping[str, str]) -> str:
    """Return the plan and its outcome, with a line for each stage."""
    rows = (f"{s.name:8}{states[s.name]:9}{' + '.join(s.parents)}".rstrip() for s in stages)
    return "\n".join(rows) + "\n"


def order(stages: Sequence[Stage]) -> list[str]:
    """Return the names of the stages, each after its parents.

    Raise ValueError if that is impossible: a cycle, or a parent that is not a stage.
    """
    # TODO: step 1. Stages whose parents are all placed come next.
    raise NotImplementedError("order")


def keys(stages: Sequence[Stage]) -> dict[str, str]:
    """Return a key for each stage's output, by name: a short text that can name a folder.

    It depends on the stage's name, code and params and on the keys of its parents, and on nothing
    else: not on the order of `stages`, of `parents` or of a dict, nor on the store or the process.
    """
    # TODO: step 2. json.dumps can sort, and hashlib makes a text short.
    raise NotImplementedError("keys")


def produce(stage: Stage, inputs: Mapping[str, Path], output: Path) -> None:
    """Run a stage, so that `output` exists only when it is complete.

    The store is ``output.parent``. If the stage raises, re-raise its exception and leave nothing
    behind, not even after a KeyboardInterrupt.
    """
    # TODO: step 3. Work elsewhere: new_folder(output.parent).
    raise NotImplementedError("produce")


def run(stages: Sequence[Stage], store: Path, workers: int = 4) -> dict[str, str]:
    """Run the stages that are not in the store yet, and return each stage's state by its name.

    The output of a stage is ``store / key``. States are "ran"; "cached": the output existed;
    "failed": its `run` raised; "skipped": a parent failed or was skipped, even if the output
    existed. A stage starts as soon as all its parents are "ran" or "cached" and fewer than
    `workers` others are running, and gets its parents' outputs. A failure stops no other stage.
    """
    # TODO: step 4. Call open_store first.
    raise NotImplementedError("run")
