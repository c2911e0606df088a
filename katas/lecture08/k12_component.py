"""One component, two schedulers: run a job here, and see what a cluster would get.

TorchX calls a component with strings from a command line, and converts each to the type of its
parameter. The component returns an app, which any scheduler accepts:

    torchx run -s local_cwd --dryrun FILE.py:trainer --script fit.py --replicas 2 -- --fast

           trainer(...)              local_cwd    processes here
    words ------------->  AppDef  <
                                     slurm        an sbatch script

1. `trainer`: the app, with a macro for a value that each replica only knows when it starts.
2. `run_here`: run it on this machine, wait, and collect its output.
3. `sbatch_script`: the script Slurm would get. Submit nothing. About 18 lines in all.

Begin by printing ``AppDef("a", roles=[Role("b", image="c")])``: what is ``<MISSING>``?
One trap: ``run`` and ``dryrun`` write into the env of the roles you pass to them.
Afterwards read ``_to_popen_request`` in ``torchx/schedulers/local_scheduler.py``, and
``torch/distributed/run.py``, which the component ``dist.ddp`` starts in each replica.

Real life differs: the image is a container, and logs come from the scheduler.
"""

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
    """Return the app "training" with one role, "trainer".

    The role runs this Python (``sys.executable``) with the arguments SCRIPT --lr LR --rank RANK,
    then `args`. RANK is the replica's number. The environment variable WORLD_SIZE, a string,
    is the number of replicas. The image is ".", the working directory.
    """
    # TODO: a role with entrypoint, args, env and num_replicas.
    raise NotImplementedError("trainer")


def run_here(app: AppDef, log_dir: str) -> tuple[str, dict[str, list[str]]]:
    """Run `app` on the scheduler "local_cwd" until it ends, and leave `app` unchanged.

    Return the name of its state ("SUCCEEDED", "FAILED") and a dict from each replica, such as
    "trainer/0", to the lines of its standard output as ``log_lines`` yields them. Close the runner
    afterwards. Logs go to `log_dir`, an option of the scheduler. ``wait`` polls every ten seconds
    by default: poll every 0.1 s.
    """
    # TODO: in a `with` block: run, wait, and log_lines for each replica of each role.
    raise NotImplementedError("run_here")


def sbatch_script(app: AppDef) -> str:
    """Return the script that Slurm would get for `app`, and leave `app` unchanged.

    TorchX asks ``sinfo`` for partitions. Without a cluster it complains, which does no harm.
    """
    # TODO: the request of a dry run has a method materialize().
    raise NotImplementedError("sbatch_script")
