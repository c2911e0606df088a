"""Forks ranks from a warm process, and ends them with whoever asked for them.

The server has imported what the tests import and has run no tensor operation, so that a fork of
it is as good as a fresh process. It serves one request at a time, until its client is gone.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from plugins.outcomes import AFTER
from plugins.outcomes import LATE
from plugins.rankprocess import spawned
from plugins.ranks import live
from plugins.rankwatch import Watched
from plugins.rankwatch import stop
from plugins.watchdog import GRACE
from plugins.watchdog import TICK


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from plugins.ranks import Request


# How long ranks may go on once another one has failed: they may fail for the same reason.
PATIENCE = 0.5
# What a client says when a rank has failed elsewhere, and when all ranks may go.
HURRY = "hurry"
RELEASE = "release"


class Gone(Exception):  # noqa: N818 - no error
    """The client is gone."""


@dataclass
class Server:
    """Serves the client at the other end of a connection."""

    client: Connection
    # Called in each rank with the name of the test, before its function.
    explain: Callable[[str], object]

    def serve(self, parent: int) -> None:
        """Serve until the client is gone."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            while True:
                self.run(self.receive(parent), parent)
        except Gone:
            return

    def receive(self, parent: int) -> Request:
        """Return the next request."""
        # What holds the other end by accident, a process of a test's, does not keep the server.
        while not self.client.poll(TICK * 5):
            if os.getppid() != parent:
                raise Gone
        try:
            return self.client.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            raise Gone from None

    def run(self, request: Request, parent: int) -> None:
        """Start the ranks, tell what becomes of them, end them."""
        ranks: list[Watched] = []
        seconds = 0.0
        try:
            for rank in request.ranks:
                ranks.append(self.start(request, rank, ranks))
            self.attend(ranks, parent)
            seconds = GRACE
        finally:
            for watched in ranks:
                watched.end(seconds)

    def attend(self, ranks: Sequence[Watched], parent: int) -> None:
        """Look after the ranks until the client lets them go."""
        seconds = ranks[0].request.seconds
        late = time.monotonic() + seconds if seconds else float("inf")
        hurry = float("inf")
        while True:
            speaking = [each.connection for each in ranks if not each.outcome]
            wait([self.client, *speaking], TICK)
            if os.getppid() != parent:
                raise Gone
            if self.client.poll():
                try:
                    word = self.client.recv()
                except (EOFError, OSError):
                    raise Gone from None
                if word == RELEASE:
                    return
                hurry = min(hurry, time.monotonic() + PATIENCE)
            for each in ranks:
                if each.look() and each.outcome:
                    self.client.send(each.outcome)
                    if each.outcome.failed:
                        hurry = min(hurry, time.monotonic() + PATIENCE)
            if (now := time.monotonic()) > min(late, hurry):
                stop(ranks, AFTER if now > hurry else LATE)

    def start(self, request: Request, rank: int, others: Sequence[Watched]) -> Watched:
        """Fork a rank."""
        ours, its = Pipe()
        server = os.getpid()

        def be() -> None:
            # Whoever is left alone shall find out.
            for connection in (ours, self.client, *(other.connection for other in others)):
                connection.close()
            # Kept for as long as the rank lives.
            _explaining = self.explain(request.test)
            live(request, rank, its, server)

        with its:
            return Watched(request, rank, spawned(be), ours)
