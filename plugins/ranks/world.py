"""The fixture ``world``: calls a function in several ranks at once and returns their results.

The ranks are forked from a warm process, see ``plugins.ranks.server``, and meet through a file.
They agree on no port that another process could have: gloo's own connections, which can only be
TCP, listen on loopback at ports that the system picks.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.limits import memory_limit
from plugins.course.limits import time_limit
from plugins.course.seeds import seed_of
from plugins.course.session import course_root
from plugins.crash.verdict import ROOM
from plugins.machine.absent import require
from plugins.ranks.client import IMPORT
from plugins.ranks.client import client_key
from plugins.ranks.client import client_of
from plugins.ranks.client import explain_as_in
from plugins.ranks.client import import_for_ranks
from plugins.ranks.client import run_here
from plugins.ranks.job import Alone
from plugins.ranks.job import Asker
from plugins.ranks.job import job_key
from plugins.ranks.job import job_store
from plugins.ranks.job import serve_process
from plugins.ranks.messages import pack_call
from plugins.ranks.messages import pack_filters
from plugins.ranks.rank import Request
from plugins.ranks.report import collect_results
from plugins.ranks.server import VARIABLE
from plugins.ranks.server import serve_if_started_to
from plugins.tools.capability import Capability
from plugins.tools.files import describe_os_error


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.ranks.messages import RankOutcome
    from plugins.ranks.traffic import RankResults


# The share of a test's time that its ranks may take together, to leave time for their report.
SHARE = 1 / 3


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", f"{IMPORT}(*modules): imported once, before the ranks of any test are forked."
    )


class World:
    """Calls functions in ranks, for one test."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(
        self,
        function: Callable[..., Any],
        size: int,
        *args: Any,
        backend: str | None = "gloo",
        timeout: float | None = None,
    ) -> RankResults:
        """Return what ``function(*args)`` returns in each of `size` ranks, in their order.

        Parameters
        ----------
        function
            A function at the top level of a module. It finds ``torch.distributed`` initialised,
            as in a script that torchrun has started.
        size
            The number of ranks.
        args
            The same for all ranks; copies, since they go to other processes.
        backend
            As in ``torch.distributed.init_process_group``; None: it is not initialised.
        timeout
            Seconds until the ranks are stopped; without it, a third of the test's time.

        Raises
        ------
        Exception
            If a rank raised: of the same type, with a report of all ranks. A rank that died or
            did not end fails the test.
        """
        __tracebackhide__ = True
        config = self._item.config
        seconds = timeout or (time_limit(config) or 0) * SHARE or None
        with temporary_folder() as folder:
            request = Request(
                call=pack_call(function, args),
                size=size,
                ranks=tuple(range(size)),
                place=f"file:{folder}/store",
                folder=Path(folder),
                root=course_root(config),
                backend=backend,
                test=self._item.nodeid,
                seed=seed_of(self._item.nodeid, config.getoption("seed")),
                seconds=seconds,
                memory=memory_limit(config, size),
                filters=pack_filters(),
            )
            outcomes = self._run(request)
        return collect_results(outcomes, size, seconds)

    def _run(self, request: Request) -> list[RankOutcome]:
        config, client = self._item.config, client_of(self._item.session)
        job = config.stash.get(job_key, None)
        if job is None:
            return client.run(request, Alone(request))
        missing = partial(job.missing, request.size)
        require(self._item, [Capability("job", missing)])
        asker = Asker(job_store(config), replace(request, place=job.place))
        return client.run(asker.request, asker)


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the files of ranks; a disk that has no room for it fails the test."""
    try:
        return tempfile.TemporaryDirectory(prefix="katas-ranks-", ignore_cleanup_errors=True)
    except OSError as error:
        text = f"no rank could be started, and the kata is not to blame: {describe_os_error(error)}"
        pytest.fail(f"{text}. {ROOM}", pytrace=False)


@pytest.fixture
def world(request: pytest.FixtureRequest) -> World:
    """Call a function in several ranks: ``world(function, 4, *args)`` returns their results."""
    return World(request.node)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the server before the first test runs, if a test is going to need it."""
    asked = any("world" in getattr(item, "fixturenames", ()) for item in session.items)
    if asked and not (session.config.option.collectonly or VARIABLE in os.environ):
        client_of(session)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run ranks instead of tests in a process that does not run the tests."""
    config = session.config
    if VARIABLE in os.environ:
        import_for_ranks(session)
    if serve_if_started_to(os.environ, partial(explain_as_in, session)):
        return True
    job = config.stash.get(job_key, None)
    if not (job and job.rank):
        return None
    serve_process(job_store(config), job.rank, partial(run_here, session))
    return True


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the server, unless this process is one that it has forked."""
    client = config.stash.get(client_key, None)
    if client and client.owner == os.getpid():
        client.close()
