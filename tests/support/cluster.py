"""Runs tests as a job of four ranks on a one-node Slurm, for ``nox -s cluster``.

The cluster is started for the job (``tests/support/slurm.py``), TorchX submits the job, and one
verdict comes back: the output of the first rank, and whether all ranks succeeded.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from plugins.tools.terminal import install_group
from tests.support.slurm import PARTITION
from tests.support.slurm import SlurmError
from tests.support.slurm import missing
from tests.support.slurm import program
from tests.support.slurm import slurm


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchx.runner import Runner
    from torchx.specs import AppDryRunInfo


RANKS = 4
TESTS = ("katas/lecture13", "--solutions", "-q")
NO_TORCHX = f"TorchX is not installed; {install_group('cluster')}"
# The prefix that torchrun puts before each piece of a rank's output; calls[0]: is not one.
RANK = re.compile(r"(?<!\w\w)\[\d+\]:")
# Seconds between looks at the output: it changes less often, but a person waits.
TICK = 0.5


def main(arguments: Sequence[str]) -> int:
    """Run pytest with `arguments` in a job; without any, the solutions of lecture 13."""
    try:
        from torchx.runner import get_runner  # noqa: PLC0415 - optional
    except ImportError:
        return complain(NO_TORCHX)
    with get_runner() as runner:
        if absent := missing():
            asked = request(runner, arguments)
            return complain(f"{absent}\nNothing was run. TorchX would ask Slurm for:\n\n{asked}")
        with tempfile.TemporaryDirectory(prefix="katas-") as folder:
            try:
                with slurm(Path(folder)) as environment:
                    os.environ.update(settings(environment))
                    # Not before: TorchX asks Slurm about the partition, which looks for a cluster.
                    return follow(runner, request(runner, arguments))
            except SlurmError as error:
                asked = request(runner, arguments)
                return complain(f"{error}\nNothing was run. TorchX would ask for:\n\n{asked}")


def complain(text: str) -> int:
    """Print why nothing was run, and return 1."""
    sys.stderr.write(f"cluster: {text}\n")
    return 1


def request(runner: Runner, arguments: Sequence[str]) -> AppDryRunInfo[Any]:
    """Return the request to Slurm: ``torchx run --dryrun -s slurm dist.ddp -j 1x4 -m pytest``.

    That command would next ask for the status with sacct, which needs a database.
    """
    component = ["-j", f"1x{RANKS}", "-m", "pytest", "--", *(arguments or TESTS)]
    return runner.dryrun_component("dist.ddp", component, "slurm", {"partition": PARTITION})


def settings(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment of the job: this Python, and a thread for each rank."""
    folder = str(Path(sys.executable).parent)
    path = os.pathsep.join([folder, environment.get("PATH", os.defpath)])
    return {**environment, "PATH": path, "OMP_NUM_THREADS": "1"}


def follow(runner: Runner, asked: AppDryRunInfo[Any]) -> int:
    """Run the job, print its output and return its status; cancel it if this process ends."""
    number = runner.schedule(asked).rpartition("/")[2]
    try:
        told = 0
        while state(number):
            time.sleep(TICK)
            told += tell(written(number, "out")[told:])
        tell(written(number, "out")[told:])
        sys.stderr.write(written(number, "err"))
        return status(number)
    finally:
        command("scancel", number)
        for file in Path.cwd().glob(f"slurm-{number}*"):
            file.unlink()


def written(number: str, stream: str) -> str:
    """Return the ranks' output so far; the job's files are in the folder it was submitted from."""
    files = sorted(Path.cwd().glob(f"slurm-{number}-*.{stream}"))
    return "".join(file.read_text(errors="replace") for file in files)


def tell(text: str) -> int:
    """Print the complete lines of `text`, without the numbers of ranks; return their length."""
    end = text.rfind("\n") + 1
    sys.stdout.write(RANK.sub("", text[:end]))
    sys.stdout.flush()
    return end


def state(number: str) -> str:
    """Return the state of the job, empty when it is over."""
    return command("squeue", "--noheader", "--format=%T", "--jobs", number).strip()


def status(number: str) -> int:
    """Return the exit status of a job that is over."""
    found = re.search(r"ExitCode=(\d+):(\d+)", command("scontrol", "show", "job", number))
    # Slurm forgets a job after minutes; one without an exit code counts as failed.
    return max(map(int, found.groups())) if found else 1


def command(name: str, *arguments: str) -> str:
    """Return the output of one of Slurm's commands."""
    done = subprocess.run(
        [str(program(name)), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
