"""The fixture ``world``: what it returns and raises, and what ranks find."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pytest

from plugins.ranks.world import temporary_folder
from tests.support.installed import install_package
from tests.support.patience import be_patient


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


AWAY = """
from some_roots.lecture77.k01_root import root


def take(expected):
    assert root(4) == expected


def test_right(world):
    world(take, 2, 2)


def test_wrong(world):
    world(take, 2, 3)
"""
pytestmark = [pytest.mark.torch, pytest.mark.slow]

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
import gc, os, random, sys, warnings

import numpy, pytest, torch
from torch import distributed as dist
from katas.lecture01.k01_first import exchange
from plugins.ranks.traffic import Call, Sent


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
    assert ["all_reduce", "all_gather_single", "barrier"] == names[:3]
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


def imported():
    return "early" in sys.modules, sys.modules["early"].process != os.getpid(), gc.isenabled()


@pytest.mark.given
@pytest.mark.ranks_import("early", "nowhere")
def test_what_the_ranks_import_is_there_before(world):
    assert [(True, True, True)] * 2 == world(imported, 2, backend=None)


def warns():
    warnings.warn("from the rank", UserWarning)


@pytest.mark.given
@pytest.mark.filterwarnings("error:from the")
def test_a_rank_warns_as_its_test_does(world):
    with pytest.raises(UserWarning, match="from the rank"):
        world(warns, 2, backend=None)


@pytest.mark.given
@pytest.mark.filterwarnings("ignore:from the")
def test_whichever_test_began_the_ranks(world):
    world(warns, 2, backend=None)


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


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A course with a kata whose ranks pass tensors on."""
    be_patient(course)
    course.kata(test=TEST, stub=STUB, solution=SOLUTION)
    course.write("early.py", "import os\n\nprocess = os.getpid()\n")
    return course


def test_ranks_return_and_are_counted(kata: MiniCourse) -> None:
    """Collectives are counted whether Python or C++ calls them."""
    kata.run("--solutions").assert_outcomes(passed=7)


def test_the_filters_of_the_command_line_are_those_of_ranks(kata: MiniCourse) -> None:
    """A warning of the learner's is an error where all are, and is none where the test says so."""
    kata.run("--solutions", "-W", "error::UserWarning").assert_outcomes(passed=7)


@pytest.mark.parametrize("option", ["-n2", "--no-crashguard"])
def test_ranks_run_under_other_processes(kata: MiniCourse, option: str) -> None:
    """In workers of xdist, several tests at once, and without the crash guard."""
    kata.run("--solutions", option).assert_outcomes(passed=7)


def test_an_unsolved_kata_fails_for_the_right_reason(kata: MiniCourse) -> None:
    """What the ranks raise is what the test raises, with a report of all ranks."""
    kata.run("--unsolved").assert_outcomes(xfailed=1, passed=6)

    result = kata.run("-k", "traffic")
    result.assert_outcomes(failed=1, deselected=6)
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


@pytest.fixture
def fresh(kata: MiniCourse) -> MiniCourse:
    """Return the course, whose ranks are served by a process that is no fork."""
    conftest = (kata.path / "conftest.py").read_text()
    patch = """

def pytest_collection():
    from plugins.ranks import client as rankclient

    rankclient.why_fresh_here = lambda: "so"
"""
    kata.write("conftest.py", conftest + patch)
    return kata


def test_a_fresh_process_serves_where_a_fork_would_not_do(fresh: MiniCourse) -> None:
    """Ranks find the same code in it, its asserts rewritten, solutions or not."""
    fresh.run("--solutions").assert_outcomes(passed=7)


@pytest.mark.parametrize("options", [[], ["--rootdir=/"]], ids=["", "another root"])
def test_a_fresh_process_serves_a_lecture_of_another_package(
    fresh: MiniCourse, tmp_path: Path, options: list[str]
) -> None:
    """It has the plugins of the course, and names the tests as the session does."""
    lecture = install_package(tmp_path / "site")
    (lecture / "test_k01_root.py").write_text(AWAY)
    fresh.path_first(tmp_path / "site")

    result = fresh.run("lecture77", "--solutions", *options)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*assert 2.0 == 3"])


def test_a_disk_without_room_for_ranks_is_not_the_katas_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The test fails, and says what to do."""

    def refuse(**_: object) -> None:
        raise OSError(28, "No space left on device", "/some/katas-ranks-x")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(pytest.fail.Exception) as caught:
        temporary_folder()

    assert str(caught.value).startswith(
        "no rank could be started, and the kata is not to blame: /some/katas-ranks-x: No space left"
    )
    assert "TMPDIR=/another/folder" in str(caught.value)
