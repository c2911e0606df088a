"""Run a pipeline that may be killed at any moment, and go on where it stopped."""

from __future__ import annotations

import graphlib
import hashlib
import shutil
import tempfile
import threading
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
    """Make the store if it is missing, and delete what a killed run was working on."""
    shutil.rmtree(store / "work", ignore_errors=True)
    (store / "work").mkdir(parents=True)


def new_folder(store: Path) -> Path:
    """Return an empty folder to work in, on the store's disk: a different one each time."""
    return Path(tempfile.mkdtemp(dir=store / "work"))


def report(stages: Sequence[Stage], states: Mapping[str, str]) -> str:
    """Return the plan with what became of it: a line for each stage."""
    rows = (f"{s.name:8}{states[s.name]:9}{' + '.join(s.parents)}".rstrip() for s in stages)
    return "\n".join(rows) + "\n"


def order(stages: Sequence[Stage]) -> list[str]:
    """Return the names of the stages, each after its parents."""
    graph = {stage.name: stage.parents for stage in stages}
    names = [*graphlib.TopologicalSorter(graph).static_order()]
    if {*names} != {*graph}:
        raise ValueError("a parent is no stage")
    return names


def keys(stages: Sequence[Stage]) -> dict[str, str]:
    """Return for each name a text that stands for everything its output is made from."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return "dict", sorted((key, plain(each)) for key, each in value.items())
        return [plain(each) for each in value] if isinstance(value, list) else repr(value)

    by_name = {stage.name: stage for stage in stages}

    def key(name: str) -> str:
        stage = by_name[name]
        above = sorted((parent, key(parent)) for parent in stage.parents)
        text = repr((name, stage.code, plain(dict(stage.params)), above))
        return f"{name}-{hashlib.blake2b(text.encode()).hexdigest()[:32]}"

    return {name: key(name) for name in order(stages)}


def produce(stage: Stage, inputs: Mapping[str, Path], output: Path) -> None:
    """Run a stage, so that `output` does not exist until it is whole."""
    folder = new_folder(output.parent)
    try:
        stage.run(folder, inputs, stage.params)
    except BaseException:
        shutil.rmtree(folder)
        raise
    folder.rename(output)


def run(stages: Sequence[Stage], store: Path, workers: int = 4) -> dict[str, str]:
    """Give each stage a thread, which waits for its parents, and then for a place."""
    open_store(store)
    outputs = {name: store / key for name, key in keys(stages).items()}
    done = {name: threading.Event() for name in outputs}
    places, states = threading.Semaphore(workers), dict[str, str]()

    def follow(stage: Stage) -> None:
        for parent in stage.parents:
            done[parent].wait()
        if {states[parent] for parent in stage.parents} & {"failed", "skipped"}:
            states[stage.name] = "skipped"
        elif outputs[stage.name].exists():
            states[stage.name] = "cached"
        else:
            with places:
                try:
                    inputs = {parent: outputs[parent] for parent in stage.parents}
                    produce(stage, inputs, outputs[stage.name])
                    states[stage.name] = "ran"
                except Exception:  # noqa: BLE001 - whatever it is, the others go on
                    states[stage.name] = "failed"
        done[stage.name].set()

    threads = [threading.Thread(target=follow, args=(stage,)) for stage in stages]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return states
