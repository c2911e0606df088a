"""A whole night: train on two ranks, compare, promote; here or on a cluster."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from dataclasses import field
from math import isnan
from typing import TYPE_CHECKING
from typing import Any


try:
    from torchx.components import dist
    from torchx.runner import get_runner
    from torchx.schedulers.api import Stream
    from torchx.specs import AppState
except ModuleNotFoundError:  # optional: the tests say how to install it
    dist = get_runner = Stream = AppState = None

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


# Seconds between looks at a job, and the number of last lines that an error shows.
POLL, LINES = 0.1, 5


class StageError(RuntimeError):
    """A stage of the night has failed."""


@dataclass(frozen=True)
class Stage:
    """A job, and the file that it writes."""

    app: Any
    output: Path


@dataclass
class Registry:
    """Models and losses by version, 1, 2, 3, ..., and the aliases. Given."""

    models: dict[int, bytes] = field(default_factory=dict)
    losses: dict[int, float] = field(default_factory=dict)
    aliases: dict[str, int] = field(default_factory=dict)

    def register(self, model: bytes, loss: float) -> int:
        """Keep a model as a new version, and return its number."""
        version = len(self.models) + 1
        self.models[version], self.losses[version] = model, loss
        return version


def last_lines(runner: Any, handle: str, app: Any) -> str:
    """Return the last lines that each replica of an app wrote to its standard error. Given."""
    told = []
    for role in app.roles:
        for k in range(role.num_replicas):
            lines = list(runner.log_lines(handle, role.name, k, streams=Stream.STDERR))
            told += [f"[{role.name}/{k}] {line.rstrip()}" for line in lines[-LINES:]]
    return "\n".join(told)


def trainer(script: str, *args: str, ranks: int = 2) -> Any:
    """Return TorchX's app for a script on `ranks` ranks of one host, with these arguments."""
    return dist.ddp(*args, script=script, j=f"1x{ranks}")


def run(app: Any, scheduler: str) -> None:
    """Run an app with a runner of TorchX until it ends; leave `app` as it is."""
    with get_runner() as runner:
        handle = runner.run(copy.deepcopy(app), scheduler)
        try:
            status = runner.wait(handle, wait_interval=POLL)
        except BaseException:
            runner.cancel(handle)
            raise
        if status is None or status.state != AppState.SUCCEEDED:
            raise StageError(f"{app.name} has failed:\n{last_lines(runner, handle, app)}")


def chain(stages: Sequence[Stage], scheduler: str) -> None:
    """Run the stages one after the other, and stop at the first that fails."""
    for stage in stages:
        stage.output.unlink(missing_ok=True)
    for stage in stages:
        run(stage.app, scheduler)
        if not stage.output.exists():
            raise StageError(f"{stage.app.name} has succeeded, and there is no {stage.output}")


def promote(registry: Registry, model: bytes, loss: float) -> bool:
    """Register the model, and point the alias "champion" at it if its loss is lower."""
    version, before = registry.register(model, loss), registry.aliases.get("champion")
    better = not isnan(loss) if before is None else loss < registry.losses[before]
    if better:
        registry.aliases["champion"] = version
    return better


def nightly(registry: Registry, stages: Sequence[Stage], scheduler: str = "local_cwd") -> bool:
    """Run the stages, promote their model, and return whether it is the champion."""
    chain(stages, scheduler)
    *_, model, judge = stages
    loss = float(judge.output.read_text(encoding="utf-8"))
    return promote(registry, model.output.read_bytes(), loss)
