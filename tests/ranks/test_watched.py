"""A rank seen from its server: how it is stopped, and where it was then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe
from typing import TYPE_CHECKING

import pytest

from plugins.crash.verdict import Stop
from plugins.ranks.messages import LATE
from plugins.ranks.rank import CallResult
from plugins.ranks.rank import Request
from plugins.ranks.traffic import Call
from plugins.ranks.watched import Watched
from plugins.ranks.watched import count_calls
from plugins.ranks.watched import current_collective
from plugins.ranks.watched import describe_place
from plugins.ranks.watched import ordinal


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


DEAF = """
import signal, time

signal.signal(signal.SIGABRT, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(1000)
"""
REDUCE = Call("all_reduce", 8)
STACK = """Thread 0x01 (most recent call first):
  File "{root}/k01.py", line 9 in other
Current thread 0x02 (most recent call first):
  File "/lib/torch/distributed/distributed_c10d.py", line 3200 in all_gather
  File "/lib/torch/distributed/c10d_logger.py", line 81 in wrapper
  File "/lib/torch/distributed/distributed_c10d.py", line 3300 in all_gather_object
  File "{root}/k01.py", line 2 in run
  File "/lib/pluggy/_callers.py", line 1 in call
"""


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[Watched]:
    """A rank that ignores the signal to write its stack and die."""
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


def look_until_over(watched: Watched) -> None:
    """Look until the rank has an outcome."""
    until = time.monotonic() + 60
    while not watched.look() and time.monotonic() < until:
        time.sleep(0.05)


def test_a_rank_that_does_not_listen_is_killed(deaf: Watched) -> None:
    """After it had its time to write its stack."""
    assert deaf.runs
    deaf.note_stop(LATE, Stop("time", "1 s"))
    assert not deaf.runs
    deaf.send(signal.SIGABRT)
    look_until_over(deaf)

    assert deaf.outcome
    assert LATE == deaf.outcome.stopped
    assert "runs, before any call of torch.distributed" == deaf.outcome.place
    assert not deaf.look()
    deaf.end(0.0)


def test_a_rank_is_ended_whose_outcome_is_not_awaited(deaf: Watched) -> None:
    """At once."""
    deaf.end(0.0)

    with pytest.raises(ProcessLookupError):
        os.kill(deaf.process, 0)


def test_an_outcome_has_what_the_rank_left_in_its_files(tmp_path: Path) -> None:
    """Its result, its calls, and its output without the chatter of gloo."""
    request = Request(b"", 1, (0,), "file:", tmp_path, tmp_path)
    journal = request.journal(0)
    journal.events.write_bytes(b'["all_reduce", 8, null]\n')
    journal.out.write_text("one\n[Gloo] Rank 0 is connected to 1 peer ranks.\ntwo\n")
    journal.err.write_text("three\n")
    ours, its = Pipe()
    watched = Watched(request, 0, 0, ours)
    its.send(CallResult(value=b"value", uncounted="gone"))

    assert watched.look()

    outcome = watched.outcome
    assert outcome
    assert (b"value", "gone") == (outcome.value, outcome.uncounted)
    assert ("one\ntwo\n", "three\n") == (outcome.out, outcome.err)
    assert (REDUCE,) == outcome.calls


def test_a_place_is_the_function_that_the_learner_called(tmp_path: Path) -> None:
    """The outermost of torch.distributed, in the main thread, which is written last."""
    (tmp_path / "k01.py").write_text("\n    dist.all_gather_object(all, x)\n    work.wait()\n")
    stack = STACK.format(root=tmp_path)
    waits = stack.replace("torch/distributed/distributed", "torch/other").replace(
        "line 2", "line 3"
    )

    assert "all_gather_object" == current_collective(stack)
    assert "" == current_collective(stack.replace("all_gather", "get_rank"))
    # The innermost call is a property that get_rank() asks for; or the learner asks for it.
    asks = stack.replace("all_gather_object", "get_rank").replace("all_gather", "WORLD")
    assert "" == current_collective(asks)
    assert "" == current_collective(asks.replace("get_rank", "_new_group"))
    assert describe_place(stack, [REDUCE] * 3, tmp_path).splitlines() == [
        "waits in all_gather_object, its 3rd call",
        "k01.py:2: in run",
        "    dist.all_gather_object(all, x)",
    ]
    assert "waits in all_gather_object" == describe_place(stack, [], tmp_path).splitlines()[0]
    assert (
        "waits for what it began, 1 all_reduce"
        == describe_place(waits, [REDUCE], tmp_path).splitlines()[0]
    )
    assert "runs, before any call of torch.distributed" == describe_place("", [], tmp_path)
    assert "runs, after 1 all_reduce" == describe_place("", [REDUCE], tmp_path)


def test_calls_are_counted_in_words() -> None:
    """By name, in the order of the first ones."""
    assert "2 send, 1 recv" == count_calls([Call("send", 1), Call("recv", 1), Call("send", 1)])
    assert ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th"] == [
        ordinal(number) for number in (1, 2, 3, 4, 11, 12, 21, 112)
    ]
