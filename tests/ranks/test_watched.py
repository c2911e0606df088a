"""The process that starts ranks and ends them, where no rank can tell about it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe
from typing import TYPE_CHECKING

import pytest

from plugins.outcomes import LATE
from plugins.rankclient import explained
from plugins.rankfork import serve_here
from plugins.rankprocess import follow
from plugins.ranks import Request
from plugins.rankserver import Gone
from plugins.rankserver import Server
from plugins.rankwatch import Watched
from plugins.verdict import Stop


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


DEAF = """
import signal, time

signal.signal(signal.SIGABRT, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[Watched]:
    """A rank that takes no notice of what it is told."""
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert b"ready\n" == process.stdout.readline()
    ours, its = Pipe()
    request = Request(b"", 1, (0,), "file:", tmp_path, tmp_path, seconds=1.0)
    yield Watched(request, 0, process.pid, ours)
    process.kill()
    process.communicate()
    its.close()


def test_a_rank_that_does_not_listen_is_killed(deaf: Watched) -> None:
    """It had its time to write its stack."""
    assert deaf.runs
    deaf.note(LATE, Stop("time", "1 s"))
    deaf.send(signal.SIGABRT)
    until = time.monotonic() + 60
    while not deaf.look() and time.monotonic() < until:
        time.sleep(0.05)

    assert deaf.outcome
    assert LATE == deaf.outcome.stopped
    assert "runs, before any call of torch.distributed" == deaf.outcome.place
    assert not deaf.look()
    deaf.end(0.0)


def test_a_rank_is_ended_that_nobody_waits_for(deaf: Watched) -> None:
    """At once, if its end is of no interest."""
    deaf.end(0.0)

    with pytest.raises(ProcessLookupError):
        os.kill(deaf.process, 0)


def test_a_server_whose_parent_is_gone_ends(deaf: Watched) -> None:
    """Even if another process holds the other end of its connection."""
    ours, its = Pipe()
    server = Server(its, lambda _: None)

    with pytest.raises(Gone):
        server.receive(-1)
    with pytest.raises(Gone):
        server.attend([deaf], -1)
    ours.close()
    with pytest.raises(Gone):
        server.attend([deaf], os.getppid())
    server.serve(os.getppid())
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_rank_follows_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the system where it can; by a thread elsewhere; at once if it is too late."""
    ours, its = Pipe()
    left: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())

    follow(os.getppid(), its, left.append)
    ours.close()
    until = time.monotonic() + 60
    while not left and time.monotonic() < until:
        time.sleep(0.01)
    assert [1] == left

    follow(-1, its, left.append)
    assert [1, 1] == left[:2]


def test_a_server_need_not_know_the_test(request: pytest.FixtureRequest) -> None:
    """Its asserts are rewritten all the same, and nothing more is said of them."""
    assert explained(request.session, "katas/test_none.py::test_none") is None


def test_only_who_is_asked_to_serves() -> None:
    """By the variable that a fresh server is started with."""
    assert not serve_here({}, lambda _: None)
