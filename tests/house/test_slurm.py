"""The cluster that ``nox -s cluster`` brings up: it runs jobs, and nothing of it is left."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import slurm
from tests.slurm import SlurmError
from tests.slurm import program


needs_slurm = pytest.mark.skipif(bool(slurm.missing()), reason=f"slurm: {slurm.missing()}")


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
    """With more tasks than this machine may have processors; and then all daemons are gone."""
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
    """The error names what was waited for and what the daemons have said last."""
    monkeypatch.setattr(slurm, "SECONDS", 2.0)
    monkeypatch.setattr(slurm, "CONFIGURATION", slurm.CONFIGURATION + "Nonsense=1\n")

    with pytest.raises(SlurmError, match="the node to be idle") as caught, slurm.slurm(folder):
        pass

    assert "slurmctld.out" in str(caught.value)
    assert "Nonsense" in str(caught.value)
    assert [] == processes(folder)


def test_what_is_missing_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the packages that bring it."""
    monkeypatch.setattr(slurm, "PROGRAMS", ("munged-of-another-world", "sh"))

    with pytest.raises(SlurmError) as caught, slurm.slurm(folder):
        pass

    assert str(caught.value) == (
        "munged-of-another-world: not found; "
        "on Debian or Ubuntu: apt-get install munge slurmctld slurmd slurm-client"
    )
