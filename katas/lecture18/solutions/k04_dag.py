"""Run a pipeline that may be killed at any moment, and continue where it stopped."""

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
    left, names = list(stages), []
    while left:
        ready = [stage.name for stage in left if {*stage.parents} <= {*names}]
        if not ready:
            raise ValueError("a cycle, or a parent that is no stage")
        names += ready
        left = [stage for stage in left if stage.name not in ready]
    return names


def keys(stages: Sequence[Stage]) -> dict[str, str]:
    """Return a key for each stage's output, by name: a short text that can name a folder.

    It depends on the stage's name, code and params and on the keys of its parents, and on nothing
    else: not on the order of `stages`, of `parents` or of a dict, nor on the store or the process.
    """
    by_name = {stage.name: stage for stage in stages}
    found: dict[str, str] = {}
    for name in order(stages):
        stage = by_name[name]
        parents = {parent: found[parent] for parent in stage.parents}
        text = json.dumps([name, stage.code, stage.params, parents], sort_keys=True)
        found[name] = hashlib.sha256(text.encode()).hexdigest()
    return found


def produce(stage: Stage, inputs: Mapping[str, Path], output: Path) -> None:
    """Run a stage, so that `output` exists only when it is complete.

    The store is ``output.parent``. If the stage raises, re-raise its exception and leave nothing
    behind, not even after a KeyboardInterrupt.
    """
    folder = new_folder(output.parent)
    try:
        stage.run(folder, inputs, stage.params)
        folder.replace(output)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(stages: Sequence[Stage], store: Path, workers: int = 4) -> dict[str, str]:
    """Run the stages that are not in the store yet, and return each stage's state by its name.

    The output of a stage is ``store / key``. States are "ran"; "cached": the output existed;
    "failed": its `run` raised; "skipped": a parent failed or was skipped, even if the output
    existed. A stage starts as soon as all its parents are "ran" or "cached" and fewer than
    `workers` others are running, and gets its parents' outputs. A failure stops no other stage.
    """
    open_store(store)
    outputs = {name: store / key for name, key in keys(stages).items()}
    by_name = {stage.name: stage for stage in stages}
    left, states, running = order(stages), {}, {}
    with ThreadPoolExecutor(workers) as pool:
        while left or running:
            for name in list(left):
                stage = by_name[name]
                above = {states.get(parent) for parent in stage.parents}
                if above & {"failed", "skipped"}:
                    states[name] = "skipped"
                elif not above <= {"ran", "cached"}:
                    continue
                elif outputs[name].exists():
                    states[name] = "cached"
                else:
                    inputs = {parent: outputs[parent] for parent in stage.parents}
                    running[pool.submit(produce, stage, inputs, outputs[name])] = name
                left.remove(name)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                states[running.pop(future)] = "failed" if future.exception() else "ran"
    return states
