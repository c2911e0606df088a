"""A scheduler of your own: TorchX can run on it whatever runs on Slurm."""

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
        app_id, folder, tasks = make_unique(app.name), cfg["folder"], []
        for role in app.roles:
            for number in range(role.num_replicas):
                values = macros.Values(folder, app_id, str(number), "TORCHX_RANK0_HOST")
                tasks.append(Task(values.apply(role), folder))
        return AppDryRunInfo(Request(app_id, tasks), repr)

    def schedule(self, dryrun_info: AppDryRunInfo[Request]) -> str:
        """Start all tasks of a request, remember the app as RUNNING, and return its id."""
        app_id, tasks = dryrun_info.request
        self.apps[app_id], self.states[app_id] = tasks, AppState.RUNNING
        for task in tasks:
            task.start()
        return app_id

    def describe(self, app_id: str) -> DescribeAppResponse | None:
        """Look at a RUNNING app's tasks, restart those that failed, and return `answer`.

        Return None if there is no such app. Ask each task for its code once: the next answer may
        differ. Restart a failed task that has retries left; it then counts as running. If a failed
        task has none, `end` the app as FAILED. If all tasks have succeeded, the app is SUCCEEDED.
        Any state but RUNNING is final: an app that has ended restarts nothing.
        """
        if app_id not in self.apps:
            return None
        if self.states[app_id] == AppState.RUNNING:
            codes = []
            for task in self.apps[app_id]:
                codes.append(task.code())
                if codes[-1] and task.starts <= task.retries:
                    task.start()
                    codes[-1] = None
            if any(codes):
                self.end(app_id, AppState.FAILED)
            elif None not in codes:
                self.states[app_id] = AppState.SUCCEEDED
        return self.answer(app_id)

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
