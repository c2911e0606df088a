"""A whole night: train on two ranks, compare, promote; here or on a cluster.

You have all the parts: TorchX starts and watches jobs, a registry keeps models, an alias says which
one serves. What is left is their order, and what to do if something fails at 3 am.

    prepare --> train --> judge --> register --> champion?
    data        rank 0    loss
                rank 1
    `---- jobs, by TorchX ----'     `---- this process ----'

1. `trainer`: the app of a training on several ranks.
2. `run`: start an app and wait. A failure shows the job's last words; nothing is left running.
3. `chain`: stage after stage; never take a file from yesterday for tonight's.
4. `promote`: register the model, and move the alias if it is better.
5. `nightly`: all of it, about 26 lines. Its `scheduler` is the only thing that a cluster changes.

Begin by reading what TorchX would start:
``torchx run -s local_cwd --dryrun dist.ddp -j 1x2 --script fit.py``.
Afterwards read ``main`` in ``torch/distributed/run.py``, in site-packages: each host runs it.

Real life differs: stages wait for each other in Airflow or Argo, and hosts share a file system, or
a bucket.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from dataclasses import field
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
    """Return TorchX's app for a script on `ranks` ranks of one host, with these arguments.

    It is the app that the component ``dist.ddp`` returns.
    """
    # TODO
    raise NotImplementedError("trainer")


def run(app: Any, scheduler: str) -> None:
    """Run an app with a runner of TorchX until it ends; leave `app` as it is.

    Check every POLL seconds. If the app's state is not SUCCEEDED, or is unknown because `wait`
    returns None, raise a StageError with the app's name and its `last_lines`. If waiting is
    interrupted by any exception, cancel the job first. Close the runner in any case.
    """
    # TODO: TorchX writes to the roles that it gets.
    raise NotImplementedError("run")


def chain(stages: Sequence[Stage], scheduler: str) -> None:
    """Run the stages one after the other, and stop at the first that fails.

    Before the first one starts, remove the outputs of all stages. A stage that succeeds without
    writing its output has failed too: raise a StageError that names the file.
    """
    # TODO
    raise NotImplementedError("chain")


def promote(registry: Registry, model: bytes, loss: float) -> bool:
    """Register the model, and point the alias "champion" at it if its loss is lower.

    Without a champion any loss is low enough, except NaN, which never is. Return whether the model
    is the champion now. Register it even if it is not.
    """
    # TODO
    raise NotImplementedError("promote")


def nightly(registry: Registry, stages: Sequence[Stage], scheduler: str = "local_cwd") -> bool:
    """Run the stages, promote their model, and return whether it is the champion.

    The second-to-last stage's output is the model; the last stage's output is its loss, as text. If
    a stage fails, or that text is not a float (ValueError; NaN is a float), the registry does not
    change.
    """
    # TODO
    raise NotImplementedError("nightly")
