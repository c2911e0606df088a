"""The fixture ``world``: what a kata's author writes, and what ranks find."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins.rankcalls import packed
from plugins.rankcalls import packed_call
from plugins.rankcalls import unpacked
from plugins.rankfork import broken_engine
from plugins.rankfork import why_fresh
from plugins.ranks import loopback


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course",
    "plugins.crashguard",
    "plugins.solutions",
    "plugins.randomness",
    "plugins.jobs",
    "plugins.world",
)
# What a busy machine needs until all ranks have done what they do before one is looked at.
PATIENT = """

def pytest_configure():
    from plugins import rankserver

    rankserver.PATIENCE = 5.0
"""
STUB = """
def exchange(tensor):
    raise NotImplementedError
"""
SOLUTION = """
import torch
from torch import distributed as dist


def exchange(tensor):
    got = torch.empty_like(tensor)
    sent = dist.isend(tensor, (dist.get_rank() + 1) % dist.get_world_size())
    dist.recv(got, (dist.get_rank() - 1) % dist.get_world_size())
    sent.wait()
    return got
"""
TEST = """
import os, random

import numpy, pytest, torch
from torch import distributed as dist
from katas.lecture01.k01_first import exchange
from plugins.traffic import Call, Sent


def run(tensors):
    return exchange(tensors[dist.get_rank()])


def test_results_and_traffic(world):
    tensors = [torch.full((3,), float(rank)) for rank in range(4)]
    results = world(run, 4, tensors)
    assert [[3.0] * 3, [0.0] * 3, [1.0] * 3, [2.0] * 3] == [one.tolist() for one in results]
    assert [Sent(1, 12)] * 4 == [results.sent(rank) for rank in range(4)]
    assert (Call("send", 12, 1), Call("recv", 12, 3)) == results.calls[0]


def collectives():
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    dist.all_gather_into_tensor(torch.empty(4), tensor)
    dist.barrier()
    torch.ops._c10d_functional.wait_tensor(tensor)
    dist._broadcast_coalesced(dist.group.WORLD, [tensor], 1024)
    return tensor.tolist()


@pytest.mark.given
def test_collectives_are_seen(world):
    results = world(collectives, 2)
    assert results[0] == results[1]
    assert Sent(1, 8) == results.sent(0, "all_gather_into_tensor")
    names = [call.name for call in results.calls[1]]
    # The last one is called in C++.
    assert ["all_reduce", "all_gather_into_tensor", "barrier"] == names[:3]
    assert Call("broadcast", 8) == results.calls[1][-1]


def surroundings():
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    drawn = [random.random(), float(numpy.random.rand()), torch.rand(1).item()]
    print("said in", os.environ["RANK"])
    threads = torch.get_num_threads()
    return [os.environ[name] for name in names], dist.is_initialized(), threads, drawn


@pytest.mark.given
def test_surroundings(world, capfd):
    first, second = world(surroundings, 2, backend=None)
    assert (["0", "2", "0", "2"], False, 1) == first[:3]
    assert (["1", "2", "1", "2"], False, 1) == second[:3]
    assert first[3] == second[3]
    assert "[rank 0] said in 0\\n[rank 1] said in 1\\n" == capfd.readouterr().out


def skips():
    pytest.skip("not here")


def fails():
    pytest.fail("wrong")


class OwnError(ValueError):
    def __init__(self, one, two):
        super().__init__(one)


def own():
    raise OwnError("one", "two")


@pytest.mark.given
def test_what_ranks_raise_is_raised(world):
    with pytest.raises(OwnError, match="rank . of 2: one"):
        world(own, 2, backend=None)
    with pytest.raises(pytest.fail.Exception, match="rank . of 2: wrong"):
        world(fails, 2, backend=None)
    with pytest.raises(pytest.skip.Exception, match="rank . of 2: not here"):
        world(skips, 2, backend=None)
    with pytest.raises(TypeError, match="top level of the test module"):
        world(lambda: 1, 2)
