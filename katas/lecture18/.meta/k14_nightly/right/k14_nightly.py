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


# Seconds between looks at a job, and how many of its last lines an error has.
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
    """Return the end of what each replica of an app wrote to its standard error. Given."""
    told = []
    for role in app.roles:
        for k in range(role.num_replicas):
            lines = list(runner.log_lines(handle, role.name, k, streams=Stream.STDERR))
            told += [f"[{role.name}/{k}] {line.rstrip()}" for line in lines[-LINES:]]
    return "\n".join(told)


def trainer(script: str, *args: str, ranks: int = 2) -> Any:
    """By the words of a command line."""
    from torchx.specs.builders import materialize_appdef  # noqa: PLC0415 - optional

    return materialize_appdef(dist.ddp, ["--script", script, "-j", f"1x{ranks}", "--", *args])


def run(app: Any, scheduler: str) -> None:
    """With a finally, and another name for the state."""
    runner = get_runner()
    try:
        handle = runner.run(copy.deepcopy(app), scheduler)
        status, over = None, False
        try:
            status = runner.wait(handle, POLL)
            over = True
        finally:
            if not over:
                runner.cancel(handle)
        if getattr(status, "state", None) is not AppState.SUCCEEDED:
            raise StageError(f"{app.name} has failed: {last_lines(runner, handle, app)}")
    finally:
        runner.close()


def chain(stages: Sequence[Stage], scheduler: str) -> None:
    """Two loops."""
    for output in [stage.output for stage in stages]:
        if output.exists():
            output.unlink()
    for stage in stages:
        run(stage.app, scheduler)
        if not stage.output.is_file():
            raise StageError(f"no {stage.output}")


def promote(registry: Registry, model: bytes, loss: float) -> bool:
    """Leave early."""
    version = registry.register(model, loss)
    if isnan(loss):
        return False
    champion = registry.aliases.get("champion")
    if champion is not None and loss >= registry.losses[champion]:
        return False
    registry.aliases.update(champion=version)
    return True


def nightly(registry: Registry, stages: Sequence[Stage], scheduler: str = "local_cwd") -> bool:
    """Read both files, then promote."""
    chain(stages, scheduler)
    model = stages[-2].output.read_bytes()
    return promote(registry, model, float(stages[-1].output.read_bytes()))
