"""The client of a rank server: what it collects, and how it copes with the end of a server."""

from __future__ import annotations

import os
from multiprocessing import Pipe
from typing import TYPE_CHECKING

import pytest

from plugins.ranks.client import Client
from plugins.ranks.client import explain_as_in
from plugins.ranks.job import Alone
from plugins.ranks.messages import RankOutcome
from plugins.ranks.rank import Request
from plugins.ranks.server import HURRY
from plugins.ranks.server import RELEASE
from tests.support.patience import be_patient


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


ENDED = """
import os, signal, time


def ends(seconds):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(seconds)


def fine():
    return 1


def test_ends(world):
    world(ends, 2, 100, backend=None)


def test_fine(world):
    assert [1, 1] == world(fine, 2, backend=None)
"""


class Failing(Alone):
    """The other processes of a job, one of which has failed."""

    def has_failed(self) -> bool:
        """It has."""
        return True


class Interrupted(Alone):
    """A user who presses Ctrl-C."""

    def is_over(self) -> bool:
        """Not reached."""
        raise KeyboardInterrupt


@pytest.fixture
def request_for_two(tmp_path: Path) -> Request:
    """A request for a world of two ranks."""
    return Request(b"", 2, (0, 1), "file:", tmp_path, tmp_path)


def test_outcomes_come_in_the_order_of_their_arrival(request_for_two: Request) -> None:
    """Then all ranks are released."""
    ours, its = Pipe()
    # No child of this process, so there is none to wait for.
    client = Client((ours, os.getpid()))
    outcomes = [RankOutcome(1), RankOutcome(0)]
    for outcome in outcomes:
        its.send(outcome)

    assert outcomes == client.run(request_for_two, Alone(request_for_two))
    assert [request_for_two, RELEASE] == [its.recv(), its.recv()]
    client.close()


def test_a_failure_elsewhere_hurries_the_ranks_here(request_for_two: Request) -> None:
    """Once."""
    ours, its = Pipe()
    client = Client((ours, os.getpid()))
    for rank in (0, 1):
        its.send(RankOutcome(rank))

    client.run(request_for_two, Failing(request_for_two))

    assert [request_for_two, HURRY, RELEASE] == [its.recv() for _ in range(3)]
    client.close()


def test_a_server_that_is_gone_is_an_error(request_for_two: Request) -> None:
    """The client can be used no more."""
    ours, its = Pipe()
    client = Client((ours, os.getpid()))
    its.close()

    with pytest.raises(RuntimeError, match="was ended from outside"):
        client.run(request_for_two, Alone(request_for_two))
    assert not client.usable
    client.close()


def test_ctrl_c_ends_the_server(request_for_two: Request) -> None:
    """Its connection is closed, and it ends the ranks."""
    ours, its = Pipe()
    client = Client((ours, os.getpid()))

    with pytest.raises(KeyboardInterrupt):
        client.run(request_for_two, Interrupted(request_for_two))
    assert not client.usable
    assert request_for_two == its.recv()
    with pytest.raises(EOFError):
        its.recv()


@pytest.mark.torch
def test_a_server_that_is_ended_is_replaced(course: MiniCourse) -> None:
    """The test that finds out fails; the next one has another server."""
    be_patient(course)
    course.kata(test=ENDED)

    result = course.run("--no-crashguard")

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["E*RuntimeError: the process that starts the ranks was ended from outside"]
    )


def test_a_server_need_not_know_the_test(request: pytest.FixtureRequest) -> None:
    """Its asserts are rewritten all the same, but do not explain themselves."""
    assert explain_as_in(request.session, "katas/test_none.py::test_none") is None
