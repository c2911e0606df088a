"""The fixture ``world``: calls a function in several ranks at once and returns their results.

The ranks are forked from a process that is warm, see ``plugins.rankserver``, and meet through a
file. No port is agreed on that another process could have: gloo's own connections, for which it
knows nothing but TCP, listen on loopback at ports that the system picks.
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

from plugins.absent import require
from plugins.capability import Capability
from plugins.crashguard import memory_limit
from plugins.crashguard import time_limit
from plugins.elsewhere import Alone
from plugins.elsewhere import Asker
from plugins.elsewhere import serve
from plugins.jobs import job_key
from plugins.jobs import store_of
from plugins.randomness import seed_of
from plugins.rankcalls import packed_call
from plugins.rankclient import answer
from plugins.rankclient import client_key
from plugins.rankclient import client_of
from plugins.rankclient import explained
from plugins.rankfork import VARIABLE
from plugins.rankfork import serve_here
from plugins.rankreport import results
from plugins.ranks import Request


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.outcomes import Outcome
    from plugins.traffic import Results


# The share of a test's time that its ranks may take together, so that they are told of in time.
SHARE = 1 / 3


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
    ) -> Results:
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
        with tempfile.TemporaryDirectory(prefix="katas-ranks-") as folder:
            request = Request(
                call=packed_call(function, args),
                size=size,
                ranks=tuple(range(size)),
                place=f"file:{folder}/store",
                folder=Path(folder),
                root=config.rootpath,
                backend=backend,
                test=self._item.nodeid,
                seed=seed_of(self._item.nodeid, config.getoption("seed")),
                seconds=seconds,
                memory=memory_limit(config, size),
            )
            outcomes = self._run(request)
        return results(outcomes, size, seconds)

    def _run(self, request: Request) -> list[Outcome]:
        config, client = self._item.config, client_of(self._item.session)
        job = config.stash.get(job_key, None)
        if job is None:
            return client.run(request, Alone(request))
        missing = partial(job.missing, request.size)
        require(self._item, [Capability("job", missing)])
        asker = Asker(store_of(config), replace(request, place=job.place))
        return client.run(asker.request, asker)


@pytest.fixture
def world(request: pytest.FixtureRequest) -> World:
    """Call a function in several ranks: ``world(function, 4, *args)`` returns their results."""
    return World(request.node)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the server, before any test has run, if a test is going to need it."""
    asked = any("world" in getattr(item, "fixturenames", ()) for item in session.items)
    if asked and not (session.config.option.collectonly or VARIABLE in os.environ):
        client_of(session)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run ranks instead of tests where another process runs these."""
    config = session.config
    if serve_here(os.environ, partial(explained, session)):
        return True
    job = config.stash.get(job_key, None)
    if not (job and job.rank):
        return None
    serve(store_of(config), job.rank, partial(answer, session))
    return True


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the server, unless this process is one that it has forked."""
    client = config.stash.get(client_key, None)
    if client and client.owner == os.getpid():
        client.close()
