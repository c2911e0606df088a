"""The client of a rank server: sends it a request, and collects the outcomes of the ranks."""

from __future__ import annotations

import importlib
import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.course.names import path_in_course
from plugins.course.session import course_root
from plugins.course.session import kata_of
from plugins.ranks.server import HURRY
from plugins.ranks.server import RELEASE
from plugins.ranks.server import fork_server
from plugins.ranks.server import start_server
from plugins.ranks.server import why_fresh_here
from plugins.tools.private import explain_asserts
from plugins.tools.processes import TICK


if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from plugins.ranks.job import Elsewhere
    from plugins.ranks.messages import RankOutcome
    from plugins.ranks.rank import Request


# The mark that names modules for the ranks.
IMPORT = "ranks_import"

client_key = pytest.StashKey["Client"]()


class Client:
    """The connection to a server that this process has started."""

    def __init__(self, server: tuple[Connection, int]) -> None:
        self.owner = os.getpid()
        self.connection, self.process = server
        self.usable = True

    def run(self, request: Request, elsewhere: Elsewhere) -> list[RankOutcome]:
        """Return the outcomes of all ranks, in the order of their arrival."""
        outcomes: list[RankOutcome] = []
        hurried = False
        try:
            self.connection.send(request)
            while not elsewhere.is_over():
                if self.connection.poll(TICK / 4):
                    outcomes.append(self.connection.recv())
                    elsewhere.add_outcome(outcomes[-1])
                outcomes += elsewhere.fetch_outcomes()
                if elsewhere.has_failed() and not hurried:
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
    """Return the connection to the server of this process; start the server if need be."""
    config = session.config
    client = config.stash.get(client_key, None)
    if client is None or not client.usable:
        if why_fresh_here():
            tests = sorted({find_argument(item) for item in session.items})
            guard = hasattr(config.option, "crashguard")
            server = start_server(tests, course_root(config), config.rootpath, guard=guard)
        else:
            import_for_ranks(session)
            server = fork_server(partial(explain_as_in, session))
        client = config.stash[client_key] = Client(server)
    return client


def find_argument(item: pytest.Item) -> str:
    """Return the argument by which a fresh server finds the test module of `item`.

    The path of another package's lecture would not lead it to the plugins of the course.
    """
    kata = kata_of(item)
    return str(path_in_course(kata, course_root(item.config)) if kata else item.path)


def import_for_ranks(session: pytest.Session) -> None:
    """Import what the tests say that their ranks use, so that the ranks have it from the start."""
    asking = (item for item in session.items if "world" in getattr(item, "fixturenames", ()))
    marks = (mark for item in asking for mark in item.iter_markers(IMPORT))
    for name in dict.fromkeys(name for mark in marks for name in mark.args):
        # What is missing fails the tests that use it, and no others.
        with suppress(ImportError):
            importlib.import_module(name)


def run_here(session: pytest.Session, request: Request, elsewhere: Elsewhere) -> None:
    """Run the ranks for which the first process of a job asks this one."""
    root = course_root(session.config)
    with tempfile.TemporaryDirectory(prefix="katas-ranks-") as folder:
        client_of(session).run(replace(request, folder=Path(folder), root=root), elsewhere)


def explain_as_in(session: pytest.Session, test: str) -> object:
    """Let failing asserts explain themselves as in `test`, until the returned object is deleted."""
    item = next((item for item in session.items if item.nodeid == test), None)
    return explain_asserts(item) if item else None
