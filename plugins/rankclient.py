"""Asks a server for ranks, and waits for what becomes of them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from plugins.rankfork import forked
from plugins.rankserver import RELEASE


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.outcomes import Outcome
    from plugins.ranks import Request


class Client:
    """A server of ranks, forked from this process."""

    def __init__(self, explain: Callable[[str], object]) -> None:
        self.owner = os.getpid()
        self.connection, self.process = forked(explain)
        self.usable = True

    def run(self, request: Request) -> list[Outcome]:
        """Return what became of the ranks, in the order in which it came to be known."""
        outcomes: list[Outcome] = []
        try:
            self.connection.send(request)
            while len(outcomes) < len(request.ranks):
                outcomes.append(self.connection.recv())
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
