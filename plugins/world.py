"""The fixture ``world``: calls a function in several ranks at once and returns their results.

The ranks are forked from a process that is warm, see ``plugins.rankserver``, and meet through a
file. No port is agreed on that another process could have: gloo's own connections, for which it
knows nothing but TCP, listen on loopback at ports that the system picks.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest
from _pytest import assertion

from plugins.crashed import Crashed
from plugins.crashguard import memory_limit
from plugins.crashguard import time_limit
from plugins.raised import twin
from plugins.randomness import seed_of
from plugins.rankcalls import packed_call
from plugins.rankcalls import unpacked
from plugins.rankclient import Client
from plugins.rankreport import by_time
from plugins.rankreport import report
from plugins.ranks import Request
from plugins.traffic import Results


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from plugins.outcomes import Outcome


# The share of a test's time that its ranks may take together, so that they are told of in time.
SHARE = 1 / 3

client_key = pytest.StashKey[Client]()


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
            outcomes = client_of(self._item.session).run(request)
        return results(outcomes, size, seconds)


@pytest.fixture
def world(request: pytest.FixtureRequest) -> World:
    """Call a function in several ranks: ``world(function, 4, *args)`` returns their results."""
    return World(request.node)


def results(outcomes: Sequence[Outcome], size: int, seconds: float | None) -> Results:
    """Return what the ranks returned, or raise what the first that failed did."""
    __tracebackhide__ = True
    ranks = sorted(outcomes, key=lambda outcome: outcome.rank)
    for outcome in ranks:
        for text, stream in ((outcome.out, sys.stdout), (outcome.err, sys.stderr)):
            for line in text.splitlines():
                print(f"[rank {outcome.rank}] {line}", file=stream)
    if failed := by_time(outcomes):
        text = report(outcomes, size, seconds)
        raised = failed[0].raised
        raise twin(raised, text) if raised else Crashed(text)
    values = [unpacked(outcome.value) for outcome in ranks]
    return Results(values, [outcome.calls for outcome in ranks])


def client_of(session: pytest.Session) -> Client:
    """Return the connection to the server of this process, which is started if need be."""
    client = session.config.stash.get(client_key, None)
    if client is None or not client.usable:
        client = session.config.stash[client_key] = Client(lambda test: explained(session, test))
    return client


def explained(session: pytest.Session, test: str) -> object:
    """Let assertions explain themselves as in `test`, as long as what is returned is kept."""
    item = next((item for item in session.items if item.nodeid == test), None)
    if item is None:
        return None
    explaining = assertion.pytest_runtest_protocol(item)
    next(explaining)
    return explaining


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the server, before any test has run, if a test is going to need it."""
    asked = any("world" in getattr(item, "fixturenames", ()) for item in session.items)
    if asked and not session.config.option.collectonly:
        client_of(session)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the server, unless this process is one that it has forked."""
    client = config.stash.get(client_key, None)
    if client and client.owner == os.getpid():
        client.close()
