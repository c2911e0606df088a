"""Runs the tests in a job that torchrun or TorchX has started: once, with the job's ranks.

The first process runs pytest as anywhere. The others collect the same tests, so that they know
the same code, run their ranks of each ``world`` that a test asks for, and print nothing: one
verdict comes back, and one status.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.ranks import LONG


if TYPE_CHECKING:
    from collections.abc import Mapping


NAMES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# What writes files about the tests, which the first process does.
WRITERS = ("lfplugin", "nfplugin", "stepwiseplugin")

job_key = pytest.StashKey["Job | None"]()
store_key = pytest.StashKey[Any]()


@dataclass(frozen=True)
class Job:
    """A process's place in a job of several."""

    rank: int
    size: int
    address: str

    @property
    def place(self) -> str:
        """Where ranks of this job meet; what follows makes it unique."""
        return f"tcp://{self.address}/katas-world"

    def missing(self, size: int) -> str | None:
        """Return why a world of this size cannot be had, or None if it can."""
        if size <= self.size:
            return None
        return f"needs {size} ranks, the job has {self.size}: torchrun --nproc-per-node {size}"


def job_of(environ: Mapping[str, str]) -> Job | None:
    """Return the job that the variables of torchrun speak of, if they are there."""
    rank, size, host, port = (environ.get(name, "") for name in NAMES)
    if not (rank and size and host and port):
        return None
    return Job(int(rank), int(size), f"{host}:{port}")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Find out about the job, before anything is printed and before the crash guard forks."""
    config.stash[job_key] = job = job_of(os.environ)
    if job is None:
        return
    if config.getoption("numprocesses", None):
        raise pytest.UsageError("-n and a job do not go together: the ranks are its processes")
    if job.rank:
        config.option.xmlpath = None


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Leave it to the first process to write, be it to files or to the terminal."""
    if is_other(config):
        # What goes wrong here still goes to stderr.
        nothing = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
        config.get_terminal_writer()._file = nothing  # noqa: SLF001 - it has no other way
        for name in WRITERS:
            if config.pluginmanager.has_plugin(name):
                config.pluginmanager.unregister(name=name)


def is_other(config: pytest.Config) -> bool:
    """Whether another process of the job runs the tests."""
    job = config.stash.get(job_key, None)
    return bool(job and job.rank)


def store_of(config: pytest.Config) -> Any:
    """Return the store of the job, connected when it is first asked for."""
    if store_key not in config.stash:
        from torch.distributed.rendezvous import rendezvous  # noqa: PLC0415 - imports torch

        config.stash[store_key] = store = next(iter(rendezvous("env://")))[0]
        # The tests between two worlds may take long.
        store.set_timeout(LONG)
    return config.stash[store_key]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let the status of the job be that of the first process.

    The others end well: torchrun ends all at once when one does not, the first one with its
    summary half written.
    """
    job = session.config.stash.get(job_key, None)
    if job and job.rank:
        session.exitstatus = pytest.ExitCode.OK
    elif job and job.size > 1:
        from plugins.elsewhere import dismiss  # noqa: PLC0415 - only in a job

        dismiss(store_of(session.config))
