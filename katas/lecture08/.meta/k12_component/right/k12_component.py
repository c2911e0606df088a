"""The app made anew from its fields, and its logs read without their ends of lines."""

# TorchX reads the annotations of a component as types, so here they must not become strings.
# ruff: noqa: I002

import copy
import dataclasses
import sys


try:
    from torchx.runner import get_runner
    from torchx.schedulers.api import Stream
    from torchx.specs import AppDef
    from torchx.specs import Role
    from torchx.specs import macros
except ModuleNotFoundError:  # optional: the tests say how to install it
    AppDef = object


def trainer(script: str, *args: str, replicas: int = 2, lr: float = 0.1) -> AppDef:
    """Return the app "training" with one role, "trainer"."""
    own = f"--lr {lr} --rank {macros.replica_id}".split()
    role = Role("trainer", ".", num_replicas=replicas, env={"WORLD_SIZE": f"{replicas}"})
    role.entrypoint, role.args = sys.executable, [script, *own, *args]
    return AppDef(name="training", roles=[role])


def copied(app: AppDef) -> AppDef:
    """Return an app whose roles are copies."""
    return dataclasses.replace(app, roles=[copy.deepcopy(role) for role in app.roles])


def run_here(app: AppDef, log_dir: str) -> tuple[str, dict[str, list[str]]]:
    """Run `app` on the scheduler "local_cwd" until it ends; `app` stays as it is."""
    lines: dict[str, list[str]] = {}
    runner = get_runner()
    try:
        handle = runner.schedule(runner.dryrun(copied(app), "local_cwd", {"log_dir": log_dir}))
        status = runner.wait(handle, 0.1)
        for role in app.roles:
            for k in range(role.num_replicas):
                logs = runner.log_lines(handle, role.name, k, streams=Stream.STDOUT)
                lines[f"{role.name}/{k}"] = [line.rstrip() for line in logs]
    finally:
        runner.close()
    return str(status.state), lines


def sbatch_script(app: AppDef) -> str:
    """Return the script that Slurm would get for `app`, which stays as it is."""
    with get_runner() as runner:
        script: str = runner.dryrun(copied(app), "slurm").request.materialize()
    return script
