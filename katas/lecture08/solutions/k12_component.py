"""One component, two schedulers: run a job here, and see what a cluster would get."""

# TorchX reads the annotations of a component as types, so here they must not become strings.
# ruff: noqa: I002

import copy
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
    role = Role(
        "trainer",
        image=".",
        entrypoint=sys.executable,
        args=[script, "--lr", str(lr), "--rank", macros.replica_id, *args],
        env={"WORLD_SIZE": str(replicas)},
        num_replicas=replicas,
    )
    return AppDef("training", roles=[role])


def run_here(app: AppDef, log_dir: str) -> tuple[str, dict[str, list[str]]]:
    """Run `app` on the scheduler "local_cwd" until it ends, and leave `app` unchanged."""
    with get_runner() as runner:
        handle = runner.run(copy.deepcopy(app), "local_cwd", {"log_dir": log_dir})
        status = runner.wait(handle, wait_interval=0.1)
        lines = {
            f"{role.name}/{k}": list(runner.log_lines(handle, role.name, k, streams=Stream.STDOUT))
            for role in app.roles
            for k in range(role.num_replicas)
        }
    return status.state.name, lines


def sbatch_script(app: AppDef) -> str:
    """Return the script that Slurm would get for `app`, and leave `app` unchanged."""
    with get_runner() as runner:
        script: str = runner.dryrun(copy.deepcopy(app), "slurm").request.materialize()
    return script
