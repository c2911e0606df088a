"""The cluster that ``nox -s cluster`` starts: it runs jobs and leaves nothing behind."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import cluster
from tests.support import slurm
from tests.support.slurm import SlurmError
from tests.support.slurm import program


if TYPE_CHECKING:
    from collections.abc import Iterator


# From prctl(2): orphans become children of the process that says so.
PR_SET_CHILD_SUBREAPER = 36
needs_slurm = pytest.mark.tool("slurm")


def processes(folder: Path) -> list[str]:
    """Return the commands of all processes that name `folder`."""
    found: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if str(folder) in command:
            found.append(command)
    return found


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a short name: a socket's path has about a hundred characters."""
    return tmp_path_factory.mktemp("c")


@needs_slurm
def test_a_job_runs(folder: Path) -> None:
    """With more tasks than this machine may have processors; afterwards all daemons are gone."""
    with slurm.slurm(folder) as environment:
        done = subprocess.run(
            [str(program("srun")), "--ntasks=4", "--time=1", "printenv", "SLURM_PROCID"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert (0, "0 1 2 3", "") == (
        done.returncode,
        " ".join(sorted(done.stdout.split())),
        done.stderr,
    )
    assert [] == processes(folder)


@pytest.fixture
def unreaped() -> Iterator[None]:
    """Let nobody reap processes that have lost their parent, as in a container without an init."""
    prctl = ctypes.CDLL(None).prctl
    assert 0 == prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    assert 0 == prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


@needs_slurm
@pytest.mark.usefixtures("unreaped")
def test_a_job_ends_where_nobody_reaps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm does not wait for processes that have ended, and so keeps its only node."""
    monkeypatch.chdir(folder)
    with slurm.slurm(folder) as environment:
        monkeypatch.setenv("SLURM_CONF", environment["SLURM_CONF"])
        number = cluster.command("sbatch", "--parsable", "--no-requeue", "--wrap=srun true; exit 3")
        while cluster.state(number.strip()):
            time.sleep(0.1)
        status = cluster.status(number.strip())
        log = (folder / "slurmctld.log").read_text()

    assert 3 == status
    assert "Kill task failed" not in log


@needs_slurm
def test_an_error_in_the_block_ends_the_daemons(folder: Path) -> None:
    """As does Ctrl-C, which is an exception too."""
    found = []
    with pytest.raises(KeyboardInterrupt), slurm.slurm(folder):  # noqa: PT012 - the block is it
        found = processes(folder)
        raise KeyboardInterrupt

    assert 3 == len(found)
    assert [] == processes(folder)


@needs_slurm
def test_what_does_not_come_up_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the step that did not happen and quotes the daemons' last lines."""
    monkeypatch.setattr(slurm, "SECONDS", 2.0)
    monkeypatch.setattr(slurm, "CONFIGURATION", slurm.CONFIGURATION + "Nonsense=1\n")

    with pytest.raises(SlurmError, match="the node to be idle") as caught, slurm.slurm(folder):
        pass

    assert "slurmctld.out" in str(caught.value)
    assert "Nonsense" in str(caught.value)
    assert [] == processes(folder)


def test_what_is_missing_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Together with the packages that provide it."""
    monkeypatch.setattr(slurm, "PROGRAMS", ("munged-of-another-world", "sh"))

    with pytest.raises(SlurmError) as caught, slurm.slurm(folder):
        pass

    assert str(caught.value) == (
        "munged-of-another-world: not found; "
        "on Debian or Ubuntu: apt-get install munge slurmctld slurmd slurm-client"
    )
