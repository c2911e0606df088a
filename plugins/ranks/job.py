"""Runs the tests once in a job that torchrun or TorchX has started, with the ranks of the job.

The first process runs pytest as usual. The others collect the same tests, to know the same code,
run their ranks of each ``world`` that a test asks for, and print nothing: one verdict comes back,
and one status. The processes ask and answer each other through the store of the job.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.ranks.messages import LATE
from plugins.ranks.messages import RankOutcome
from plugins.ranks.messages import pack
from plugins.ranks.messages import unpack
from plugins.ranks.rank import LONG
from plugins.tools.private import redirect_terminal


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Generator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.ranks.rank import Request


# The variables that torchrun sets.
NAMES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# Plugins that write files about the tests, which the first process does.
WRITERS = ("lfplugin", "nfplugin", "stepwiseplugin")
# How long after the deadline of its rank a process may be silent, in seconds.
SILENCE = 60.0

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
        """Where ranks of this job meet; each world adds a number of its own."""
        return f"tcp://{self.address}/katas-world"

    def missing(self, size: int) -> str | None:
        """Return why this job cannot run a world of this size, or None if it can."""
        if size <= self.size:
            return None
        return f"needs {size} ranks, the job has {self.size}: torchrun --nproc-per-node {size}"


def job_of(environ: Mapping[str, str]) -> Job | None:
    """Return the job that torchrun's variables describe, or None without them."""
    rank, size, host, port = (environ.get(name, "") for name in NAMES)
    if not (rank and size and host and port):
        return None
    return Job(int(rank), int(size), f"{host}:{port}")


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Note the place in the job, before anything is printed and before the crash guard forks."""
    config.stash[job_key] = job = job_of(os.environ)
    if job and config.getoption("numprocesses", None):
        raise pytest.UsageError("-n and a job do not go together: the ranks are its processes")
    if job and job.rank:
        config.option.xmlpath = None
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Leave it to the first process to write, to files and to the terminal."""
    if is_other_process(config):
        # Errors of this process still go to stderr.
        nothing = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
        redirect_terminal(config, nothing)
        for name in WRITERS:
            if config.pluginmanager.has_plugin(name):
                config.pluginmanager.unregister(name=name)


def is_other_process(config: pytest.Config) -> bool:
    """Whether the first process of the job is another one."""
    job = config.stash.get(job_key, None)
    return bool(job and job.rank)


def job_store(config: pytest.Config) -> Any:
    """Return the store of the job; connect to it at the first call."""
    if store_key not in config.stash:
        from torch.distributed.rendezvous import rendezvous  # noqa: PLC0415 - imports torch

        config.stash[store_key] = store = next(iter(rendezvous("env://")))[0]
        # The tests between two worlds may take long.
        store.set_timeout(LONG)
    return config.stash[store_key]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let the first process decide the status of the job.

    The others end with 0: torchrun ends all processes as soon as one fails, even the first one
    amid its summary.
    """
    job = session.config.stash.get(job_key, None)
    if job and job.rank:
        session.exitstatus = pytest.ExitCode.OK
    elif job and job.size > 1:
        dismiss_processes(job_store(session.config))


class Alone:
    """Outside of a job: all ranks are here."""

    def __init__(self, request: Request) -> None:
        self._missing = len(request.ranks)

    def add_outcome(self, outcome: RankOutcome) -> None:  # noqa: ARG002 - as in a job
        """Count the outcome of a rank here."""
        self._missing -= 1

    def fetch_outcomes(self) -> Sequence[RankOutcome]:
        """Return no outcomes: no rank is elsewhere."""
        return ()

    def has_failed(self) -> bool:
        """Whether a rank has failed elsewhere."""
        return False

    def is_over(self) -> bool:
        """Whether all ranks have an outcome."""
        return not self._missing


class Asker:
    """The first process of a job, which runs the tests and asks the others for their ranks."""

    def __init__(self, store: Any, request: Request) -> None:
        self._store = store
        self._number = store.add("katas/asked", 1)
        self.request = replace(request, ranks=(0,), place=f"{request.place}-{self._number}")
        self._missing = set(range(request.size))
        self._failed = False
        self._until = time.monotonic() + request.seconds + SILENCE if request.seconds else None
        store.set(f"katas/{self._number}", pack(self.request, "A request"))

    def add_outcome(self, outcome: RankOutcome) -> None:
        """Note the outcome of a rank; let the others hurry if it failed."""
        self._missing.discard(outcome.rank)
        if outcome.failed and not self._failed:
            self._failed = True
            self._store.set(f"katas/{self._number}/failed", b"1")

    def fetch_outcomes(self) -> Sequence[RankOutcome]:
        """Return the outcomes that have come from other processes, each once."""
        found = []
        for rank in sorted(self._missing - {0}):
            key = f"katas/{self._number}/{rank}"
            if self._store.check([key]):
                found.append(unpack(self._store.get(key)))
            elif self._until and time.monotonic() > self._until:
                place = "is in a process that is silent"
                found.append(RankOutcome(rank, stopped=LATE, place=place))
        for outcome in found:
            self.add_outcome(outcome)
        return found

    def has_failed(self) -> bool:
        """Whether a rank has failed, here or elsewhere."""
        return self._failed

    def is_over(self) -> bool:
        """Whether all ranks have an outcome; if so, let the other processes know."""
        if not self._missing:
            self._store.set(f"katas/{self._number}/over", b"1")
        return not self._missing


class Answerer:
    """Another process of the job, which runs one rank and sends its outcome to the first."""

    def __init__(self, store: Any, number: int) -> None:
        self._store = store
        self._number = number

    def add_outcome(self, outcome: RankOutcome) -> None:
        """Send the outcome of a rank to the first process."""
        key = f"katas/{self._number}/{outcome.rank}"
        self._store.set(key, pack(outcome, "The outcome of a rank"))

    def fetch_outcomes(self) -> Sequence[RankOutcome]:
        """Return no outcomes: the first process collects them."""
        return ()

    def has_failed(self) -> bool:
        """Whether a rank has failed elsewhere."""
        return bool(self._store.check([f"katas/{self._number}/failed"]))

    def is_over(self) -> bool:
        """Whether the first process has all outcomes, or has asked for another world."""
        keys = (f"katas/{self._number}/over", f"katas/{self._number + 1}")
        return any(self._store.check([key]) for key in keys)


Elsewhere = Alone | Asker | Answerer


def serve_process(store: Any, rank: int, run: Callable[[Request, Elsewhere], object]) -> None:
    """Run this process's rank of each world, until the first process dismisses it."""
    number = 1
    while asked := unpack(store.get(f"katas/{number}")):
        # Skip a world that is too small for this rank, or that was given up for the next one.
        if rank < asked.size and not store.check([f"katas/{number + 1}"]):
            run(replace(asked, ranks=(rank,)), Answerer(store, number))
        number += 1


def dismiss_processes(store: Any) -> None:
    """Let the other processes end."""
    store.set(f"katas/{store.add('katas/asked', 1)}", pack(None, "Nothing"))
