"""One component, two schedulers: run a job here, and see what a cluster would get.

TorchX calls a component with strings from a command line and turns each into the type of its
parameter. What comes back is an app, which any scheduler takes:

    torchx run -s local_cwd --dryrun FILE.py:trainer --script fit.py --replicas 2 -- --fast

           trainer(...)              local_cwd    processes here
    words ------------->  AppDef  <
                                     slurm        an sbatch script

1. `trainer`: the app, with a macro for what each replica knows only when it starts.
2. `run_here`: run it on this machine, wait, and collect what it printed.
3. `sbatch_script`: what Slurm would get. Submit nothing. About 18 lines in all.

Begin by printing ``AppDef("a", roles=[Role("b", image="c")])``: what is ``<MISSING>``?
One trap: ``run`` and ``dryrun`` write into the env of the roles that they are given.
Afterwards read ``_to_popen_request`` in ``torchx/schedulers/local_scheduler.py``, and
``torch/distributed/run.py``, which the component ``dist.ddp`` starts in each replica.

Real life differs: the image is a container, and logs come from the scheduler.
"""

# TorchX reads the annotations of a component as types, so here they must not become strings.
# ruff: noqa: I002

import copy  # noqa: F401 - your answer may use it
import sys  # noqa: F401 - your answer names the running Python


try:
    from torchx.runner import get_runner  # noqa: F401 - your answer calls it
    from torchx.schedulers.api import Stream  # noqa: F401 - your answer names it
    from torchx.specs import AppDef
    from torchx.specs import Role  # noqa: F401 - your answer makes one
    from torchx.specs import macros  # noqa: F401 - your answer names one
except ModuleNotFoundError:  # optional: the tests say how to install it
    AppDef = object


def trainer(script: str, *args: str, replicas: int = 2, lr: float = 0.1) -> AppDef:
    """Return the app "training" with one role, "trainer".

    It runs this Python (``sys.executable``) with the arguments SCRIPT --lr LR --rank RANK, and then
    `args`. RANK is the number of the replica. The environment
    variable WORLD_SIZE, a string, says how many there are. The image is ".", the working directory.
    """
    # TODO: a role with entrypoint, args, env and num_replicas.
    raise NotImplementedError("trainer")


def run_here(app: AppDef, log_dir: str) -> tuple[str, dict[str, list[str]]]:
    """Run `app` on the scheduler "local_cwd" until it ends; `app` stays as it is.

    Return the name of its state ("SUCCEEDED", "FAILED") and, for each replica, as "trainer/0", the
    lines of its standard output as ``log_lines`` gives them. The runner is closed afterwards. Logs
    go to `log_dir`, an option of the scheduler. ``wait`` polls every ten seconds by default: poll
    every 0.1 s.
    """
    # TODO: in a `with`: run, wait, and log_lines for each replica of each role.
    raise NotImplementedError("run_here")


def sbatch_script(app: AppDef) -> str:
    """Return the script that Slurm would get for `app`, which stays as it is.

    TorchX asks ``sinfo`` for partitions. Where there is no cluster, its complaint does no harm.
    """
    # TODO: the request of a dry run can materialize().
    raise NotImplementedError("sbatch_script")
