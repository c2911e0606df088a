"""The server that forks ranks from a warm process, and ends them when its client is gone.

It is a fork of the process that runs the tests, which has imported what they need; or, where a
fork would inherit what does not survive it, a fresh process that collects the tests again. It has
run no tensor operation, so a fork of it is as good as a fresh process. On macOS, the ranks are
forked from a fresh server too; that is not tested yet.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.connection import wait
from typing import TYPE_CHECKING
from typing import Any

from plugins.machine.builtin import has_cuda_context
from plugins.ranks.messages import AFTER
from plugins.ranks.messages import LATE
from plugins.ranks.rank import run_rank
from plugins.ranks.watched import Watched
from plugins.ranks.watched import stop_ranks
from plugins.tools.processes import GRACE
from plugins.tools.processes import TICK
from plugins.tools.processes import fork_process


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.ranks.rank import Request


# How long ranks may go on once another one has failed: they may fail for the same reason.
PATIENCE = 0.5
# What a client sends when a rank has failed elsewhere, and when all ranks may go.
HURRY = "hurry"
RELEASE = "release"
# Tells a fresh server the file it serves, and the process it serves.
VARIABLE = "KATAS_RANK_SERVER"
# What a fresh server must not do besides.
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist", "-q")
UNGUARDED = "--no-crashguard"


def why_fresh_here() -> str | None:
    """Return why a fork of this process would not do, or None if it would."""
    context = has_cuda_context()
    engine = not context and has_threads(sys.modules.get("torch"))
    return why_fresh(sys.platform, context=context, engine=engine)


def why_fresh(platform: str, *, context: bool, engine: bool) -> str | None:
    """Return why a fork of such a process would not do, or None if it would."""
    reasons = (
        (platform == "darwin", "the frameworks of macOS do not survive a fork"),
        (context, "CUDA does not survive a fork"),
        (engine, "the threads of autograd do not survive a fork"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def has_threads(torch: Any) -> bool:
    """Whether autograd has threads, so backward() fails in a fork: only a fork can tell."""
    if torch is None:
        return False
    process = fork_process(lambda: torch.ones(1, requires_grad=True).sum().backward())
    return os.waitpid(process, 0)[1] != 0


def fork_server(explain: Callable[[str], object]) -> tuple[Connection, int]:
    """Fork a server; return the connection to it, and its process."""
    ours, its = Pipe()
    parent = os.getpid()

    def serve() -> None:
        os.setsid()
        ours.close()
        # A program that reads pytest's output must not have to wait for this process.
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        import_torch()
        Server(its, explain).serve(parent)

    sys.stdout.flush()
    sys.stderr.flush()
    with its:
        return ours, fork_process(serve)


def start_server(
    tests: Sequence[str], root: Path, rootdir: Path, *, guard: bool
) -> tuple[Connection, int]:
    """Start a fresh server that has collected these tests; return its connection and process.

    It starts in `root`, the course, and names the tests as this process does: from `rootdir`.
    `guard` says whether the session has a crash guard, which must leave the server alone.
    """
    options = [*OPTIONS, UNGUARDED] if guard else OPTIONS
    ours, its = Pipe()
    with its:
        process = subprocess.Popen(  # noqa: S603 - this Python
            [sys.executable, "-m", "pytest", f"--rootdir={rootdir}", *options, *tests],
            cwd=root,
            env={**os.environ, VARIABLE: f"{its.fileno()} {os.getpid()}"},
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return ours, process.pid


def serve_if_started_to(environ: Mapping[str, str], explain: Callable[[str], object]) -> bool:
    """Serve, if this process was started as a fresh server; return whether it was."""
    if VARIABLE not in environ:
        return False
    file, parent = map(int, environ[VARIABLE].split())
    import_torch()
    Server(Connection(file), explain).serve(parent)
    return True


def import_torch() -> None:
    """Import what a rank needs, without starting a thread."""
    import torch  # noqa: PLC0415 - importing a plugin imports no torch
    import torch.distributed  # noqa: PLC0415 - importing a plugin imports no torch

    torch.set_num_threads(1)
    # The garbage collectors of the ranks must not copy the pages of what is there now.
    gc.collect()
    gc.freeze()


class Gone(Exception):  # noqa: N818 - no error
    """The client is gone."""


@dataclass
class Server:
    """Serves the client at the other end of a connection, one request at a time."""

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
        # A process that a test started may hold the other end too, and must not keep the server.
        while not self.client.poll(TICK * 5):
            if os.getppid() != parent:
                raise Gone
        try:
            return self.client.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            raise Gone from None

    def run(self, request: Request, parent: int) -> None:
        """Start the ranks, report their outcomes, end them."""
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

    def start(self, request: Request, rank: int, others: Sequence[Watched]) -> Watched:
        """Fork a rank."""
        ours, its = Pipe()
        server = os.getpid()

        def be_rank() -> None:
            # A rank that held these could not see the other side go.
            for connection in (ours, self.client, *(other.connection for other in others)):
                connection.close()
            # Kept for as long as the rank lives.
            _explaining = self.explain(request.test)
            run_rank(request, rank, its, server)

        with its:
            return Watched(request, rank, fork_process(be_rank), ours)

    def attend(self, ranks: Sequence[Watched], parent: int) -> None:
        """Watch the ranks until the client releases them."""
        seconds = ranks[0].request.seconds
        late = time.monotonic() + seconds if seconds else float("inf")
        hurry = float("inf")
        while True:
            running = [each.connection for each in ranks if not each.outcome]
            wait([self.client, *running], TICK)
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
                stop_ranks(ranks, AFTER if now > hurry else LATE)
