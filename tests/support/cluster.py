"""Runs tests as a job of four ranks on a Slurm of one node: what ``nox -s cluster`` does.

The cluster is brought up for the job (``tests/slurm.py``), the job goes there through TorchX, and
one verdict comes back: what the first rank prints, and whether all ended well.
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

from tests.slurm import PARTITION
from tests.slurm import SlurmError
from tests.slurm import missing
from tests.slurm import program
from tests.slurm import slurm


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchx.runner import Runner
    from torchx.specs import AppDryRunInfo


RANKS = 4
TESTS = ("katas/lecture13", "--solutions", "-q")
NO_TORCHX = "TorchX is not installed; python -m pip install --group cluster, with pip 25.1 or newer"
# What torchrun puts before each piece of what a rank writes; calls[0]: is none.
RANK = re.compile(r"(?<!\w\w)\[\d+\]:")
# Nothing is written that often, but a person waits.
TICK = 0.5


def main(arguments: Sequence[str]) -> int:
    """Run pytest with `arguments` in a job; without any, the solutions of lecture 13."""
    try:
        from torchx.runner import get_runner  # noqa: PLC0415 - optional
    except ImportError:
        return complain(NO_TORCHX)
    with get_runner() as runner:
        asked = request(runner, arguments or TESTS)
        if absent := missing():
            return complain(f"{absent}\nNothing was run. TorchX would ask Slurm for:\n\n{asked}")
        with tempfile.TemporaryDirectory(prefix="katas-") as folder:
            try:
                with slurm(Path(folder)) as environment:
                    os.environ.update(settings(environment))
                    return follow(runner, asked)
            except SlurmError as error:
                return complain(f"{error}\nNothing was run. TorchX would ask for:\n\n{asked}")


def complain(text: str) -> int:
    """Say why nothing was run, which is no success."""
    sys.stderr.write(f"cluster: {text}\n")
    return 1


def request(runner: Runner, arguments: Sequence[str]) -> AppDryRunInfo[Any]:
    """Return what TorchX asks of Slurm: ``torchx run --dryrun -s slurm dist.ddp -j 1x4 -m pytest``.

    The command itself would ask for the status next, with sacct, which wants a database.
    """
    component = ["-j", f"1x{RANKS}", "-m", "pytest", "--", *arguments]
    return runner.dryrun_component("dist.ddp", component, "slurm", {"partition": PARTITION})


def settings(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment of the job: this Python, and a thread for each rank."""
    folder = str(Path(sys.executable).parent)
    path = os.pathsep.join([folder, environment.get("PATH", os.defpath)])
    return {**environment, "PATH": path, "OMP_NUM_THREADS": "1"}


def follow(runner: Runner, asked: AppDryRunInfo[Any]) -> int:
    """Run the job, print what it prints, and return its status; end it if this process ends."""
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
    """Return what the ranks have written so far; the job's files lie where it was submitted."""
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
    # It is forgotten after minutes; then nobody knows that it ended well.
    return max(map(int, found.groups())) if found else 1


def command(name: str, *arguments: str) -> str:
    """Return what one of Slurm's commands prints."""
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
