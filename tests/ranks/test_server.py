"""The process that forks ranks and ends them: when it is a fork, and when it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from multiprocessing import Pipe
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.ranks.rank import Request
from plugins.ranks.server import Gone
from plugins.ranks.server import Server
from plugins.ranks.server import has_threads
from plugins.ranks.server import serve_if_started_to
from plugins.ranks.server import why_fresh
from plugins.ranks.watched import Watched


if TYPE_CHECKING:
    from pathlib import Path


def test_a_fork_does_unless_it_would_inherit_what_it_cannot_use() -> None:
    """A context of CUDA, threads of autograd; and it does not on macOS."""
    assert why_fresh("linux", context=False, engine=False) is None
    assert "CUDA does not survive a fork" == why_fresh("linux", context=True, engine=False)
    assert "the threads of autograd do not survive a fork" == why_fresh(
        "linux", context=False, engine=True
    )
    assert str(why_fresh("darwin", context=False, engine=False)).endswith("survive a fork")


def test_backward_is_tried_in_a_fork() -> None:
    """In this process it might start the threads that it is tried for."""

    class Broken:
        def ones(self, *_: object, **__: object) -> None:
            raise RuntimeError

    assert not has_threads(None)
    assert has_threads(Broken())


def test_a_server_whose_parent_is_gone_ends(tmp_path: Path) -> None:
    """Even if another process holds the other end of its connection."""
    ours, its = Pipe()
    server = Server(its, lambda _: None)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    request = Request(b"", 1, (0,), "file:", tmp_path, tmp_path, seconds=1000.0)
    rank_end, server_end = Pipe()
    watched = Watched(request, 0, process.pid, server_end)

    with pytest.raises(Gone):
        server.receive(-1)
    with pytest.raises(Gone):
        server.attend([watched], -1)
    ours.close()
    with pytest.raises(Gone):
        server.attend([watched], os.getppid())
    server.serve(os.getppid())
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process.communicate()
    rank_end.close()


def test_a_server_waits_for_a_client_that_takes_its_time() -> None:
    """As long as its parent lives."""
    ours, its = Pipe()
    waited: list[float] = []

    class Slow:
        """The server's end, with nothing to receive at first."""

        def poll(self, seconds: float) -> bool:
            waited.append(seconds)
            return len(waited) > 2 and its.poll(seconds)

        def recv(self) -> object:
            return its.recv()

    ours.send("a request")
    slow: Any = Slow()

    received: Any = Server(slow, lambda _: None).receive(os.getppid())
    assert received == "a request"
    assert len(waited) == 3
    ours.close()
    its.close()


def test_only_a_process_that_was_started_to_serve_serves() -> None:
    """A variable tells a fresh server."""
    assert not serve_if_started_to({}, lambda _: None)
