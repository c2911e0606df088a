"""Asks a server for ranks, and waits for what becomes of them."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest import assertion

from plugins.rankfork import forked
from plugins.rankfork import fresh
from plugins.rankfork import reason_here
from plugins.rankserver import HURRY
from plugins.rankserver import RELEASE
from plugins.watchdog import TICK


if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from plugins.elsewhere import Elsewhere
    from plugins.outcomes import Outcome
    from plugins.ranks import Request


client_key = pytest.StashKey["Client"]()


class Client:
    """A server of ranks, forked from this process."""

    def __init__(self, server: tuple[Connection, int]) -> None:
        self.owner = os.getpid()
        self.connection, self.process = server
        self.usable = True

    def run(self, request: Request, elsewhere: Elsewhere) -> list[Outcome]:
        """Return what became of the ranks, in the order in which it came to be known."""
        outcomes: list[Outcome] = []
        hurried = False
        try:
            self.connection.send(request)
            while not elsewhere.over():
                if self.connection.poll(TICK / 4):
                    outcomes.append(self.connection.recv())
                    elsewhere.tell(outcomes[-1])
                outcomes += elsewhere.news()
                if elsewhere.hurried() and not hurried:
                    hurried = True
                    self.connection.send(HURRY)
            self.connection.send(RELEASE)
        except (EOFError, OSError):
            self.close()
            raise RuntimeError("the process that starts the ranks was ended from outside") from None
        except BaseException:
            # Ctrl-C: the server ends the ranks when it finds itself alone.
            self.close()
            raise
        return outcomes

    def close(self) -> None:
        """End the server, which ends its ranks, and wait until it is gone."""
        self.connection.close()
        if self.usable:
            self.usable = False
            with suppress(ChildProcessError):
                os.waitpid(self.process, 0)


def client_of(session: pytest.Session) -> Client:
    """Return the connection to the server of this process, which is started if need be."""
    client = session.config.stash.get(client_key, None)
    if client is None or not client.usable:
        if reason_here():
            tests = sorted({str(item.path) for item in session.items})
            server = fresh(tests, session.config.rootpath)
        else:
            server = forked(partial(explained, session))
        client = session.config.stash[client_key] = Client(server)
    return client


def answer(session: pytest.Session, request: Request, elsewhere: Elsewhere) -> None:
    """Run here what another process of the job asks for."""
    root = session.config.rootpath
    with tempfile.TemporaryDirectory(prefix="katas-ranks-") as folder:
        client_of(session).run(replace(request, folder=Path(folder), root=root), elsewhere)


def explained(session: pytest.Session, test: str) -> object:
    """Let assertions explain themselves as in `test`, as long as what is returned is kept."""
    item = next((item for item in session.items if item.nodeid == test), None)
    if item is None:
        return None
    explaining = assertion.pytest_runtest_protocol(item)
    next(explaining)
    return explaining