"""


def be_patient(course: MiniCourse) -> None:
    """Load the plugins into a course, and let nothing in it depend on time."""
    course.write("conftest.py", f"pytest_plugins = {PLUGINS!r}\n{PATIENT}")
    lines = (course.path / "pyproject.toml").read_text()
    course.write(
        "pyproject.toml", lines.replace("[tool.pytest]", "[tool.pytest]\nkata_timeout = 0.0")
    )


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A course with a kata whose ranks pass tensors on."""
    be_patient(course)
    course.kata(test=TEST, stub=STUB, solution=SOLUTION)
    return course


@pytest.mark.torch
def test_ranks_return_and_are_counted(kata: MiniCourse) -> None:
    """By the collectives that they call, in Python or in C++."""
    kata.run("--solutions").assert_outcomes(passed=4)


@pytest.mark.torch
@pytest.mark.parametrize("option", ["-n2", "--no-crashguard"])
def test_ranks_run_under_other_processes(kata: MiniCourse, option: str) -> None:
    """In workers of xdist, several tests at once, and without the crash guard."""
    kata.run("--solutions", option).assert_outcomes(passed=4)


@pytest.mark.torch
def test_an_unsolved_kata_fails_for_the_right_reason(kata: MiniCourse) -> None:
    """What the ranks raise is what the test raises, with a report of all ranks."""
    kata.run("--unsolved").assert_outcomes(xfailed=1, passed=3)

    result = kata.run("-k", "traffic")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(
        [
            ">*world(run, 4, tensors)",
            "E*NotImplementedError: rank ? of 4",
            "E*ranks 0, 1, 2, 3 raised NotImplementedError",
            "E*katas/lecture01/test_k01_first.py:*: in run",
            "E*return exchange(tensors[[]dist.get_rank()[]])",
            "E*katas/lecture01/k01_first.py:3: in exchange",
            "E*raise NotImplementedError",
        ]
    )


@pytest.mark.torch
def test_a_server_that_is_ended_is_replaced(kata: MiniCourse) -> None:
    """The test that finds out fails; the next one has another server."""
    test = """
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
    kata.write("katas/lecture01/test_k01_first.py", test.replace("\n    ", "\n"))

    result = kata.run("--no-crashguard")

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["E*RuntimeError: the process that starts the ranks was ended from outside"]
    )


@pytest.mark.torch
def test_where_a_fork_would_not_do_there_is_a_fresh_process(kata: MiniCourse) -> None:
    """Ranks find the same code in it, its asserts rewritten, solutions or not."""
    conftest = (kata.path / "conftest.py").read_text()
    patch = """

def pytest_collection():
    from plugins import rankclient

    rankclient.reason_here = lambda: "so"
"""
    kata.write("conftest.py", conftest + patch)

    kata.run("--solutions").assert_outcomes(passed=4)


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

    assert not broken_engine(None)
    assert broken_engine(Broken())


def named() -> None:
    """A function that another process finds by its name."""


def test_a_call_is_packed_by_name() -> None:
    """What has no name that another process could find is refused, with what to do."""
    assert (named, (1,)) == unpacked(packed_call(named, (1,)))
    with pytest.raises(TypeError, match="Write a function at the top level of the test module"):
        packed_call(lambda: None, ())
    with pytest.raises(TypeError, match="What a rank returns goes to another process"):
        packed((n for n in range(3)), "What a rank returns")


def test_loopback_is_what_the_system_calls_it() -> None:
    """It has another name on macOS."""
    assert "lo" == loopback([(1, "lo"), (2, "eth0")])
    assert "lo0" == loopback([(1, "en0"), (2, "lo0")])


def test_a_rank_leaves_when_its_server_is_gone() -> None:
    """Where the system does not see to it, a thread does."""
    script = (
        "from multiprocessing import Pipe\nfrom plugins.rankprocess import wait_for_end\n"
        "ours, its = Pipe()\nours.close()\nwait_for_end(its, lambda status: print('left', status))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert "left 1\n" == done.stdout
