"""In a job that torchrun has started, one process runs the tests with the ranks of all."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins.elsewhere import Alone
from plugins.elsewhere import Answerer
from plugins.elsewhere import Asker
from plugins.elsewhere import dismiss
from plugins.elsewhere import serve
from plugins.jobs import Job
from plugins.jobs import job_of
from plugins.outcomes import LATE
from plugins.outcomes import Outcome
from plugins.ranks import Request
from tests.test_world import be_patient


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.elsewhere import Elsewhere
    from tests.conftest import MiniCourse


TEST = """
import os
import torch
from torch import distributed as dist


def summed():
    tensor = torch.ones(2) * dist.get_rank()
    dist.all_reduce(tensor)
    return tensor.tolist(), os.getppid()


def test_sum(world):
    results = world(summed, 2)
    assert [[1.0, 1.0]] * 2 == [tensor for tensor, _ in results]
    # They are children of two servers.
    assert 2 == len({parent for _, parent in results})
    assert 2 == results.sent(0, "all_reduce").messages + results.sent(1, "all_reduce").messages


def test_one_rank_of_two(world):
    assert [[0.0, 0.0]] == [tensor for tensor, _ in world(summed, 1)]


def test_too_many(world):
    world(summed, 4)


def fails():
    dist.barrier()
    assert dist.get_rank() == 0
    dist.barrier()


def test_fails(world):
    world(fails, 2)
"""


class Memory:
    """A store of a job in this process."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.asked = 0

    def add(self, key: str, amount: int) -> int:
        """Count."""
        assert "katas/asked" == key
        self.asked += amount
        return self.asked

    def set(self, key: str, value: bytes) -> None:
        """Keep a value."""
        self.values[key] = value

    def get(self, key: str) -> bytes:
        """Return a value."""
        return self.values[key]

    def check(self, keys: list[str]) -> bool:
        """Whether they are all there."""
        return all(key in self.values for key in keys)


def request(folder: Path, size: int, seconds: float | None = None) -> Request:
    """A request for a world of so many ranks."""
    return Request(b"", size, (), "tcp://host:1/world", folder, folder, seconds=seconds)


def test_a_job_is_what_torchrun_says() -> None:
    """All four variables; a world that it has no ranks for is told so."""
    variables = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "host", "MASTER_PORT": "29500"}
    job = Job(1, 2, "host:29500")

    assert job == job_of(variables)
    assert "tcp://host:29500/katas-world" == job.place
    for name in variables:
        assert job_of({**variables, name: ""}) is None
    assert job.missing(2) is None
    assert "needs 4 ranks, the job has 2: torchrun --nproc-per-node 4" == job.missing(4)


def test_ranks_ask_and_answer(tmp_path: Path) -> None:
    """One process hears of all ranks; a failure of one is heard by all."""
    store = Memory()
    asker = Asker(store, request(tmp_path, 3))
    first, second = Answerer(store, 1), Answerer(store, 1)
    assert ("tcp://host:1/world-1", (0,)) == (asker.request.place, asker.request.ranks)
    assert ([], (), False) == (asker.news(), first.news(), first.hurried())

    fine, failed = Outcome(1), Outcome(2, death="segmentation fault")
    first.tell(fine)
    assert ([fine], False, False) == (asker.news(), asker.hurried(), asker.over())
    second.tell(failed)
    assert ([failed], True, True) == (asker.news(), asker.hurried(), first.hurried())
    assert not first.over()
    asker.tell(Outcome(0))
    assert (True, True) == (asker.over(), first.over())


def test_a_process_that_is_silent_is_named(tmp_path: Path) -> None:
    """Some time after the deadline."""
    asker = Asker(Memory(), request(tmp_path, 2, seconds=-1000.0))

    assert [(1, LATE)] == [(outcome.rank, outcome.stopped) for outcome in asker.news()]


def test_ranks_of_one_process(tmp_path: Path) -> None:
    """Nobody else is asked."""
    alone = Alone(Request(b"", 1, (0,), "", tmp_path, tmp_path))

    assert ((), False, False) == (alone.news(), alone.hurried(), alone.over())
    alone.tell(Outcome(0))
    assert alone.over()


def test_a_process_serves_until_it_is_dismissed(tmp_path: Path) -> None:
    """It takes part in worlds that it is large enough for, unless nobody waits for them."""
    store, seen = Memory(), []

    def run(asked: Request, elsewhere: Elsewhere) -> None:
        seen.append((asked.size, asked.ranks))
        Asker(store, request(tmp_path, 1))
        assert elsewhere.over()
        dismiss(store)

    Asker(store, request(tmp_path, 4))
    Asker(store, request(tmp_path, 3))
    serve(store, 1, run)

    # The first was given up for the second.
    assert [(3, (1,))] == seen


def torchrun(course: MiniCourse, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a job of two processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    return subprocess.run(
        [*command, "2", "-m", "pytest", "katas", *options],
        cwd=course.path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.torch
def test_one_verdict_comes_back(course: MiniCourse) -> None:
    """The first process prints, the others serve it; the status is that of the first."""
    be_patient(course)
    course.kata(test=TEST)

    failed = torchrun(course, "--junit-xml=report.xml")
    passed = torchrun(course, "-k", "sum")
    refused = torchrun(course, "-n2")

    assert 1 == failed.returncode
    assert 1 == failed.stdout.count("test session starts")
    lines = pytest.LineMatcher(failed.stdout.splitlines())
    lines.fnmatch_lines(
        [
            "*test_k01_first.py ..sF *",
            "E*AssertionError: rank 1 of 2: assert 1 == 0",
            "E*rank 1 raised AssertionError",
            "E*rank 0 waited in barrier, its 2nd call",
            "*1 failed, 2 passed, 1 skipped*",
        ]
    )
    # On stderr torchrun has its say; what it ends has nothing to add.
    assert "katas: " not in failed.stderr
    assert (0, 1) == (passed.returncode, passed.stdout.count(" passed"))
    assert refused.returncode
    assert "-n and a job do not go together" in refused.stderr
