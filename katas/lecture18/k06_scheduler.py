"""A scheduler of your own: TorchX can run on it whatever runs on Slurm.

``local_cwd`` never tries again, and when a replica has died for good, the others go on (k02).
TorchX's runner does not care who schedules: it wants a class with a few methods, and a factory:

    Runner("me", {"stubborn": create}).run(app, "stubborn", {"folder": "/tmp"})
            |
            |--> _submit_dryrun    the request: a task for each replica; nothing starts
            |--> schedule          start them, and return the app's id
            `--> describe          called again and again: look at the tasks, act, report

Write these three; the rest is given. `Stubborn` restarts a failed replica, which is what
``RetryPolicy.REPLICA`` means. When a replica has no tries left, `Stubborn` ends the others, and the
app fails. About 25 lines.

Begin on paper: `describe` restarts a replica, and it fails at once. What is the app's state?
Afterwards read ``schedulers/local_scheduler.py`` of TorchX, and ``_invoke_run`` in
``torch/distributed/elastic/agent/server/api.py``.

Real life differs: a package names its factory in the entry points "torchx.schedulers".
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple


try:
    from torchx.schedulers.api import DescribeAppResponse
    from torchx.schedulers.api import ListAppResponse
    from torchx.schedulers.api import Scheduler
    from torchx.schedulers.ids import make_unique
    from torchx.specs import AppDryRunInfo
    from torchx.specs import AppState
    from torchx.specs import macros
    from torchx.specs import runopts
except ModuleNotFoundError:  # optional: the tests say how to install it
    Scheduler = object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torchx.specs import AppDef
    from torchx.specs import Role


class Task:
    """A replica: a role with its macros replaced, and its process."""

    def __init__(self, role: Role, folder: str) -> None:
        self.role, self.folder = role, folder
        # How often the task was started, and how often it may be restarted.
        self.starts, self.retries = 0, role.max_retries
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the task's process."""
        self.starts += 1
        command, env = [self.role.entrypoint, *self.role.args], {**os.environ, **self.role.env}
        self.process = subprocess.Popen(command, env=env, cwd=self.folder)  # noqa: S603

    def code(self) -> int | None:
        """Return the exit code, which is 0 for a success, or None while the process runs."""
        return self.process.poll() if self.process else None

    def kill(self) -> None:
        """End the process if it runs."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Request(NamedTuple):
    """The request to submit: the app's id, and a task for each replica, role after role."""

    app_id: str
    tasks: list[Task]


class Stubborn(Scheduler):
    """Runs replicas as local processes, and restarts those that fail.

    `apps` maps an app's id to its tasks, and `states` maps it to its state as last seen.
    """

    def __init__(self, session_name: str) -> None:
        super().__init__("stubborn", session_name)
        self.apps: dict[str, list[Task]] = {}
        self.states: dict[str, AppState] = {}

    def _run_opts(self) -> runopts:
        opts = runopts()
        opts.add("folder", type_=str, required=True, help="where replicas run: their image")
        return opts

    def _submit_dryrun(self, app: AppDef, cfg: Mapping[str, Any]) -> AppDryRunInfo[Request]:
        """Return the request for the app, with `repr` as its format. Start nothing.

        The id is unique and begins with the app's name. ``cfg["folder"]`` is the image's root and
        the tasks' working folder. Replace ``${rank0_env}`` with TORCHX_RANK0_HOST; you need not set
        that variable.
        """
        # TODO: make_unique, and macros.Values(...).apply for each replica.
        raise NotImplementedError("_submit_dryrun")

    def schedule(self, dryrun_info: AppDryRunInfo[Request]) -> str:
        """Start all tasks of a request, remember the app as RUNNING, and return its id."""
        # TODO
        raise NotImplementedError("schedule")

    def describe(self, app_id: str) -> DescribeAppResponse | None:
        """Look at a RUNNING app's tasks, restart those that failed, and return `answer`.

        Return None if there is no such app. Ask each task for its code once: the next answer may
        differ. Restart a failed task that has retries left; it then counts as running. If a failed
        task has none, `end` the app as FAILED. If all tasks have succeeded, the app is SUCCEEDED.
        Any state but RUNNING is final: an app that has ended restarts nothing.
        """
        # TODO: one code for each task; a restarted task's code is None.
        raise NotImplementedError("describe")

    def answer(self, app_id: str) -> DescribeAppResponse:
        """Return the app's state, and how often its tasks were restarted."""
        restarts = sum(task.starts - 1 for task in self.apps[app_id])
        state = self.states[app_id]
        return DescribeAppResponse(app_id=app_id, state=state, num_restarts=restarts)

    def end(self, app_id: str, state: AppState) -> None:
        """Kill an app's running tasks, and set its state to `state`."""
        self.states[app_id] = state
        for task in self.apps[app_id]:
            task.kill()

    def _cancel_existing(self, app_id: str) -> None:
        self.end(app_id, AppState.CANCELLED)

    def list(self) -> list[ListAppResponse]:
        """Return all apps and their states."""
        return [ListAppResponse(app_id=name, state=state) for name, state in self.states.items()]

    def close(self) -> None:
        """Kill what still runs."""
        for app_id, state in self.states.items():
            if state == AppState.RUNNING:
                self._cancel_existing(app_id)


def create(session_name: str, **options: Any) -> Stubborn:
    """Return a scheduler for a runner with this name."""
    return Stubborn(session_name)
